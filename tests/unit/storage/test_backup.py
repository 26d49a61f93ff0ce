"""Copies of databases that are in use."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.postgres import server
from tests.unit.storage.files import contents

from flexibo.storage import Sign, StorageError
from flexibo.storage.backup import back_up
from flexibo.storage.sql import SQLStorage, StoredStudy


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'study.db'}" if request.param == "sqlite" else server().new_database()


def test_a_copy_has_what_was_committed_and_nothing_of_a_write_that_goes_on(url: str, tmp_path: Path) -> None:
    target = tmp_path / "copies" / "copy.db"
    target.parent.mkdir()
    storage, other = SQLStorage(url, "study"), SQLStorage(url, "other")
    other.commit(0, lambda _: [{"n": n} for n in range(3)])
    storage.commit(0, lambda _: [{"n": 0}])

    def decide(_: list[Any]) -> list[dict[str, Any]]:
        assert back_up(url, target) == [StoredStudy("other", 3), StoredStudy("study", 1)]
        return [{"n": 1}]

    if url.startswith("sqlite"):
        storage.commit(1, decide)
    else:  # a process has one connection to a server
        decide([])
        storage.commit(1, lambda _: [{"n": 1}])
    assert list(contents(target.parent)) == ["copy.db"]
    copy = SQLStorage(f"sqlite:///{target}", "study")
    assert copy.read() == [{"n": 0}]
    copy.commit(1, lambda _: [{"n": 7}])
    assert storage.read() == [{"n": 0}, {"n": 1}]


def test_a_copy_does_not_wait_for_the_workers_of_the_original(url: str, tmp_path: Path) -> None:
    storage = SQLStorage(url, "study")
    storage.commit(0, lambda _: [{"n": 0}])
    storage.sign("worker", Sign(1, 1.0, 60.0))
    back_up(url, tmp_path / "copy.db")
    assert SQLStorage(f"sqlite:///{tmp_path / 'copy.db'}", "study").workers() == {}
    assert list(storage.workers()) == ["worker"]


def test_a_copy_is_one_sentence_if_it_cannot_be_made(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    SQLStorage(url, "study").commit(0, lambda _: [{"n": 0}])
    with pytest.raises(StorageError, match=r"study\.db .*/nowhere"):
        back_up(url, tmp_path / "nowhere" / "copy.db")
    with closing(sqlite3.connect(tmp_path / "empty.db")):
        pass
    with pytest.raises(StorageError):
        back_up(f"sqlite:///{tmp_path / 'empty.db'}", tmp_path / "copy.db")
