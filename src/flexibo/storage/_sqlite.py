"""Studies in a SQLite file, with a write-ahead log, so that readers never wait, and durable commits."""

from __future__ import annotations

import logging
import math
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from flexibo._internal.interrupts import allowed_interrupts
from flexibo.errors import InvalidValueError
from flexibo.storage._chain import Mark
from flexibo.storage._congestion import Congestion
from flexibo.storage._connections import Connections
from flexibo.storage._database import Trouble
from flexibo.storage._file_content import end_in_file, is_readable
from flexibo.storage._file_systems import network_file_system
from flexibo.storage._file_watch import Change, Driver, FileWatch, locks_of
from flexibo.storage._frozen_writers import finish_frozen_writes, writers
from flexibo.storage._schema import bring_up_to_date
from flexibo.storage._sqlite_inspection import check_place, file_uri, may_be_written, reading_options, schema_of
from flexibo.storage._urls import rescue_advice
from flexibo.storage.base import LogReplacedError, NewerSchemaError, StorageError

logger = logging.getLogger(__name__)
# Python 3.10 does not expose SQLite's error codes; its messages have not changed in twenty years.
_BUSY = ("database is locked", "locking protocol")
_MALFORMED = ("database disk image is malformed", "file is not a database")
_REFUSED = "disk I/O error"
_DAMAGED = "the file is damaged"
_REASONS = {
    "database or disk is full": "the disk is full, so make room and try again",
    _REFUSED: "the disk refused to read or write (it may be full, broken or gone)",
    **dict.fromkeys(_MALFORMED, _DAMAGED),
    "attempt to write a readonly database": "it or its folder may not be written",
    "unable to open database file": "it cannot be opened, it or the log beside it",
}
CHECKPOINT_SECONDS = 5.0  # commits are copied from the log to the file when the last copy is older
_POLL_SECONDS = (1.0, 4.0)  # how long to poll for the lock, at first and at most, before added events are read
_NEW_WAIT_SECONDS = 2.0  # an attempt so long after the last one belongs to another wait
_FROZEN_SECONDS = 5.0  # how often to look whether the writer is stopped
_CROWD_SECONDS = 5.0  # how often to count those who may write
_warned: set[Path] = set()  # the folders whose file system the user was warned of


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
        try:  # the working folder may change while the storage is open
            self.path = Path(url.database).expanduser().absolute()
        except FileNotFoundError:
            raise StorageError(
                f"{shown} is in the working folder, which was removed; change to a folder that exists."
            ) from None
        self.shown = str(self.path)
        self._create = create
        self._new = False
        self._watch = FileWatch(self.path)
        self._lost: tuple[type[StorageError], str] | None = None  # why the storage can no longer be used
        self._congestion = Congestion()
        self._saved = time.monotonic()  # when the log was last copied to the file, as far as this process did
        self._counted = self._looked = -math.inf  # when those who may write were counted, and the writer was looked at
        self._engine = sa.create_engine(
            "sqlite://", creator=self._open, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT"
        )
        sa.event.listen(self._engine, "close", self._closing)

    @property
    def read_only(self) -> bool:
        return os.path.exists(self.path) and not may_be_written(self.path)

    def schema(self) -> int | None:
        try:
            check_place(self.path, create=self._create)
        except OSError as error:
            raise StorageError(
                f"{self.path} cannot be reached: {error.strerror}; choose another place for the storage."
            ) from None
        if self._create:
            warn_of_network(self.path)
        self._new = not self.path.exists()
        if self._new:
            return None
        self._watch.remember()
        return schema_of(self.path)

    def prepare(self, connection: sa.Connection) -> None:
        if connection.exec_driver_sql("PRAGMA journal_mode").scalar() != "wal":
            connection.exec_driver_sql("PRAGMA journal_mode=WAL").close()
        self.begin(connection, None)
        bring_up_to_date(connection, self.shown)
        connection.exec_driver_sql("COMMIT")
        self._new = False
        self._watch.remember(beside=True)

    def connections(self) -> Connections:
        return Connections(self._connect)

    def _connect(self) -> sa.Connection:
        self._refuse_changed(None)
        return self._engine.connect()

    def check(self, connection: sa.Connection) -> None:
        """Refuse a file that was moved or deleted, it or a file beside it: SQLite would continue to write to it."""
        self._refuse_changed(connection)

    def settle(self, connection: sa.Connection) -> None:
        """Refuse what was written to files that were removed meanwhile; copy old commits from the log to the file."""
        begun = connection.info.pop("begun", None)
        if begun is None:
            return
        self._refuse_changed(connection)
        now = time.monotonic()
        self._congestion.held(now - begun)
        is_unwritten = self._watch.touched() is None
        if now - self._saved >= CHECKPOINT_SECONDS and is_unwritten and self._is_older(CHECKPOINT_SECONDS):
            self._saved = now
            connection.info["unsaved"] = not _is_copied(connection.connection.dbapi_connection)

    def begin(self, connection: sa.Connection, study: str | None) -> None:
        """Begin a transaction in which no other process writes; the driver polls for the lock for a moment.

        What SQLite remembers of the file is forgotten before: the events that are read to find out whether it still is
        the log that is known must not come from memory.
        """
        driver: Any = connection.connection.dbapi_connection
        if study is not None:
            driver.execute("PRAGMA shrink_memory")
        begun = time.monotonic()
        since, last = connection.info.pop("waiting", (begun, begun))
        if begun - last > _NEW_WAIT_SECONDS:
            since = begun
        until = begun + min(max(_POLL_SECONDS[0], begun - since), _POLL_SECONDS[1])
        while True:
            try:
                driver.execute("BEGIN IMMEDIATE")
                break
            except sqlite3.Error as error:
                if str(error) not in _BUSY:
                    connection.exec_driver_sql("BEGIN IMMEDIATE")  # raises the error
                    break
            now = time.monotonic()
            self._count(driver, now)
            pause = self._congestion.pause(now - since)
            if now + pause > until:
                self._look_at_writer(now, since)
                connection.info["waiting"] = (since, now)
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                break
            with allowed_interrupts():  # no transaction is open yet
                time.sleep(pause)
        connection.info.pop("waiting", None)
        connection.info.update(begun=time.monotonic(), unsaved=True)

    @contextmanager
    def examined(self, connection: sa.Connection, study: str) -> Iterator[Mark | None]:
        """The place up to which the file by itself holds the log, if it was written to since it was last examined.

        Usually another process has copied commits to it. But if the log beside it does not continue there, the file was
        overwritten, or one of them was cut.
        """
        stamp = self._watch.touched()
        if stamp is None:
            yield None
            return
        try:
            yield end_in_file(self.path, study)
        except NewerSchemaError:  # it is whole
            raise
        except StorageError as error:
            raise self._overwritten("" if isinstance(error, LogReplacedError) else str(error)) or error from None
        self._watch.examined(stamp)

    def pause(self, waited: float) -> float:
        return self._congestion.pause(waited)

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
            held = ", ".join(f"process {pid}" for pid in writers(locks_of(self.path)))
            return f"{self.shown} is locked by {held or 'another process'} that does not finish its write"
        reason = _DAMAGED if message.startswith("Could not decode") else _REASONS.get(message, message)
        more = f". {rescue_advice(self.shown).rstrip('.')}" if reason is _DAMAGED else ""
        return f"{self.shown} cannot be used: {reason}{more}"

    def loss(self, error: DBAPIError) -> StorageError | None:
        """The error for a file that can no longer be read since it was overwritten or cut."""
        message = str(error.orig)
        if message == _REFUSED and (not self._watch.is_cut() or is_readable(self.path)):
            return None  # the disk is full, or broken
        is_damaged = message in (_REFUSED, *_MALFORMED) or message.startswith("no such table")
        return self._overwritten(message) if is_damaged else None

    def _overwritten(self, why: str) -> StorageError | None:
        """The error for files without what was stored, if they were written to; otherwise they are only damaged."""
        if not self._watch.is_written():
            return None
        name = self.path.name
        return self._given_up(
            LogReplacedError,
            f"{self.shown}, or {name}-wal beside it, was overwritten, cut or damaged while it was in use"
            + (f" ({why.rstrip('.')})" if why else "")
            + f". Nothing was changed; end all programs that use it, remove {name}-wal and {name}-shm, put a copy in "
            f"place of {name}, and open the study again.",
        )

    def _open(self) -> Driver:
        """Open the file, without SQLite's own retries: they wait long and unfairly with many writers."""
        options = "mode=rwc" if self._new else "mode=rw"
        if self.read_only:
            options = reading_options(self.path)
        with self._watch.lock:
            connection = sqlite3.connect(
                file_uri(self.path, options),
                uri=True,
                timeout=0,
                isolation_level=None,
                check_same_thread=False,
                factory=Driver,
            )
            try:
                connection.execute("PRAGMA synchronous=FULL")  # a commit survives a power loss
                if not self._new and not self.read_only:
                    connection.execute("SELECT 1 FROM sqlite_master").close()  # opens the files beside it
            except BaseException:  # for example, a file that another process locks
                connection.close()
                raise
            self._watch.opened(connection)
            if not self._new and not self.read_only:
                self._watch.remember(beside=True)
        return connection

    def _closing(self, driver: Any, record: Any) -> None:
        """Copy commits from the log to the file: SQLite itself does so only if no other process has it open."""
        with self._watch.lock:
            is_unsaved = record.info.pop("unsaved", False) and self._watch.change() is None
            # To a file that was overwritten the log would add parts of another one.
            is_unsaved = is_unsaved and self._watch.touched() is None
            self._watch.closing(driver)
            if is_unsaved:
                _is_copied(driver)
            driver.close()

    def _refuse_changed(self, connection: sa.Connection | None) -> None:
        if self._lost is not None:
            raise self._lost[0](self._lost[1])
        change = self._watch.change()
        if change is None:
            return
        name = self.path.name
        if change is Change.FILE:  # may be put back; what takes its place may lack what was stored
            raise LogReplacedError(
                f"{self.shown} was moved, deleted or replaced while it was in use; put it back with the files "
                f"{name}-wal and {name}-shm beside it, or a backup without these, and open the study again."
            )
        # Nobody uses the removed files from now on, so all that they hold is copied to the file first.
        driver = None if connection is None else connection.connection.dbapi_connection
        is_safe = change is Change.REMOVED and driver is not None and _is_copied(driver)
        saved = f"All that was stored is in {name} now" if is_safe else f"What was stored last may be missing in {name}"
        raise self._given_up(
            StorageError if is_safe else LogReplacedError,
            f"{name}-wal or {name}-shm beside {self.shown} was {change.name.lower()} while it was in use. {saved}; end "
            "all programs that use it before you open the study again.",
        )

    def _given_up(self, kind: type[StorageError], sentence: str) -> StorageError:
        """The error for files that are not what they were, for this and every later use."""
        self._lost = self._lost or (kind, sentence)
        return self._lost[0](self._lost[1])

    def _is_older(self, seconds: float) -> bool:
        """Whether the log was last copied to the file longer ago, by any process; clocks may be wrong."""
        try:
            return abs(time.time() - os.stat(self.path).st_mtime) >= seconds
        except OSError:
            return False

    def _count(self, driver: Any, now: float) -> None:
        """Count the workers that have signed, which may all want to write."""
        if now - self._counted >= _CROWD_SECONDS:
            self._counted = now
            with suppress(sqlite3.Error):  # tables of an older version
                (self._congestion.crowd,) = driver.execute("SELECT max(1, count(*)) FROM flexibo_workers").fetchone()

    def _look_at_writer(self, now: float, since: float) -> None:
        """Let a writer that was stopped finish its write."""
        if now - max(since, self._looked) >= _FROZEN_SECONDS:
            self._looked = now
            finish_frozen_writes(locks_of(self.path))


def warn_of_network(path: Path) -> None:
    """Warn once of each folder on a network file system."""
    if path.parent in _warned or (kind := network_file_system(path)) is None:
        return
    _warned.add(path.parent)
    logger.warning(
        "%s is on a network file system (%s): use it from one machine at a time, or events are lost without notice; "
        "use PostgreSQL to share a study between machines.",
        path,
        kind,
    )


def _is_copied(driver: Any) -> bool:
    """Copy the commits of the log to the file without waiting for anybody; whether all are there then."""
    with suppress(sqlite3.Error):
        busy, length, copied = driver.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        return not busy and length == copied
    return False
