"""Processes that are started in a session of their own, and ended together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

ROUNDS = 20  # how often to look for processes that were started during the kill


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
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "Z"


def _processes() -> list[int]:
    if sys.platform == "linux":
        return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    listed = subprocess.run(["ps", "-axo", "pid="], capture_output=True, text=True, check=True)
    return [int(word) for word in listed.stdout.split()]
