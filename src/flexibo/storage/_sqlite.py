"""Studies in a SQLite file, with a write-ahead log, so that readers never wait, and durable commits."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from flexibo.errors import InvalidValueError
from flexibo.storage._database import Trouble, short_pause
from flexibo.storage._schema import bring_up_to_date
from flexibo.storage._sqlite_file import check_place, file_uri, may_be_written, reading_options, schema_of
from flexibo.storage.base import StorageError

# Python 3.10 does not expose SQLite's error codes; its messages have not changed in twenty years.
_BUSY = ("database is locked", "locking protocol")
_POLLS = 50
_DAMAGED = "the file is damaged, so restore it from a copy"
_REASONS = {
    "database or disk is full": "the disk is full, so make room and try again",
    "disk I/O error": "the disk refused to read or write (it may be full, broken or gone)",
    "database disk image is malformed": _DAMAGED,
    "file is not a database": _DAMAGED,
    "attempt to write a readonly database": "it or its folder may not be written",
    "unable to open database file": "it cannot be opened, it or the log beside it",
}


class SQLite:
    """A SQLite file."""

    def __init__(self, url: sa.URL, shown: str, *, create: bool) -> None:
        if not url.database or url.database == ":memory:":
            raise InvalidValueError(
                f"Storage {shown} names no file; give one such as sqlite:///study.db, or no storage to keep the study "
                "in memory."
            )
        if url.query or url.host or url.username:
            raise InvalidValueError(f"Storage {shown} has more than a path; give one like sqlite:///study.db.")
        # The working folder may change while the storage is open.
        self.path = Path(url.database).expanduser().absolute()
        self.shown = str(self.path)
        self._create = create
        self._new = False
        self._engine = sa.create_engine(
            "sqlite://", creator=self._open, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT"
        )

    @property
    def read_only(self) -> bool:
        """Whether the file can only be read."""
        return os.path.exists(self.path) and not may_be_written(self.path)

    def schema(self) -> int | None:
        """The version of its tables, None if there are none; changes nothing."""
        check_place(self.path, create=self._create)
        self._new = not self.path.exists()
        return None if self._new else schema_of(self.path)

    def prepare(self, connection: sa.Connection) -> None:
        """Create or update the tables; several processes may do so at once."""
        if connection.exec_driver_sql("PRAGMA journal_mode").scalar() != "wal":
            connection.exec_driver_sql("PRAGMA journal_mode=WAL").close()
        self.begin(connection, None)
        bring_up_to_date(connection, self.shown)
        connection.exec_driver_sql("COMMIT")
        self._new = False

    def connect(self) -> sa.Connection:
        """A new connection to the file."""
        connection = self._engine.connect()
        connection.info["file"] = _identity(self.path)
        return connection

    def check(self, connection: sa.Connection) -> None:
        """Refuse a file that was moved or deleted: SQLite would continue to write to the unlinked file."""
        if _identity(self.path) != connection.info["file"]:
            raise StorageError(
                f"{self.shown} was moved, deleted or replaced while it was in use; put it back, with the files "
                f"{self.path.name}-wal and {self.path.name}-shm beside it, and open the study again."
            )

    def begin(self, connection: sa.Connection, study: str | None) -> None:
        """Begin a transaction in which no other process writes; at first the driver polls for the lock."""
        driver: Any = connection.connection.dbapi_connection
        for _ in range(_POLLS):
            try:
                driver.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.Error as error:
                if str(error) not in _BUSY:
                    break
                time.sleep(short_pause())
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # raises the error

    def roll_back(self, connection: sa.Connection) -> None:
        """Roll back the transaction, if there is one; SQLite ends it itself after some errors."""
        driver = connection.connection.dbapi_connection
        if driver is not None and driver.in_transaction:
            driver.rollback()

    def trouble(self, error: DBAPIError) -> Trouble:
        """BUSY while another process writes, otherwise FINAL."""
        return Trouble.BUSY if str(error.orig) in _BUSY else Trouble.FINAL

    def sentence(self, error: DBAPIError) -> str:
        """What is wrong with the file."""
        message = str(error.orig)
        if message in _BUSY:
            return f"{self.shown} is locked by another process that does not finish its write"
        reason = _DAMAGED if message.startswith("Could not decode") else _REASONS.get(message, message)
        return f"{self.shown} cannot be used: {reason}"

    def _open(self) -> sqlite3.Connection:
        """Open the file, without SQLite's own retries: they wait long and unfairly with many writers."""
        options = "mode=rwc" if self._new else "mode=rw"
        if self.read_only:
            options = reading_options(self.path)
        connection = sqlite3.connect(
            file_uri(self.path, options), uri=True, timeout=0, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA synchronous=FULL")  # a commit survives a power loss
        except sqlite3.Error:  # for example, a file that another process locks
            connection.close()
            raise
        return connection


def _identity(path: Path) -> tuple[int, int] | None:
    """Identifies a file, independent of its name."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
