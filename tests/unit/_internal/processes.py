"""Waiting for processes that tests start, and a clock that need not be waited for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 60.0


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody reaps has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def until_gone(file: Path) -> None:
    """Wait for the end of the process whose number is in a file."""
    pid = int(file.read_text())
    until(lambda: is_gone(pid))


class Clock:
    """Runs as others do, until a file has something in it: then it is much later."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def monotonic(self) -> float:
        is_there = self.path.exists() and self.path.read_text().strip()
        return time.monotonic() + (1e6 if is_there else 0.0)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
