"""The machine that something ran on, by name."""

from __future__ import annotations

import platform
import socket
from typing import Any


def machine_name(device: Any, host: str | None = None) -> str:
    """What tells where time was spent: the host, and the kind of device there.

    >>> machine_name("cpu", host="board").startswith("board, ")
    True

    Args:
        device: A torch.device or its name.
        host: The name of the computer; by default that of this one.
    """
    name = socket.gethostname() if host is None else host
    kind = str(device).partition(":")[0]
    if kind != "cuda":
        return f"{name}, {kind} ({platform.machine()})"
    import torch

    return f"{name}, {torch.cuda.get_device_name(device)}"
