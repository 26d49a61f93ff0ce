"""Whether a SQLite file in use, and the two files beside it, are still those that were opened.

SQLite keeps what was committed last in ``study.db-wal``, and the locks of all processes in ``study.db-shm``. If they
are removed or replaced it continues to write to files without a name, and what it writes there is lost when they are
closed.
"""

from __future__ import annotations

import enum
import os
import threading
from pathlib import Path
from typing import TypeAlias

Identity: TypeAlias = tuple[int, int] | None
"""What identifies a file independent of its name; None if there is none."""


class Change(enum.Enum):
    """What happened to files in use."""

    FILE = "the file was moved, deleted or replaced"
    REMOVED = "a file beside it was removed"
    REPLACED = "a file beside it was replaced"


class FileWatch:
    """The file that a storage was opened with, and the files beside it while connections are open.

    The first connection of any process creates the files beside it, and the last one removes them. A storage belongs to
    one file for ever: another file of the same name is another study, or an older copy.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._file: Identity = None
        self._beside: tuple[Identity, ...] = ()
        self._connections = 0

    def remember(self, *, beside: bool = False) -> None:
        """Remember the file unless it is known, and once a connection uses them, the files `beside` it."""
        with self._lock:
            self._file = self._file or identity(self.path)
            if beside and not any(self._beside):
                self._beside = self._identities()

    def opened(self) -> None:
        with self._lock:
            self._connections += 1

    def closed(self) -> None:
        """After the last connection is closed, the files beside the file may be removed and made again."""
        with self._lock:
            self._connections = max(0, self._connections - 1)
            if not self._connections:
                self._beside = ()

    def change(self) -> Change | None:
        """What happened to the files since they were remembered; None if nothing did."""
        if self._file is not None and identity(self.path) != self._file:
            return Change.FILE
        now = self._identities() if any(self._beside) else self._beside
        changed = [found for found, before in zip(now, self._beside, strict=False) if found != before]
        if not changed:
            return None
        return Change.REPLACED if any(changed) else Change.REMOVED

    def _identities(self) -> tuple[Identity, ...]:
        return identity(log_of(self.path)), identity(locks_of(self.path))


def log_of(path: Path) -> Path:
    """The file beside a SQLite file that holds its latest commits."""
    return path.with_name(f"{path.name}-wal")


def locks_of(path: Path) -> Path:
    """The file beside a SQLite file that holds the locks of all processes, and an index of the log."""
    return path.with_name(f"{path.name}-shm")


def identity(path: Path) -> Identity:
    """What identifies a file independent of its name; None if there is none."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
