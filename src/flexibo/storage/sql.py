"""Events in a database, through SQLAlchemy Core: one row per event, JSON text, no pickle."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.storage._chain import Marks
from flexibo.storage._database import Database, Session
from flexibo.storage._postgresql import PostgreSQL
from flexibo.storage._schema import SCHEMA, check_current, check_known, events, workers
from flexibo.storage._snapshots import found_snapshot, keep, some_events
from flexibo.storage._sqlite import SQLite
from flexibo.storage._transaction import Transaction, json_text, stored_events
from flexibo.storage._urls import check_url, shown_url, sqlite_file
from flexibo.storage.base import Content, Decide, NoSuchStorageError, Sign, Snapshot, parsed_object

PATIENCE = 60.0  # seconds to retry while a database is busy or not reachable
HEARTBEATS_SINCE = 2  # the version of the tables that has them
LONGEST_NAME = 200  # characters of the name of a study or a worker
EXAMPLES = "sqlite:///study.db or postgresql://user@host/database"
SQLITE = ("sqlite", "sqlite+pysqlite")
POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg")


class SQLStorage:
    """The events of one study in a database, shared by the threads, processes and machines that open it.

    Unless it may `create` a missing database file and missing tables, opening changes nothing, and a database without
    studies is an error. It waits `patience` seconds for a database that is busy, or not reachable after it was.
    """

    def __init__(
        self,
        url: str,
        study: str,
        *,
        create: bool = True,
        patience: float = PATIENCE,
        opened: tuple[Session, int | None] | None = None,
    ) -> None:
        self.study = _checked(study, "name of the study")
        self._session, schema = opened or _opened(url, create=create, patience=patience)
        self._shown = self._session.database.shown
        self._where: Callable[[], str] = lambda: url  # an attribute would be printed, with its password
        if schema is None and not create:
            self._session.close()
            raise NoSuchStorageError(f"{self._shown} holds no studies; check the storage, or start a study there.")
        self._ready = schema == SCHEMA
        self._marks = Marks()
        self._committing = threading.local()  # has the connection of this thread's transaction, if there is one
        if create:
            self._make_ready()

    def __reduce__(self) -> tuple[Any, ...]:
        file = sqlite_file(self._where())  # absolute: it may be opened again from another folder
        return partial(SQLStorage, create=False), (f"sqlite:///{file}" if file else self._where(), self.study)

    def __repr__(self) -> str:
        return f"SQLStorage({self._shown!r}, {self.study!r})"

    @property
    def has_digests(self) -> bool:
        """Whether its events are stored with digests: tables of older versions have none until they are written to."""
        return self._ready

    @property
    def place(self) -> str:
        """The file, or the URL without its secrets, as it can be given to commands."""
        return self._shown

    @property
    def unstored(self) -> Path:
        """The file for answers that could not be stored: beside a SQLite file, or in the working folder."""
        database = self._session.database
        if isinstance(database, SQLite):
            return database.path.with_name(f"{database.path.stem}.unstored.jsonl")
        return Path.cwd() / f"{re.sub('[^A-Za-z0-9._-]', '_', self.study)}.unstored.jsonl"

    @property
    def checkpoints(self) -> Path:
        """The folder for checkpoints of evaluations: beside a SQLite file, or in the working folder."""
        database = self._session.database
        if isinstance(database, SQLite):
            return database.path.with_name(f"{database.path.name}.checkpoints")
        return Path.cwd() / "flexibo-checkpoints"

    def close(self) -> None:
        """Close the database now rather than with the last reference; a later use opens it again."""
        self._session.close()

    def read(self, after: int = 0) -> list[Content]:
        """The events in order, without the first `after`."""
        return self._session.do(self._reading(after))

    def read_anew(self) -> list[Content]:
        """All events as they are stored now, even if others were read before."""
        return self._session.do(self._reading(0, Marks()))

    def commit(self, after: int, decide: Decide) -> None:
        """Append what `decide` returns in one transaction; it is on disk, exactly once, when this returns."""
        self._make_ready()
        transaction = Transaction(self._session.database, self.study, after, decide, self._marks)

        def tried(connection: sa.Connection) -> None:
            self._committing.connection = connection
            try:
                transaction.tried(connection)
            finally:
                self._committing.connection = None

        self._session.do(tried, ending=transaction.ending)

    def between(self, start: int, stop: int) -> list[Content]:
        """The events from number `start` up to `stop`, without that."""
        if not self._ready:  # an older version, without digests
            return self.read()[start:stop]
        connection: sa.Connection | None = getattr(self._committing, "connection", None)
        if connection is not None:  # who decides what to add looks up earlier events
            return some_events(connection, self.study, start, stop, self._shown)
        return self._session.do(lambda connection: some_events(connection, self.study, start, stop, self._shown))

    def snapshot(self, kind: str) -> Snapshot | None:
        """The snapshot of this kind, if its events are the first ones of the stored log, and it is undamaged."""
        if not self._ready:
            return None
        return self._session.do(lambda connection: found_snapshot(connection, self.study, kind, self._marks))

    def keep_snapshot(self, kind: str, snapshot: Snapshot) -> None:
        """Replace the snapshot of this kind, unless one of more events is there."""
        mark = self._marks.seen(snapshot.events).known
        if not self._ready or mark.events != snapshot.events:
            return  # the log has grown since, and there will be another one
        database = self._session.database
        self._session.do(lambda connection: keep(connection, database, self.study, kind, snapshot, mark))

    def sign(self, worker: str, sign: Sign | None) -> None:
        """Store a worker's latest heartbeat; None when it signs off."""
        self._make_ready()
        mine = (workers.c.study == self.study) & (workers.c.worker == _checked(worker, "worker"))
        row: dict[str, Any] = {}
        if sign is not None:
            row = {"beat": sign.beat, "seconds": float(sign.seconds), "lease": float(sign.lease)}
            row["about"] = json_text(dict(sign.about))

        def signed(connection: sa.Connection) -> None:
            self._session.database.begin(connection, None)
            check_current(connection, self._shown)
            if not row:
                connection.execute(workers.delete().where(mine))
            elif connection.execute(workers.update().where(mine), row).rowcount == 0:
                connection.execute(workers.insert(), row | {"study": self.study, "worker": worker})
            connection.exec_driver_sql("COMMIT")

        self._session.do(signed)

    def workers(self) -> dict[str, Sign]:
        """The latest heartbeat of each worker that has not signed off."""
        if not self._ready:
            schema = self._session.patiently(self._session.database.schema)
            if schema is None or schema < HEARTBEATS_SINCE:
                return {}
            self._ready = schema == SCHEMA
        query = sa.select(workers).where(workers.c.study == self.study).order_by(workers.c.worker)
        rows = self._session.do(lambda connection: connection.execute(query).all())
        return {row.worker: Sign(row.beat, row.seconds, row.lease, parsed_object(row.about) or {}) for row in rows}

    def _reading(self, after: int, marks: Marks | None = None) -> Callable[[sa.Connection], list[Content]]:
        seen = self._marks if marks is None else marks
        return partial(
            stored_events, study=self.study, after=after, marks=seen, has_digests=self._ready, where=self._shown
        )

    def _make_ready(self) -> None:
        """Create or update the tables before the first write."""
        if not self._ready:
            self._session.do(self._session.database.prepare, ending=lambda: ". Nothing was changed.")
            self._ready = True


def existing_storage(url: str, choose: Callable[[Sequence[str]], str]) -> SQLStorage:
    """The storage of the study that `choose` returns, given the names of all; the database is opened once."""
    session, schema = _opened(url, create=False, patience=PATIENCE)
    try:
        names = [] if schema is None else session.do(_names)
        return SQLStorage(url, choose(names), create=False, opened=(session, schema))
    except BaseException:
        session.close()
        raise


def _names(connection: sa.Connection) -> list[str]:
    """The names of the studies in a database, one after the other: counting their events would take a while."""
    names: list[str] = []
    query = sa.select(sa.func.min(events.c.study))
    while (name := connection.execute(query).scalar()) is not None:
        names.append(str(name))
        query = sa.select(sa.func.min(events.c.study)).where(events.c.study > name)
    return names


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """A study that a database holds, the number of its events, and what identifies the first and the last one.

    By these ends one notices that another study took its place.
    """

    name: str
    events: int
    ends: tuple[str, str] = field(default=("", ""), compare=False)


def stored_studies(url: str, *, patience: float = PATIENCE) -> list[StoredStudy]:
    """The studies of a database by name; changes nothing."""
    session, schema = _opened(url, create=False, patience=patience)
    with closing(session):
        if schema is None:
            return []
        query = _studies_with_ends(schema, is_sqlite=isinstance(session.database, SQLite))
        rows = session.do(lambda connection: connection.execute(query).all())
    return [StoredStudy(str(name), number, (str(first), str(last))) for name, number, first, last in rows]


def stored_rows(url: str) -> list[Any]:
    """Study, number, text, token and digest of every event in a database, in no order; nothing is checked."""
    session, schema = _opened(url, create=False, patience=PATIENCE)
    columns = [events.c[name] for name in ("study", "number", "content", "token", "digest")]
    known = {None: 0, 1: 3, 2: 4}.get(schema, 5)
    with closing(session):
        return (
            list(session.do(lambda connection: connection.execute(sa.select(*columns[:known])).all())) if known else []
        )


def file_of(url: str) -> Path | None:
    """The file of a SQLite URL; None for a database on a server."""
    database = _database(url, create=False, patience=PATIENCE)
    return database.path if isinstance(database, SQLite) else None


def _studies_with_ends(schema: int, *, is_sqlite: bool) -> sa.Select[Any]:
    """Each study with the number of its events and the digests, tokens or contents of the first and last one."""
    study, number = events.c.study, events.c.number
    ends = sa.func.min(number).label("low"), sa.func.max(number).label("high")
    counted = sa.select(study, sa.func.count().label("events"), *ends).group_by(study).subquery()
    first, last = events.alias(), events.alias()
    marks = [_identity(one, schema) for one in (first, last)]
    if is_sqlite:  # a damaged file may hold bytes that are not text
        marks = [sa.func.hex(mark) for mark in marks]
    return (
        sa.select(counted.c.study, counted.c.events, *marks)
        .join(first, (first.c.study == counted.c.study) & (first.c.number == counted.c.low))
        .join(last, (last.c.study == counted.c.study) & (last.c.number == counted.c.high))
        .order_by(counted.c.study)
    )


def _identity(one: sa.FromClause, schema: int) -> sa.ColumnElement[str]:
    """What identifies an event in tables of this version."""
    if schema == 1:
        return one.c.content
    return sa.func.coalesce(one.c.token, one.c.content) if schema == 2 else one.c.digest


def _opened(url: str, *, create: bool, patience: float) -> tuple[Session, int | None]:
    """The database of a URL, and the version of its tables, if it is supported."""
    database = _database(url, create=create, patience=patience)
    session = Session(database, patience, keep=not (isinstance(database, SQLite) and database.read_only))
    try:
        schema = session.patiently(database.schema, reconnect=False)
        check_known(schema, database.shown)
    except BaseException:
        session.close()  # a connection is shared, and stays open as long as somebody needs it
        raise
    return session, schema


def _database(url: str, *, create: bool, patience: float) -> Database:
    check_url(url)
    shown = shown_url(url)
    try:
        parsed = sa.make_url(url)
    except (ArgumentError, ValueError):
        raise InvalidValueError(f"Storage {shown!r} is not a database URL; give one like {EXAMPLES}.") from None
    if parsed.drivername in SQLITE:
        return SQLite(parsed, shown, create=create)
    if parsed.drivername in POSTGRESQL:
        return PostgreSQL(parsed, shown, patience=patience)
    raise InvalidValueError(
        f"Storage {shown!r} is of a database that flexibo does not know; give a URL like {EXAMPLES}."
    )


def _checked(name: str, what: str) -> str:
    """A name that every database can store."""
    if not isinstance(name, str):
        raise InvalidTypeError(f"The {what} is {name!r}; it must be text.")
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise InvalidValueError(
            f"The {what} is {name[:LONGEST_NAME]!r}; it must have 1 to {LONGEST_NAME} printable letters."
        )
    return name
