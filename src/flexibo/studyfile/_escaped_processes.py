"""The processes of a command that left its group, found by a mark in their environment.

A signal to the group does not reach a process that called ``setsid``. But it still has the environment that it was
started with, which Linux shows under ``/proc``. What was started with another environment (``env -i``), what runs as
another user, and everything on systems without ``/proc`` is not found.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

MARK = "FLEXIBO_MARK"
"""The variable whose value identifies the processes of one command."""
MOST_ROUNDS = 20
"""How often to look again after a kill: a process may have started others in the meantime."""


def escaped_processes(mark: str, *, proc: Path = Path("/proc")) -> list[int]:
    """The processes that were started with a mark; empty where the system does not show them."""
    entry, found = f"{MARK}={mark}".encode(), []
    try:
        names = os.listdir(proc)
    except OSError:
        return []
    for name in names:
        if name.isdecimal() and int(name) != os.getpid():
            with suppress(OSError):  # it has ended, or belongs to another user
                if entry in (proc / name / "environ").read_bytes().split(b"\0"):
                    found.append(int(name))
    return found


def signal_escaped(mark: str, number: int, *, group: int) -> bool:
    """Send a signal to the processes that were started with a mark; returns whether there were any.

    Args:
        mark: The mark.
        number: The signal.
        group: The group whose processes are skipped: they get their signal together.
    """
    sent = False
    for pid in escaped_processes(mark):
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(pid) != group:
                os.kill(pid, number)
                sent = True
    return sent
