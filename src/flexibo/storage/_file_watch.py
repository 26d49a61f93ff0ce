"""Whether a SQLite file in use, and the two files beside it, are still those that were opened.

SQLite keeps what was committed last in ``study.db-wal``, and the locks of all processes in ``study.db-shm``. If they
are removed or replaced it continues to write to files without a name, and what it writes there is lost when they are
closed. If they are overwritten or cut in place it continues with what it has in memory.
"""

from __future__ import annotations

import enum
import os
import sqlite3
import threading
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Identity: TypeAlias = tuple[int, int] | None
"""What identifies a file independent of its name; None if there is none."""


class Change(enum.Enum):
    """What happened to files in use."""

    FILE = "the file was moved, deleted or replaced"
    REMOVED = "a file beside it was removed"
    REPLACED = "a file beside it was replaced"


@dataclass(frozen=True, slots=True)
class Stamp:
    """What changes when a file is overwritten or cut in place.

    The file itself is written to only when commits are copied to it from the log. The log is written to by every commit
    and gets longer, or is written again from its start.
    """

    file: tuple[int, int, int]  # size, and when it was changed
    log_bytes: int

    def is_written_since(self, earlier: Stamp) -> bool:
        """Whether the files were written to, other than by a commit, since an earlier stamp."""
        return self.file != earlier.file or self.log_bytes < earlier.log_bytes


class Driver(sqlite3.Connection):
    """A connection that can be referred to weakly."""


class FileWatch:
    """The file that a storage was opened with, and the files beside it while connections are open.

    The first connection of any process creates the files beside it, and the last one removes them. A storage belongs to
    one file for ever: another file of the same name is another study, or an older copy.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # Held while a connection is opened or closed: one that has not read the file yet does not keep the files beside
        # it, which the closing of the last other one removes. A connection may be collected, and so closed, at any
        # moment.
        self.lock = threading.RLock()
        self._file: Identity = None
        self._beside: tuple[Identity, ...] = ()
        self._connections: weakref.WeakSet[Driver] = weakref.WeakSet()
        self._opened: Stamp | None = None
        self._examined: Stamp | None = None

    def remember(self, *, beside: bool = False) -> None:
        """Remember the file unless it is known, and once a connection uses them, the files `beside` it."""
        with self.lock:
            self._file = self._file or identity(self.path)
            self._opened = self._opened or self._stamp()
            if beside and not any(self._beside):
                self._beside = self._identities()

    def opened(self, connection: Driver) -> None:
        """A connection is open, until it is closing or collected: Ctrl-C may leave one that nobody closes."""
        with self.lock:
            self._forget_unused()
            self._connections.add(connection)

    def closing(self, connection: Driver) -> None:
        """After the last connection is closed, the files beside the file may be removed and made again."""
        with self.lock:
            self._connections.discard(connection)

    def change(self) -> Change | None:
        """What happened to the files since they were remembered; None if nothing did."""
        if self._file is not None and identity(self.path) != self._file:
            return Change.FILE
        with self.lock:
            self._forget_unused()
            before = self._beside
            now = self._identities() if any(before) else before
        changed = [found for found, known in zip(now, before, strict=False) if found != known]
        if not changed:
            return None
        return Change.REPLACED if any(changed) else Change.REMOVED

    def touched(self) -> Stamp | None:
        """The stamp of the files if they were not examined since they were written to; None if they were."""
        now = self._stamp()
        with self.lock:
            if self._examined is None or now.is_written_since(self._examined):
                return now
            self._examined = now
        return None

    def is_written(self) -> bool:
        """Whether the files were written to since they were opened or examined, other than by a commit."""
        before = self._examined or self._opened
        return before is not None and self._stamp().is_written_since(before)

    def is_cut(self) -> bool:
        """Whether the log is shorter than when the files were opened or examined."""
        before = self._examined or self._opened
        return before is not None and self._stamp().log_bytes < before.log_bytes

    def examined(self, stamp: Stamp) -> None:
        """Remember that the files held all that they should at the time of this stamp."""
        with self.lock:
            self._examined = stamp

    def _stamp(self) -> Stamp:
        file, log = stat_of(self.path), stat_of(log_of(self.path))
        of_file = (-1, 0, 0) if file is None else (file.st_size, file.st_mtime_ns, file.st_ctime_ns)
        return Stamp(of_file, 0 if log is None else log.st_size)

    def _forget_unused(self) -> None:
        if not self._connections:
            self._beside = ()

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
    stat = stat_of(path)
    return None if stat is None else (stat.st_dev, stat.st_ino)


def stat_of(path: Path) -> os.stat_result | None:
    """What the file system says of a file; None if there is none."""
    try:
        return os.stat(path)
    except OSError:
        return None
