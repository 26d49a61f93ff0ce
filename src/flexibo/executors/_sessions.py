"""Processes of this machine: those of a session, which are ended together, and one that may run elsewhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 20  # how often to look for processes that were started during the kill
PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process of one machine since its last boot; empty texts where the system does not tell."""

    boot: str
    pid: int
    started: str  # in ticks since boot: process numbers are reused, start times are not

    @classmethod
    def of_this_process(cls) -> ProcessIdentity:
        try:
            return cls(_boot(), os.getpid(), _fields(os.getpid())[19])
        except (OSError, IndexError):
            return cls("", os.getpid(), "")

    def is_running(self) -> bool:
        """Whether it can be seen here that the process lives and is not stopped; False also on another machine."""
        return self._state() not in ("", "T", "t", "Z", "X", "x")

    def has_ended(self) -> bool:
        """Whether no such process lives here, also if it was one of another machine."""
        return self._state() in ("", "Z", "X", "x")

    def kill(self) -> bool:
        """Kill the process, even if it is stopped; returns False if it is none of this machine, or has ended."""
        if not self._state():
            return False
        with suppress(ProcessLookupError, PermissionError):
            os.kill(self.pid, signal.SIGKILL)
        return True

    def _state(self) -> str:
        """The state that the system shows; empty if this is no process of this machine, or ended."""
        with suppress(OSError, IndexError):
            fields = _fields(self.pid)
            if self.started and fields[19] == self.started and _boot() == self.boot:
                return fields[0]
        return ""


def search_path() -> str:
    """Where this process looks for modules, for the environment of another."""
    return os.pathsep.join(entry for entry in sys.path if isinstance(entry, str))


def end_session(leader: int) -> None:
    """Kill all processes of the session, the caller excepted."""
    for _ in range(ROUNDS):
        others = [pid for pid in _processes() if pid != os.getpid() and _session(pid) == leader]
        for pid in others:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not others:
            return
        time.sleep(0.02)


def _session(pid: int) -> int | None:
    try:
        if sys.platform == "linux" and _is_zombie(pid):
            return None
        return os.getsid(pid)
    except (OSError, ValueError):
        return None  # it ended meanwhile


def _is_zombie(pid: int) -> bool:
    return process_state(pid) == "Z"


def process_state(pid: int) -> str:
    """The state of a process as Linux shows it, such as ``"T"`` for a stopped one."""
    return _fields(pid)[0]


def _fields(pid: int) -> list[str]:
    """What Linux shows of a process after its name: state, parent, group, session and so on."""
    return (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()


def _boot() -> str:
    return (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _processes() -> list[int]:
    if sys.platform == "linux":
        return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]
    listed = subprocess.run(["ps", "-axo", "pid="], capture_output=True, text=True, check=True)
    return [int(word) for word in listed.stdout.split()]
