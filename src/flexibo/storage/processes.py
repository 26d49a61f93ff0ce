"""Processes of this machine: where one runs, and whether it is alive, as far as others may see it.

Linux shows processes in `/proc`, but it may hide those of other users (the mount option `hidepid`, `ProtectProc` of
systemd) or all of them (a container, another operating system). What cannot be seen is unknown, and never dead.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Any, TypeAlias

PROC = Path("/proc")
ENDED = "ZXx"  # states in `stat` of a process that has ended: a zombie, or dead
STOPPED = "Tt"  # by a signal or a debugger: it may never go on

Kill: TypeAlias = Callable[[int, int], None]


class ProcessState(Enum):
    """What can be said about a process from here."""

    ALIVE = "alive"
    DEAD = "dead"
    UNKNOWN = "unknown"


def about_this_process(proc: Path = PROC) -> dict[str, Any]:
    """Where this process runs; on Linux, others on the same machine can then see whether it is alive."""
    about: dict[str, Any] = {"host": socket.gethostname(), "pid": os.getpid()}
    with suppress(OSError, ValueError, IndexError):
        about |= place(proc) | {"started": _state_and_start(proc, os.getpid())[1]}
    return about


def process_state(about: Mapping[str, Any], proc: Path = PROC, kill: Kill = os.kill) -> ProcessState:
    """The state of a process, known only if it ran on this machine, since its last boot and in the same namespaces.

    A process that was stopped is not called alive, since nobody knows whether it will go on.
    """
    pid, started = about.get("pid"), about.get("started")
    if not is_here(about, proc) or type(pid) is not int or type(started) is not int or pid <= 0:
        return ProcessState.UNKNOWN
    try:
        state, start = _state_and_start(proc, pid)
    except (FileNotFoundError, ProcessLookupError):
        return _unseen(pid, kill)
    except (OSError, ValueError, IndexError):
        return ProcessState.UNKNOWN
    if start != started or state in ENDED:
        return ProcessState.DEAD
    return ProcessState.UNKNOWN if state in STOPPED else ProcessState.ALIVE


def is_here(about: Mapping[str, Any], proc: Path = PROC) -> bool:
    """Whether what is said about a worker is of this machine since its last boot, and of these namespaces."""
    try:
        return all(about.get(name) == value for name, value in place(proc).items())
    except OSError:
        return False


def place(proc: Path = PROC) -> dict[str, Any]:
    """Identity of the running kernel, and of the namespace of process numbers."""
    boot = (proc / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return {"boot": boot, "pids": os.readlink(proc / "self/ns/pid")}


def _unseen(pid: int, kill: Kill) -> ProcessState:
    """The state of a process that `/proc` does not show: it is dead, or hidden from this user.

    A hidden one may be another process that has got the same number since, so it is not called alive.
    """
    try:
        kill(pid, 0)  # sends nothing
    except ProcessLookupError:
        return ProcessState.DEAD
    except (OSError, OverflowError):  # EPERM: there is such a process, of another user
        return ProcessState.UNKNOWN
    return ProcessState.UNKNOWN


def _state_and_start(proc: Path, pid: int) -> tuple[str, int]:
    """The letter of a process's state, and when it started: process numbers are reused, start times are not."""
    text = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[19])
