"""Studies in a SQLite file, with a write-ahead log, so that readers never wait, and durable commits.

Before it is used, a file is inspected without changing it: whether it is ours and undamaged, and its version.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from flexibo.errors import InvalidValueError
from flexibo.storage._connections import Connections
from flexibo.storage._database import Trouble, short_pause
from flexibo.storage._schema import bring_up_to_date
from flexibo.storage.base import NoSuchStorageError, StorageError

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
MAGIC = b"SQLite format 3\0"
SMALLEST = 512  # bytes of the smallest page: SQLite would overwrite a shorter file like a new one
LOOKS = 10
OURS = {"flexibo", "flexibo_events"}
_SETTLED = 2.0  # seconds after a change in which another change may leave the time stamp of the file as it is
_whole: dict[Path, tuple[int, ...]] = {}  # the files found undamaged and their state then: a check takes seconds


class SQLite:
    """A SQLite file; `create` says whether it may be created and must be writable."""

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
        return os.path.exists(self.path) and not _may_be_written(self.path)

    def schema(self) -> int | None:
        try:
            _check_place(self.path, create=self._create)
        except OSError as error:
            raise StorageError(
                f"{self.path} cannot be reached: {error.strerror}; choose another place for the storage."
            ) from None
        self._new = not self.path.exists()
        return None if self._new else schema_of(self.path)

    def prepare(self, connection: sa.Connection) -> None:
        if connection.exec_driver_sql("PRAGMA journal_mode").scalar() != "wal":
            connection.exec_driver_sql("PRAGMA journal_mode=WAL").close()
        self.begin(connection, None)
        bring_up_to_date(connection, self.shown)
        connection.exec_driver_sql("COMMIT")
        self._new = False

    def connections(self) -> Connections:
        return Connections(self._connect)

    def _connect(self) -> sa.Connection:
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
        message = str(error.orig)
        if message in _BUSY:
            return f"{self.shown} is locked by another process that does not finish its write"
        reason = _DAMAGED if message.startswith("Could not decode") else _REASONS.get(message, message)
        return f"{self.shown} cannot be used: {reason}"

    def _open(self) -> sqlite3.Connection:
        """Open the file, without SQLite's own retries: they wait long and unfairly with many writers."""
        options = "mode=rwc" if self._new else "mode=rw"
        if self.read_only:
            options = _reading_options(self.path)
        connection = sqlite3.connect(
            _file_uri(self.path, options), uri=True, timeout=0, isolation_level=None, check_same_thread=False
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


def _file_uri(path: Path, options: str) -> str:
    return f"file:{quote(str(path.absolute()))}?{options}"


def schema_of(path: Path) -> int | None:
    """The version of the tables in a file, None if it is new or empty; files of other programs are refused."""
    for _ in range(LOOKS - 1):
        before = _state(path)
        try:
            return _schema_of(path)
        except StorageError:
            # A concurrent write may have changed the file during the check.
            if _state(path) == before:
                raise
    return _schema_of(path)


def _check_place(path: Path, *, create: bool) -> None:
    """Refuse a path where no file can exist or be created."""
    folder = path.absolute().parent
    if path.is_dir():
        raise NoSuchStorageError(f"{path} is a folder; name a file in it for the storage, such as {path / 'study.db'}.")
    if path.exists() and not path.is_file():
        raise StorageError(f"{path} is a pipe or a device; name another for the storage.")
    if not folder.is_dir():
        raise NoSuchStorageError(f"{path} cannot be made: there is no folder {folder}; make it first.")
    if not path.exists():
        if not create:
            raise NoSuchStorageError(f"There is no file {path}; check the path of the storage, or start a study there.")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise StorageError(f"{path} cannot be made: the folder {folder} may not be written; choose another one.")
        return
    if not os.access(path, os.R_OK):
        raise StorageError(f"{path} may not be read; change its permissions, or choose another file.")
    if create and not _may_be_written(path):
        raise StorageError(
            f"{path} may not be written, it or its folder; change the permissions, or copy it to where you may write."
        )


def _may_be_written(path: Path) -> bool:
    """Whether the file and its folder, where SQLite keeps its log, are writable."""
    return os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK | os.X_OK)


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _reading_options(path: Path) -> str:
    """Options to open a file read-only: without a log nothing writes to it, and no lock or log is needed."""
    log = _log_of(path)
    return "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"


def _schema_of(path: Path) -> int | None:
    stat = path.stat()
    if stat.st_size == 0:
        return None
    if stat.st_size < SMALLEST:
        raise _too_short(path)
    # Only SQLite opens the file: opening and closing it here would drop the locks of this process's connections.
    try:
        with closing(sqlite3.connect(_file_uri(path, _reading_options(path)), uri=True)) as connection:
            return _looked_at(connection, path, stat)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if str(error) == "file is not a database":
            raise _no_database(path) from None
        raise _damaged(path, str(error)) from None


def _looked_at(connection: sqlite3.Connection, path: Path, stat: os.stat_result) -> int | None:
    """The version of the tables of an open file; `stat` is from before it was opened."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    (page,) = connection.execute("PRAGMA page_size").fetchone()
    if path.stat().st_size % page:
        raise _damaged(path, "its end is cut off")
    _check_whole(connection, path, stat)
    if not tables:
        return None
    if not tables >= OURS:
        raise StorageError(
            f"{path} is a database of another program (its tables: {_listed(sorted(tables))}); nothing was changed, "
            "choose another file for the storage."
        )
    row = connection.execute("SELECT schema FROM flexibo").fetchone()
    if row is None:
        return 1  # version 1 wrote its number after its tables
    if not isinstance(row[0], int) or row[0] < 1:
        raise _damaged(path, f"its schema version is {row[0]!r}")
    return row[0]


def _check_whole(connection: sqlite3.Connection, path: Path, stat: os.stat_result) -> None:
    """Refuse a damaged file; one that was found undamaged and has not changed since is not checked again.

    The log beside it has its own checksums. A quick check is not enough: with only an index damaged, events would be
    missing.
    """
    now = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if now == _whole.get(path.absolute()) and abs(time.time() - stat.st_mtime) > _SETTLED:
        return
    found = [row[0] for row in connection.execute("PRAGMA integrity_check(1)")]
    if found != ["ok"]:
        raise _damaged(path, str(found[0]).replace("*** in database main ***", "").strip())
    _whole[path.absolute()] = now


def _listed(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _too_short(path: Path) -> StorageError:
    """The error for a file that is too short for a database, so no connection uses it."""
    start = path.read_bytes()
    return _damaged(path, f"it has only {len(start)} bytes") if MAGIC.startswith(start[:16]) else _no_database(path)


def _no_database(path: Path) -> StorageError:
    return StorageError(
        f"{path} is not a SQLite database, or its beginning is damaged; nothing was changed, choose another file for "
        "the storage."
    )


def _damaged(path: Path, why: str) -> StorageError:
    return StorageError(f"{path} is damaged and cannot be used ({why}); nothing was changed, restore it from a copy.")


def _state(path: Path) -> object:
    """Changes with every write to the file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns, _log_of(path).exists()
