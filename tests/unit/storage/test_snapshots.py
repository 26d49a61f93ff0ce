"""Snapshots in a database: used only if they belong to the log that is there."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from flexibo.storage import StorageError
from flexibo.storage.base import MemoryStorage, Snapshot, SnapshotStorage, first_event
from flexibo.storage.sql import SQLStorage


def storage_with(path: Path, count: int) -> SQLStorage:
    storage = SQLStorage(f"sqlite:///{path}", "study")
    storage.commit(0, lambda new: [{"event": "note", "text": str(number)} for number in range(count)])
    return storage


def changed(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


def test_a_snapshot_is_found_by_another_process_with_the_number_of_its_events(tmp_path: Path) -> None:
    storage = storage_with(tmp_path / "study.db", 3)
    assert storage.snapshot("history") is None
    storage.keep_snapshot("history", Snapshot(3, b"state"))
    storage.commit(3, lambda new: [{"event": "note", "text": "3"}])
    again = SQLStorage(f"sqlite:///{tmp_path}/study.db", "study")
    assert again.snapshot("history") == Snapshot(3, b"state")
    assert again.snapshot("fits") is None
    assert [event["text"] for event in again.read(3)] == ["3"]


def test_an_older_snapshot_does_not_replace_a_newer_one(tmp_path: Path) -> None:
    storage = storage_with(tmp_path / "study.db", 3)
    storage.commit(3, lambda new: [{"event": "note", "text": "3"}])
    storage.keep_snapshot("history", Snapshot(4, b"four"))
    storage.keep_snapshot("history", Snapshot(3, b"three"))
    assert storage.snapshot("history") == Snapshot(4, b"four")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE flexibo_snapshots SET content = x'00'",
        "UPDATE flexibo_snapshots SET content = 1000000000000",
        "UPDATE flexibo_snapshots SET events = 'abc', content = x'00'",
        "UPDATE flexibo_snapshots SET events = 2",
        "UPDATE flexibo_snapshots SET digest = 'another log'",
        "UPDATE flexibo_events SET digest = 'another log' WHERE number = 2",
        "DELETE FROM flexibo_events WHERE number = 2",
        "DROP TABLE flexibo_snapshots",
    ],
)
def test_a_snapshot_that_is_damaged_or_of_another_log_is_not_used(tmp_path: Path, damage: str) -> None:
    storage = storage_with(tmp_path / "study.db", 3)
    storage.keep_snapshot("history", Snapshot(3, b"state"))
    storage.close()
    changed(tmp_path / "study.db", damage)
    again = SQLStorage(f"sqlite:///{tmp_path}/study.db", "study")
    assert again.snapshot("history") is None
    if "flexibo_events" not in damage:
        again.read()
        again.keep_snapshot("history", Snapshot(3, b"state"))
        assert again.snapshot("history") == Snapshot(3, b"state")


def test_events_are_read_from_the_middle_and_checked(tmp_path: Path) -> None:
    storage = storage_with(tmp_path / "study.db", 6)
    assert [event["text"] for event in storage.between(2, 5)] == ["2", "3", "4"]
    assert [event["text"] for event in storage.between(0, 1)] == ["0"]
    storage.close()
    changed(tmp_path / "study.db", "UPDATE flexibo_events SET content = '{}' WHERE number = 3")
    with pytest.raises(StorageError, match="3"):
        storage.between(2, 5)


def test_a_storage_without_snapshots_is_read_from_the_beginning() -> None:
    storage = MemoryStorage()
    assert not isinstance(storage, SnapshotStorage)
    assert first_event(storage) is None
    storage.commit(0, lambda new: [{"event": "created"}, {"event": "note"}])
    assert first_event(storage) == {"event": "created"}
