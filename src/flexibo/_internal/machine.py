"""What this process may use of its machine: cores and memory."""

from __future__ import annotations

import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def cores() -> int:
    """How many cores this process may use; all where the system does not say, as on macOS."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_bytes(cgroup: Path = CGROUP) -> int:
    """The memory of this machine, or of its container if that is less."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(whole, int((cgroup / "memory.max").read_text(encoding="ascii")))
    except (OSError, ValueError):  # no container, or one without a limit, which is the word "max"
        return whole
