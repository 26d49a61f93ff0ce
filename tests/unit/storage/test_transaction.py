"""Events are added exactly once, whatever breaks in between, and damaged ones are reported."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.storage import Sign, StorageError
from flexibo.storage._chain import Mark, Marks
from flexibo.storage._database import Trouble
from flexibo.storage._schema import bring_up_to_date
from flexibo.storage._transaction import Transaction, json_text, stored_events
from flexibo.storage.sql import SQLStorage


def test_an_event_that_is_missing_or_no_json_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    for change, said in (
        ("DELETE FROM flexibo_events WHERE number = 3", "Event 3 of study 'study' .*missing"),
        ("UPDATE flexibo_events SET content = '{\"n\": ' WHERE number = 2", "Event 2 of study 'study' .*checksum"),
        ("UPDATE flexibo_events SET content = x'ff' WHERE number = 1", "Event 1 of study 'study' .*read"),
    ):
        path.unlink(missing_ok=True)
        storage = SQLStorage(f"sqlite:///{path}", "study")
        storage.commit(0, lambda _: [{"n": n} for n in range(5)])
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(change)
        with pytest.raises(StorageError, match=said):
            storage.read()
        with pytest.raises(StorageError, match=said):
            storage.commit(0, lambda _: [{"n": 5}])
        del storage


@pytest.mark.parametrize("about", ["no json", "[1, 2]", "", "[" * 100_000])
def test_what_a_worker_said_of_itself_may_be_damaged(tmp_path: Path, about: str) -> None:
    path = tmp_path / "study.db"
    storage = SQLStorage(f"sqlite:///{path}", "study")
    storage.commit(0, lambda _: [{"n": 0}])
    storage.sign("me", Sign(1, 2.0, 60.0, {"host": "here"}))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("UPDATE flexibo_workers SET about = ?", (about,)).rowcount == 1
        connection.commit()
    assert storage.workers() == {"me": Sign(1, 2.0, 60.0, {})}


class Cut:
    """A connection that breaks at its first COMMIT, before or after the database has got it."""

    def __init__(self, connection: sa.Connection, *, after: bool) -> None:
        self._connection, self._after, self._is_cut = connection, after, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def exec_driver_sql(self, statement: str) -> Any:
        if statement != "COMMIT" or self._is_cut:
            return self._connection.exec_driver_sql(statement)
        self._is_cut = True
        self._connection.exec_driver_sql("COMMIT" if self._after else "ROLLBACK")
        raise OperationalError(statement, None, Exception("connection lost"))


class Memory:
    """A database in memory; an error at a COMMIT means the given trouble."""

    shown = "study.db"
    place: Mark | None = None

    def __init__(self, trouble: Trouble = Trouble.LOST) -> None:
        self._trouble = trouble

    def begin(self, connection: sa.Connection, study: str | None) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def examined(self, connection: sa.Connection, study: str) -> AbstractContextManager[Mark | None]:
        return nullcontext(self.place)

    def roll_back(self, connection: sa.Connection) -> None:
        connection.exec_driver_sql("ROLLBACK")

    def trouble(self, error: Exception) -> Trouble:
        return self._trouble


@pytest.fixture
def connection() -> Iterator[sa.Connection]:
    engine = sa.create_engine("sqlite://", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        bring_up_to_date(connection, "study.db")
        yield connection
    engine.dispose()


def begun(decide: Callable[[list[Any]], list[Any]], *, known: int = 0, trouble: Trouble = Trouble.LOST) -> Transaction:
    return Transaction(Memory(trouble), "study", known, decide, Marks())  # type: ignore[arg-type]


def stored(connection: sa.Connection) -> list[Any]:
    return stored_events(connection, "study", 0, Marks(), has_digests=True, where="study.db")


@pytest.mark.parametrize("after", [True, False])
def test_events_are_added_once_when_a_connection_breaks_during_the_commit(
    connection: sa.Connection, after: bool
) -> None:
    calls: list[Any] = []
    transaction = begun(lambda new: calls.append(new) or [{"n": 0}, {"n": 1}])
    broken = Cut(connection, after=after)
    with pytest.raises(OperationalError):
        transaction.tried(broken)  # type: ignore[arg-type]
    assert "unknown" in transaction.ending()
    transaction.tried(broken)  # type: ignore[arg-type]
    assert stored(connection) == [{"n": 0}, {"n": 1}]
    assert calls == ([[]] if after else [[], []]), "what is stored is not decided again"


def test_what_others_added_after_a_lost_commit_is_given_to_who_decides(connection: sa.Connection) -> None:
    calls: list[Any] = []
    transaction = begun(lambda new: calls.append(new) or [{"n": "mine"}])
    broken = Cut(connection, after=False)
    with pytest.raises(OperationalError):
        transaction.tried(broken)  # type: ignore[arg-type]
    begun(lambda new: [{"n": "other"}]).tried(connection)
    transaction.tried(broken)  # type: ignore[arg-type]
    assert calls == [[], [{"n": "other"}]]
    assert stored(connection) == [{"n": "other"}, {"n": "mine"}]


def test_a_commit_that_the_database_refused_is_not_in_doubt(connection: sa.Connection) -> None:
    transaction = begun(lambda new: [{"n": 0}], trouble=Trouble.FINAL)
    with pytest.raises(OperationalError):
        transaction.tried(Cut(connection, after=False))  # type: ignore[arg-type]
    assert "Nothing was changed" in transaction.ending()


def test_a_database_that_lost_known_events_is_an_older_copy(connection: sa.Connection) -> None:
    begun(lambda new: [{"n": 0}]).tried(connection)
    asked: list[Any] = []
    with pytest.raises(StorageError, match=r"study\.db .* 5 events .*'study'"):
        begun(lambda new: asked.append(new) or [{"n": 5}], known=5).tried(connection)
    assert asked == []


@pytest.mark.parametrize(("value", "error"), [(float("nan"), InvalidValueError), (object(), InvalidTypeError)])
def test_what_json_cannot_express_is_refused_with_its_event(value: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="'odd': "):
        json_text({"odd": value})
