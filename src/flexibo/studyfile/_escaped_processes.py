"""The processes of a command that left its group, found by a mark in their environment.

A process that calls ``setsid`` is out of reach of a signal to the group. It still has the environment that it was
started with, and Linux shows that under ``/proc``. Out of reach stays what was started with an environment of its own
(``env -i``), what runs as another user, and, on systems without ``/proc``, all of it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

MARK = "FLEXIBO_MARK"
"""The variable whose value tells the processes of one command from all others."""
MOST_ROUNDS = 20
"""How often to look again after a kill: what was found may have started others meanwhile."""


def escaped_processes(mark: str, *, proc: Path = Path("/proc")) -> list[int]:
    """The processes that were started with a mark; none where the system does not show them."""
    entry, found = f"{MARK}={mark}".encode(), []
    try:
        names = os.listdir(proc)
    except OSError:
        return []
    for name in names:
        if name.isdecimal() and int(name) != os.getpid():
            with suppress(OSError):  # it has ended, or belongs to somebody else
                if entry in (proc / name / "environ").read_bytes().split(b"\0"):
                    found.append(int(name))
    return found


def signal_escaped(mark: str, number: int, *, group: int) -> bool:
    """Send a signal to the processes that were started with a mark; whether there were any.

    Args:
        mark: The mark.
        number: The signal.
        group: The group whose processes are left out: one signal reaches all of them.
    """
    sent = False
    for pid in escaped_processes(mark):
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(pid) != group:
                os.kill(pid, number)
                sent = True
    return sent
