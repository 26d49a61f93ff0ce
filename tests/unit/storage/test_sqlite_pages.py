"""Rows of SQLite files, read without SQLite."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from flexibo.storage._sqlite_pages import logged_pages, page_size, readable_rows
from flexibo.storage.recovery import found_events

ROWS = [
    ("a", 0, "x" * 10, None),
    ("b", -5, "ü" * 3000, b"\xff\0"),
    ("c", 2**40, "y" * 100_000, 1),
    ("d", 127, "", -(2**62)),
    ("", 300, "z" * 4061, 40_000),
]


def filled(path: Path, *, page: int = 4096, mode: str = "delete") -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA page_size={page}")
    connection.execute(f"PRAGMA journal_mode={mode}")
    connection.execute("CREATE TABLE t (study TEXT, number INTEGER, content TEXT, other)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", ROWS)
    return connection


@pytest.mark.parametrize("page", [512, 4096, 65536])
def test_the_rows_are_those_that_sqlite_reads(tmp_path: Path, page: int) -> None:
    path = tmp_path / "t.db"
    filled(path, page=page).close()
    assert page_size(path.read_bytes()) == page
    assert set(ROWS) <= set(readable_rows(path))


def test_rows_that_are_only_in_the_log_are_read_and_old_versions_of_pages_are_not(tmp_path: Path) -> None:
    path, copy = tmp_path / "t.db", tmp_path / "copy.db"
    with closing(filled(path, mode="wal")) as connection:
        connection.execute("UPDATE t SET study = 'new' WHERE study = 'a'")
        shutil.copy(path, copy)
        shutil.copy(tmp_path / "t.db-wal", tmp_path / "copy.db-wal")
    found = set(readable_rows(copy))
    assert {*ROWS[1:], ("new", *ROWS[0][1:])} <= found
    assert ROWS[0] not in found


def test_rows_that_move_from_the_log_into_the_file_meanwhile_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"

    def read_and_overtaken(file: Path) -> bytes:
        data = read_bytes(file)
        if len(overtaken) < 2:
            connection.execute("PRAGMA wal_checkpoint(RESTART)")
            connection.execute("INSERT INTO t VALUES ('late', ?, '', NULL)", [len(overtaken)])
            overtaken.append(file)
        return data

    read_bytes, overtaken = Path.read_bytes, list[Path]()
    with closing(filled(path, mode="wal")) as connection:
        monkeypatch.setattr(Path, "read_bytes", read_and_overtaken)
        assert {*ROWS, ("late", 0, "", None), ("late", 1, "", None)} <= set(readable_rows(path))


def test_an_unfinished_transaction_and_what_is_left_of_an_earlier_log_are_ignored() -> None:
    header, salts, old = bytes(16), b"salt-one", b"salt-two"
    pages = [bytes([n]) * 512 for n in range(4)]

    def frame(number: int, size: int, salt: bytes, page: bytes) -> bytes:
        return number.to_bytes(4, "big") + size.to_bytes(4, "big") + salt + bytes(8) + page

    log = header + salts + bytes(8)
    log += frame(1, 0, salts, pages[0]) + frame(2, 2, salts, pages[1]) + frame(1, 0, salts, pages[2])
    assert logged_pages(log + frame(1, 2, old, pages[3]), 512) == {1: pages[0], 2: pages[1]}
    assert logged_pages(log[:20], 512) == {}


def test_a_damaged_page_or_header_costs_no_other_page(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with closing(filled(path)) as connection:
        connection.executemany("INSERT INTO t VALUES ('many', ?, ?, NULL)", [(n, "x" * 500) for n in range(100)])
    data = bytearray(path.read_bytes())
    data[:100] = bytes(100)
    data[-4096:] = b"\xff" * 4096
    path.write_bytes(data)
    assert sum(row[0] == "many" for row in readable_rows(path)) > 80


@pytest.mark.parametrize("data", [b"", b"SQLite format 3\0", b"\x0d" * 5000, bytes(10_000)])
def test_what_is_no_database_has_no_events(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "t.db").write_bytes(data)
    assert found_events(readable_rows(tmp_path / "t.db")) == {}
