"""SQLite files that are not ours, damaged or in a wrong place: an error, and nothing is touched."""

from __future__ import annotations

import errno
import os
import random
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.unit.storage.files import contents, refused

from flexibo.storage import NoSuchStorageError, StorageError, open_storage
from flexibo.storage._sqlite_inspection import schema_of
from flexibo.storage.sql import SQLStorage, stored_studies


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    """A study of 100 events in a file of many pages."""
    path = tmp_path / "whole.db"
    storage = SQLStorage(f"sqlite:///{path}", "study")
    storage.commit(0, lambda _: [{"n": n, "text": "x" * 100} for n in range(100)])
    del storage
    content = path.read_bytes()
    path.unlink()
    assert contents(tmp_path) == {}
    return content


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for content in (b"x", b"these are my notes, not a database\n" * 40, b"\0" * 5000):
        path.write_bytes(content)
        assert "SQLite database" in refused(path)


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database_of_another_program_is_refused(tmp_path: Path, journal: str) -> None:
    path = tmp_path / "books.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode={journal}")
        connection.execute("CREATE TABLE books (title)")
        connection.execute("CREATE TABLE flexibo (title)")
    assert "(its tables: books, flexibo)" in refused(path)


def test_a_page_that_was_being_copied_from_the_log_when_the_process_died_is_copied_again(tmp_path: Path) -> None:
    storage = SQLStorage(f"sqlite:///{tmp_path / 'study.db'}", "study")
    storage.commit(0, lambda _: [{"n": n, "text": "x" * 2000} for n in range(9)])
    copy = tmp_path / "copy" / "study.db"
    copy.parent.mkdir()
    for name in ("study.db", "study.db-wal"):
        (copy.parent / name).write_bytes((tmp_path / name).read_bytes())
    with copy.open("ab") as file:
        file.write(b"x" * 2048)
    assert [event["n"] for event in SQLStorage(f"sqlite:///{copy}", "study").read()] == list(range(9))


def test_a_file_that_was_being_made_when_the_process_died_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=wal")
    path.write_bytes(path.read_bytes()[:2048])
    # The beginning of a journal: no pages, which were none before; sectors of 512 bytes, pages of 4096.
    numbers = b"".join(number.to_bytes(4, "big") for number in (0, 1, 0, 512, 4096))
    path.with_name("study.db-journal").write_bytes((b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + numbers).ljust(512, b"\0"))
    storage = SQLStorage(f"sqlite:///{path}", "study")
    storage.commit(0, lambda _: [{"n": 0}])
    assert storage.read() == [{"n": 0}]


def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "study.db"
    for size in (1, 15, 16, 17, 99, 100, 511, 512, 513, *range(1000, len(whole), 2999), len(whole) - 1):
        path.write_bytes(whole[:size])
        assert "is damaged" in refused(path)


def test_a_file_with_damage_that_shows_is_refused_and_no_event_is_ever_wrong(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "study.db"
    rng = random.Random(1)
    expected = [{"n": n, "text": "x" * 100} for n in range(100)]
    noticed = 0
    header = (0, 15, 16, 17, 19, 21, 22, 23, 28, 32, 47, 100)
    for place in (*header, *(rng.randrange(100, len(whole)) for _ in range(80))):
        content = bytearray(whole)
        content[place] ^= 0xFF
        path.write_bytes(content)
        try:
            events = SQLStorage(f"sqlite:///{path}", "study").read()
        except StorageError as error:
            noticed += 1
            events, said = expected, str(error)
            assert re.search("damaged|SQLite database", said), said
            assert contents(tmp_path) == {"study.db": bytes(content)}
        assert events == expected
    assert noticed > 20


def test_a_folder_and_a_missing_folder_are_refused(tmp_path: Path) -> None:
    assert f"such as {tmp_path / 'study.db'}" in refused(tmp_path)
    assert f"no folder {tmp_path / 'nowhere'};" in refused(tmp_path / "nowhere" / "study.db")
    assert os.strerror(errno.ENAMETOOLONG) in refused(tmp_path / ("x" * 300))


def test_an_empty_file_counts_as_new(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    path.touch()
    assert stored_studies(f"sqlite:///{path}") == []
    with pytest.raises(StorageError, match="holds no studies"):
        SQLStorage(f"sqlite:///{path}", "study", create=False)
    assert contents(tmp_path) == {"study.db": b""}
    storage = SQLStorage(f"sqlite:///{path}", "study")
    storage.commit(0, lambda _: [{"n": 0}])
    assert storage.read() == [{"n": 0}]


def test_a_reader_makes_no_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    for opened in (
        lambda: SQLStorage(url, "study", create=False),
        lambda: open_storage(url, "study", create=False),
        lambda: stored_studies(url),
    ):
        with pytest.raises(NoSuchStorageError, match=r"no file .*study\.db"):
            opened()
    assert contents(tmp_path) == {}


def test_a_file_that_rests_is_checked_once(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    open_storage(f"sqlite:///{path}", "study").commit(0, lambda _: [{"event": "a", "text": "x" * 200_000}])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    asked: list[str] = []
    stale = path.stat().st_mtime - 3600
    os.utime(path, (stale, stale))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", _recording(sqlite3.connect, asked))
        assert schema_of(path)
        first = len(asked)
        for _ in range(3):
            assert schema_of(path)
        assert (first, len(asked)) == (1, 1)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + bytes(4096) + whole[len(whole) // 2 + 4096 :])
    with pytest.raises(StorageError, match=r"study\.db is damaged"):
        stored_studies(f"sqlite:///{path}")


def _recording(connect: Any, asked: list[str]) -> Any:
    """Connections that remember how often a file was checked."""

    def connected(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        connection.set_trace_callback(lambda text: asked.append(text) if "_check" in text else None)
        return connection

    return connected


def test_the_log_of_a_file_that_was_moved_away_is_not_removed(tmp_path: Path) -> None:
    log = tmp_path / "study.db-wal"
    log.write_bytes(b"the latest commits")
    with pytest.raises(StorageError, match=r"study\.db-wal"):
        SQLStorage(f"sqlite:///{tmp_path / 'study.db'}", "study")
    assert list(tmp_path.iterdir()) == [log]
    assert log.read_bytes() == b"the latest commits"
