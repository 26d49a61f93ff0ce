"""A database that is busy, lost or broken: what is tried again, for how long, and what is reported."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from flexibo.storage import StorageError
from flexibo.storage._connections import Connections
from flexibo.storage._database import Session, Trouble, _longer_pause
from flexibo.storage.sql import SQLStorage


def test_another_process_that_never_stops_writing_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    storage = SQLStorage(f"sqlite:///{path}", "study", patience=0.2)
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match=r"study\.db is locked .*\. Nothing was changed\.$"):
            storage.commit(0, lambda _: [{"n": 0}])
        assert storage.read() == []
    storage.commit(0, lambda _: [{"n": 0}])
    assert storage.read() == [{"n": 0}]


class FailedError(OperationalError):
    """An error that calls for the given reaction."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__("SELECT 1", None, Exception(trouble.name))
        self.trouble = trouble


class Fake:
    """A database whose connections are numbers, and which writes down what happens."""

    shown = "study.db"

    def __init__(self) -> None:
        self.said: list[str] = []
        self.opened = 0

    def connections(self) -> Connections:
        return Connections(self._connect)

    def _connect(self) -> Any:
        self.opened += 1
        return SimpleNamespace(number=self.opened, close=lambda: self.said.append("closed"))

    def check(self, connection: Any) -> None:
        pass

    def settle(self, connection: Any) -> None:
        pass

    def pause(self, waited: float) -> float:
        return 0.0

    def roll_back(self, connection: Any) -> None:
        self.said.append("rolled back")

    def trouble(self, error: Any) -> Trouble:
        return error.trouble  # type: ignore[no-any-return]

    def loss(self, error: Any) -> None:
        """Nothing is lost."""

    def sentence(self, error: Any) -> str:
        return f"{self.shown}: {error.trouble.name}"


def failing(*troubles: Trouble) -> Callable[[Any], int]:
    """An action that fails in these ways, one after the other, and then returns the number of its connection."""
    left = list(troubles)

    def action(connection: Any) -> int:
        if left:
            raise FailedError(left.pop(0))
        return connection.number  # type: ignore[no-any-return]

    return action


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Fake:
    monkeypatch.setattr("flexibo.storage._database._longer_pause", lambda tries: 0.0)
    return Fake()


def session_on(database: Fake, patience: float = 60.0, **how: Any) -> Session:
    return Session(database, patience, **how)  # type: ignore[arg-type]


def test_a_busy_database_is_tried_again_on_the_same_connection(
    database: Fake, caplog: pytest.LogCaptureFixture
) -> None:
    session = session_on(database)
    assert session.do(failing(*[Trouble.BUSY] * 5)) == 1
    assert database.said == ["rolled back"] * 5
    assert caplog.text == ""


@pytest.mark.parametrize("trouble", [Trouble.LOST, Trouble.REFUSED])
def test_a_lost_database_is_tried_again_on_another_connection_and_that_is_said_once(
    database: Fake, caplog: pytest.LogCaptureFixture, trouble: Trouble
) -> None:
    assert session_on(database, 7.0).do(failing(trouble, trouble)) == 3
    (record,) = caplog.records
    assert f"study.db: {trouble.name}" in record.getMessage()
    assert " 7 s" in record.getMessage()


@pytest.mark.parametrize(
    ("trouble", "patience", "how"),
    [
        (Trouble.FINAL, 60.0, {}),
        (Trouble.BUSY, 0.0, {}),
        (Trouble.LOST, 0.0, {}),
        (Trouble.LOST, 60.0, {"reconnect": False}),
    ],
)
def test_what_cannot_be_mended_is_reported_at_once_with_the_ending(
    database: Fake, trouble: Trouble, patience: float, how: dict[str, Any]
) -> None:
    calls: list[int] = []

    def attempt() -> None:
        calls.append(1)
        raise FailedError(trouble)

    with pytest.raises(StorageError, match=rf"^study\.db: {trouble.name}; the end\.$"):
        session_on(database, patience).patiently(attempt, ending=lambda: "; the end.", **how)
    assert len(calls) == 1


def test_a_server_that_starts_up_is_waited_for_also_when_it_is_opened(database: Fake) -> None:
    session, action = session_on(database), failing(Trouble.REFUSED, Trouble.REFUSED)
    assert session.patiently(lambda: action(SimpleNamespace(number=7)), reconnect=False) == 7


@pytest.mark.parametrize(("error", "kept"), [(KeyError, True), (StorageError, False), (KeyboardInterrupt, False)])
def test_an_error_of_the_action_is_passed_on_and_a_doubtful_connection_is_dropped(
    database: Fake, error: type[BaseException], kept: bool
) -> None:
    def action(connection: Any) -> None:
        raise error("7")

    session = session_on(database)
    with pytest.raises(error, match="7"):
        session.do(action)
    assert session.do(failing()) == (1 if kept else 2)


def test_a_connection_whose_rollback_fails_is_dropped(database: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(connection: Any) -> None:
        raise OSError

    monkeypatch.setattr(database, "roll_back", broken)
    assert session_on(database).do(failing(Trouble.BUSY)) == 2


def test_a_session_that_keeps_no_connection_opens_one_for_each_action(database: Fake) -> None:
    session = session_on(database, keep=False)
    assert [session.do(failing()) for _ in range(3)] == [1, 2, 3]
    assert database.said == ["closed"] * 3


def test_pauses_grow_while_a_database_cannot_be_reached() -> None:
    assert max(_longer_pause(1) for _ in range(100)) <= 0.2
    assert min(_longer_pause(9) for _ in range(100)) >= 1.0
    assert max(_longer_pause(99) for _ in range(100)) <= 2.0
