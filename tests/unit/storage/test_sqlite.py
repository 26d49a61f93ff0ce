"""SQLite files in use: moved, replaced, locked, copied by age; and the files beside them."""

from __future__ import annotations

import gc
import logging
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.unit.storage.files import contents

from flexibo.storage import LogReplacedError, StorageError
from flexibo.storage import _sqlite as sqlite
from flexibo.storage.sql import SQLStorage, stored_studies


def test_a_path_with_odd_letters_is_used_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a folder #1 & 100% ü"
    folder.mkdir()
    monkeypatch.chdir(folder)
    storage = SQLStorage("sqlite:///my study.db", "study")
    monkeypatch.chdir(tmp_path)  # a relative path is the one of the time of opening
    storage.commit(0, lambda _: [{"n": 0}])
    thread = threading.Thread(target=storage.commit, args=(1, lambda _: [{"n": 1}]))
    thread.start()
    thread.join()
    storage.close()
    assert list(contents(folder)) == ["my study.db"]
    assert len(SQLStorage(f"sqlite:///{folder / 'my study.db'}", "study", create=False).read()) == 2


def test_a_file_that_is_moved_or_replaced_while_in_use_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    storage = SQLStorage(f"sqlite:///{path}", "study")
    storage.commit(0, lambda _: [{"n": 0}])
    path.rename(tmp_path / "away.db")
    for action in (lambda: storage.commit(1, lambda _: [{"n": 1}]), lambda: storage.read()):
        with pytest.raises(StorageError, match=r"moved.* study\.db-wal |cannot be opened"):
            action()
    assert not path.exists()
    (tmp_path / "away.db").rename(path)
    storage.commit(1, lambda _: [{"n": 1}])
    assert storage.read() == [{"n": 0}, {"n": 1}]


def test_a_commit_reaches_the_disk(tmp_path: Path) -> None:
    storage = SQLStorage(f"sqlite:///{tmp_path / 'study.db'}", "study")
    seen: list[Any] = []

    def decide(_: list[Any]) -> list[dict[str, Any]]:
        connection = storage._session._connections._mine.held.connection
        seen.extend(connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous"))
        return []

    storage.commit(0, decide)
    assert seen == ["wal", 2]  # 2 is FULL


def test_a_connection_to_a_locked_file_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "study.db"
    SQLStorage(f"sqlite:///{path}", "study").commit(0, lambda _: [{"n": 0}])
    gc.collect()
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect
    with closing(connect(path, isolation_level=None)) as greedy:
        greedy.execute("PRAGMA locking_mode=EXCLUSIVE")
        greedy.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(sqlite3, "connect", lambda *a, **how: opened.append(connect(*a, **how)) or opened[-1])
        with pytest.raises(StorageError):
            stored_studies(f"sqlite:///{path}", patience=0.0)
        greedy.execute("ROLLBACK")
    assert opened
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def in_file_alone(path: Path) -> int:
    """How many events a file holds without the files beside it."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM flexibo_events").fetchone()[0])
        except sqlite3.OperationalError:  # no table yet
            return 0


def test_a_retry_after_a_file_was_replaced_does_not_write_to_the_new_one(tmp_path: Path) -> None:
    path, other = tmp_path / "study.db", tmp_path / "other.db"
    for place in (path, other):
        with_one = SQLStorage(f"sqlite:///{place}", "study")
        with_one.commit(0, lambda _: [{"n": 0}])
        with_one.close()
    storage = SQLStorage(f"sqlite:///{path}", "study")
    assert storage.read() == [{"n": 0}]
    other.replace(path)
    for _ in range(3):
        for action in (lambda: storage.commit(1, lambda _: [{"n": 1}]), lambda: storage.read()):
            with pytest.raises(StorageError, match=r"replaced"):
                action()
        storage.close()  # a storage that is used after it was closed is opened again
    assert SQLStorage(f"sqlite:///{path}", "study").read() == [{"n": 0}]


@pytest.mark.parametrize("side", ["wal", "shm"])
def test_a_file_beside_it_that_is_removed_is_noticed_before_anything_is_acknowledged(tmp_path: Path, side: str) -> None:
    path = tmp_path / "study.db"
    storage = SQLStorage(f"sqlite:///{path}", "study")
    for n in range(20):
        storage.commit(n, lambda _, n=n: [{"n": n}])  # type: ignore[misc]
    assert in_file_alone(path) < 20
    Path(f"{path}-{side}").unlink()
    for _ in range(3):
        with pytest.raises(StorageError, match=r"study\.db-wal .*study\.db-shm .*removed"):
            storage.commit(20, lambda _: [{"n": 20}])
    assert in_file_alone(path) == 20  # what was acknowledged is saved
    storage.close()
    again = SQLStorage(f"sqlite:///{path}", "study")
    assert [event["n"] for event in again.read()] == list(range(20))


def test_a_log_that_is_removed_during_a_commit_is_noticed_before_it_is_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    storage = SQLStorage(f"sqlite:///{path}", "study")
    storage.commit(0, lambda _: [{"n": 0}])

    def decide(_: list[Any]) -> list[dict[str, Any]]:
        Path(f"{path}-wal").unlink()
        return [{"n": 1}]

    with pytest.raises(StorageError, match=r"study\.db-wal"):
        storage.commit(1, decide)


def test_a_log_that_was_replaced_is_noticed_by_all_threads(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    storage = SQLStorage(f"sqlite:///{path}", "study")
    storage.commit(0, lambda _: [{"n": 0}])
    log = Path(f"{path}-wal")
    content = log.read_bytes()
    log.unlink()
    log.write_bytes(content)
    said: list[str] = []

    def work() -> None:
        with pytest.raises(StorageError) as caught:
            storage.commit(1, lambda _: [{"n": 1}])
        said.append(str(caught.value))

    thread = threading.Thread(target=work)  # opens a connection of its own
    thread.start()
    thread.join()
    work()
    assert len(said) == 2
    assert all("replaced" in sentence and "study.db" in sentence for sentence in said)


def test_commits_are_copied_to_the_file_by_age(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "study.db"
    storage = SQLStorage(f"sqlite:///{path}", "study")
    storage.commit(0, lambda _: [{"n": 0}])
    assert in_file_alone(path) == 0
    storage._session.database._saved -= sqlite.CHECKPOINT_SECONDS  # type: ignore[attr-defined]
    storage.commit(1, lambda _: [{"n": 1}])
    assert in_file_alone(path) == 0  # it was written to a moment ago, by whomever
    stale = path.stat().st_mtime - sqlite.CHECKPOINT_SECONDS
    os.utime(path, (stale, stale))
    storage.commit(2, lambda _: [{"n": 2}])
    assert in_file_alone(path) == 3
    os.utime(path, (stale, stale))
    storage.commit(3, lambda _: [{"n": 3}])
    assert in_file_alone(path) == 3  # this process has copied a moment ago


def test_commits_are_copied_to_the_file_at_every_close_although_others_have_it_open(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    other = SQLStorage(f"sqlite:///{path}", "study")
    other.read()
    storage = SQLStorage(f"sqlite:///{path}", "study")
    storage.commit(0, lambda _: [{"n": 0}])
    assert in_file_alone(path) == 0
    storage.close()
    assert in_file_alone(path) == 1
    assert other.read() == [{"n": 0}]


def test_a_network_file_system_is_warned_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite, "network_file_system", lambda path: "nfs4")
    for _ in range(2):
        SQLStorage(f"sqlite:///{tmp_path / 'study.db'}", "study").commit(0, lambda _: [{"n": 0}])
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert all(fact in record.getMessage() for fact in ("study.db", "nfs4", "PostgreSQL"))


def test_who_waits_for_the_lock_learns_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_POLL_SECONDS", (0.0, 0.0))
    path = tmp_path / "study.db"
    storage, other = (SQLStorage(f"sqlite:///{path}", "study") for _ in range(2))
    storage.commit(0, lambda _: [{"n": 0}])
    learned: list[Any] = []
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as greedy:

        def decide(new: list[Any]) -> list[dict[str, Any]]:
            learned.append((new, greedy.in_transaction))
            if greedy.in_transaction:
                greedy.execute("COMMIT")
            return [{"n": 2}]

        other.commit(1, lambda _: [{"n": 1}])
        greedy.execute("BEGIN IMMEDIATE")
        storage.commit(1, decide)
    assert learned == [([{"n": 1}], True), ([], False)]
    assert storage.read() == [{"n": 0}, {"n": 1}, {"n": 2}]


def copied(path: Path) -> None:
    """Copy all commits from the log to the file, as any process may at any time."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0


def add(storage: SQLStorage, numbers: range) -> None:
    for n in numbers:
        storage.commit(n, lambda _, n=n: [{"n": n, "text": "x" * 300}])  # type: ignore[misc]


def overwrite(path: Path, content: bytes) -> None:
    """Give a file another content, as `cp` does: it stays the same file."""
    with path.open("r+b") as file:
        file.truncate()
        file.write(content)


OVERWRITINGS: dict[str, Callable[[Path, bytes], None]] = {
    "an older copy": lambda path, old: overwrite(path, old),
    "an empty file": lambda path, old: os.truncate(path, 0),
    "a part of it": lambda path, old: os.truncate(path, path.stat().st_size // 2),
    "an empty log": lambda path, old: os.truncate(f"{path}-wal", 0),
    "a part of the log": lambda path, old: os.truncate(f"{path}-wal", 5000),
    "another log": lambda path, old: overwrite(Path(f"{path}-wal"), b"x" * Path(f"{path}-wal").stat().st_size),
}


@pytest.mark.parametrize("how", OVERWRITINGS)
def test_a_file_that_is_overwritten_or_cut_in_place_is_noticed_by_all(tmp_path: Path, how: str) -> None:
    path = tmp_path / "study.db"
    storage, other = (SQLStorage(f"sqlite:///{path}", "study") for _ in range(2))
    add(storage, range(20))
    copied(path)
    old = path.read_bytes()
    add(other, range(20, 60))
    copied(path)
    add(storage, range(60, 63))
    assert len(other.read()) == 63
    OVERWRITINGS[how](path, old)
    for _ in range(3):
        for one in (storage, other):
            with pytest.raises(StorageError) as caught:
                one.commit(63, lambda _: [{"n": 63}])
            assert isinstance(caught.value, LogReplacedError) or "log" in how  # which the other may not have seen
            assert str(path) in str(caught.value)


def test_a_file_that_was_copied_to_or_overwritten_with_all_that_it_held_is_used_on(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    storage, other = (SQLStorage(f"sqlite:///{path}", "study") for _ in range(2))
    for n in range(0, 60, 4):
        add(storage, range(n, n + 2))
        add(other, range(n + 2, n + 4))
        if n % 8:
            copied(path)
        elif n % 12:
            overwrite(path, path.read_bytes())
        else:
            other.close()
    assert [event["n"] for event in storage.read()] == list(range(60))


def test_ctrl_c_while_a_connection_is_closed_leaves_a_storage_that_can_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = SQLStorage(f"sqlite:///{tmp_path / 'study.db'}", "study")
    add(storage, range(1))

    def interrupted(driver: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "_is_copied", interrupted)
        with pytest.raises(KeyboardInterrupt):
            storage.close()
    gc.collect()
    SQLStorage(f"sqlite:///{tmp_path / 'study.db'}", "study").close()  # removes the files beside it
    add(storage, range(1, 3))
    assert len(storage.read()) == 3


def test_a_connection_that_opens_while_the_last_other_one_closes_keeps_the_files_beside_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = SQLStorage(f"sqlite:///{tmp_path / 's.db'}", "study")
    storage.commit(0, lambda _: [{"n": 0}])
    opened, closed = threading.Event(), threading.Event()

    class Slow(sqlite.Driver):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            if "synchronous" in statement:
                opened.set()
                closed.wait(0.2)  # the other connection may close now, or must wait
            return super().execute(statement, *values)

    monkeypatch.setattr(sqlite, "Driver", Slow)
    found: list[object] = []
    other = threading.Thread(target=lambda: found.extend([storage.read(), storage.commit(1, lambda _: [{"n": 1}])]))
    other.start()
    opened.wait()
    storage._session._connections.drop()
    assert storage.read()[0] == {"n": 0}
    closed.set()
    other.join()
    assert found == [[{"n": 0}], None]
    assert storage.read() == [{"n": 0}, {"n": 1}]
