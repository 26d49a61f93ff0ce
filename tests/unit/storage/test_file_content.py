"""What a file holds without the log beside it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from flexibo.storage._chain import Mark, extended
from flexibo.storage._file_content import end_in_file, is_readable
from flexibo.storage.sql import SQLStorage


@pytest.fixture
def storage(tmp_path: Path) -> SQLStorage:
    """A study with one event in the file and one in the log."""
    storage = SQLStorage(f"sqlite:///{tmp_path / 'study.db'}", "study")
    storage.commit(0, lambda _: [{"n": 0}])
    with closing(sqlite3.connect(tmp_path / "study.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    storage.commit(1, lambda _: [{"n": 1}])
    return storage


def test_the_end_in_the_file_is_before_what_is_in_the_log(storage: SQLStorage, tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    assert end_in_file(path, "study") == extended(Mark(), ['{"n": 0}'])[-1]
    assert end_in_file(path, "another") == Mark()
    storage.close()
    assert end_in_file(path, "study") == extended(Mark(), ['{"n": 0}', '{"n": 1}'])[-1]


def test_of_a_file_without_tables_or_with_damage_nothing_is_known(storage: SQLStorage, tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    assert end_in_file(tmp_path / "none.db", "study") == Mark()
    os.truncate(path, 5000)
    assert end_in_file(path, "study") == Mark()
    os.truncate(path, 0)
    assert end_in_file(path, "study") == Mark()


def test_events_in_a_log_that_was_cut_cannot_be_read(storage: SQLStorage, tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    assert is_readable(path)
    os.truncate(f"{path}-wal", 0)
    assert not is_readable(path)
