"""SQLite files that are not ours, damaged, out of reach, moved, on a full disk: one sentence, nothing is touched."""

from __future__ import annotations

import errno
import gc
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from flexibo.errors import FlexiBOError
from flexibo.storage import NoSuchStorageError, Sign, StorageError, open_storage
from flexibo.storage.sql import SQLStorage, StoredStudy, stored_studies

FROZEN = Path(__file__).parents[1] / "assets" / "study-schema-1.db"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def refused(path: Path) -> str:
    """The one sentence with which a file is refused, however it is opened, without a change to it or beside it."""
    before = contents(path.parent) if path.parent.is_dir() else {}
    said = set()
    for opened in (
        lambda: SQLStorage(f"sqlite:///{path}", "study").read(),
        lambda: SQLStorage(f"sqlite:///{path}", "study", create=False).read(),
        lambda: stored_studies(f"sqlite:///{path}"),
    ):
        with pytest.raises(StorageError) as caught:
            opened()
        said.add(str(caught.value))
    assert (contents(path.parent) if path.parent.is_dir() else {}) == before
    assert all(sentence.startswith(str(path)) and sentence.endswith(".") and "\n" not in sentence for sentence in said)
    return said.pop()


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


def test_a_database_that_another_program_has_open_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    code = f"""
import sqlite3
connection = sqlite3.connect({str(path)!r})
connection.execute("PRAGMA journal_mode=wal")
connection.execute("CREATE TABLE books (title)")
print("open", flush=True)
input()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdout.readline()
        before = (path.read_bytes(), path.with_name("books.db-wal").read_bytes())
        with pytest.raises(StorageError, match=r"books\.db .*\(its tables: books\)"):
            SQLStorage(f"sqlite:///{path}", "study")
        assert (path.read_bytes(), path.with_name("books.db-wal").read_bytes()) == before
        other.communicate(b"\n")
    assert list(contents(tmp_path)) == ["books.db"]


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


def test_an_event_that_is_missing_or_no_json_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    for change, said in (
        ("DELETE FROM flexibo_events WHERE number = 3", "Event 3 of study 'study' .*missing"),
        ("UPDATE flexibo_events SET content = '{\"n\": ' WHERE number = 2", "Event 2 of study 'study' .*read"),
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


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    shutil.copy(FROZEN, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE flexibo SET schema = 99")
    assert re.search(r"schema 99,.* 2\b", refused(path))


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


def test_a_closed_study_is_one_file(tmp_path: Path) -> None:
    storage = SQLStorage(f"sqlite:///{tmp_path / 'study.db'}", "study")
    storage.commit(0, lambda _: [{"n": 0}])
    thread = threading.Thread(target=storage.read)
    thread.start()
    thread.join()
    storage.close()
    assert list(contents(tmp_path)) == ["study.db"]
    assert storage.read() == [{"n": 0}]  # and is opened when it is needed
    del storage
    assert list(contents(tmp_path)) == ["study.db"]
    assert stored_studies(f"sqlite:///{tmp_path / 'study.db'}") == [StoredStudy("study", 1)]
    assert list(contents(tmp_path)) == ["study.db"]


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


def test_a_commit_reaches_the_disk(tmp_path: Path) -> None:
    storage = SQLStorage(f"sqlite:///{tmp_path / 'study.db'}", "study")
    seen: list[Any] = []

    def decide(_: list[Any]) -> list[dict[str, Any]]:
        connection = storage._session._connections._mine.held.connection
        seen.extend(connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous"))
        return []

    storage.commit(0, decide)
    assert seen == ["wal", 2]  # 2 is FULL


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted: {mounted.stderr.decode().strip()}")
    yield folder
    gc.collect()  # an error that was looked at keeps its storage, and so the file, open
    subprocess.run(["umount", "--lazy", folder], check=True)


def fill(path: Path) -> None:
    """Write a file until the disk is full."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)


def add(storage: SQLStorage, n: int) -> None:
    storage.commit(n, lambda _: [{"n": n, "text": "x" * 2000}])


def test_a_full_disk_is_reported_the_file_stays_whole_and_it_goes_on_when_there_is_room(small_disk: Path) -> None:
    path, filler = small_disk / "study.db", small_disk / "filler"
    storage = SQLStorage(f"sqlite:///{path}", "study")
    kept = 0
    for _ in range(3):
        fill(filler)
        try:
            while kept < 1000:
                add(storage, kept)
                kept += 1
        except StorageError as error:
            said = str(error)
        assert re.search(rf"^{re.escape(str(path))} .*disk is full.*\. Nothing was changed\.$", said), said
        assert [event["n"] for event in storage.read()] == list(range(kept))
        filler.unlink()
        add(storage, kept)
        kept += 1
    assert [event["n"] for event in storage.read()] == list(range(kept))
    del storage
    assert [event["n"] for event in SQLStorage(f"sqlite:///{path}", "study").read()] == list(range(kept))


def test_a_new_study_on_a_full_disk_is_one_sentence(small_disk: Path) -> None:
    fill(small_disk / "filler")
    with pytest.raises(StorageError, match=r"disk is full.*\. Nothing was changed\.$"):
        SQLStorage(f"sqlite:///{small_disk / 'study.db'}", "study")
    (small_disk / "filler").unlink()
    SQLStorage(f"sqlite:///{small_disk / 'study.db'}", "study").commit(0, lambda _: [{"n": 0}])


def test_a_read_only_disk_can_be_read_and_is_refused_for_writing(small_disk: Path) -> None:
    path = small_disk / "study.db"
    storage = SQLStorage(f"sqlite:///{path}", "study")
    storage.commit(0, lambda _: [{"n": 0}])
    del storage
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(StorageError, match=r"study\.db .*written, .*folder"):
        SQLStorage(f"sqlite:///{path}", "study")
    with pytest.raises(StorageError, match=rf"new\.db .*folder {re.escape(str(small_disk))} .*written"):
        SQLStorage(f"sqlite:///{small_disk / 'new.db'}", "study")
    reader = SQLStorage(f"sqlite:///{path}", "study", create=False)
    assert reader.read() == [{"n": 0}]
    assert reader.workers() == {}
    with pytest.raises(StorageError, match=r"study\.db .*folder .*written"):
        reader.commit(1, lambda _: [{"n": 1}])
    assert list(contents(small_disk)) == ["study.db"]


LIMITED = """
import resource, sys
from flexibo.storage import StorageError
from flexibo.storage.sql import SQLStorage
storage = SQLStorage(sys.argv[1], "study")
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
n = 0
try:
    while n < 1000:
        storage.commit(n, lambda _: [{"n": n, "text": "x" * 2000}])
        n += 1
except StorageError as error:
    print(error)
assert [event["n"] for event in storage.read()] == list(range(n))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
storage.commit(n, lambda _: [{"n": n}])
assert [event["n"] for event in storage.read()] == list(range(n + 1))
"""


def test_a_file_that_may_not_grow_is_reported_and_stays_whole(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    done = subprocess.run([sys.executable, "-c", LIMITED, url], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"study\.db .*disk .*full.*\. Nothing was changed\.$", done.stdout.rstrip()), done.stdout


AS_NOBODY = """
import os, sys
from flexibo.storage import StorageError
from flexibo.storage.sql import SQLStorage, stored_studies
import sqlalchemy.dialects.sqlite
if os.geteuid() == 0:
    os.setuid(65534)
for path in sys.argv[1:]:
    for create in (True, False):
        try:
            print(len(SQLStorage(f"sqlite:///{path}", "study", create=create).read()))
        except StorageError as error:
            print(type(error).__name__, str(error).replace(path, "FILE"))
"""


def test_permissions_that_are_missing_are_one_sentence(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for place in ("open/unreadable.db", "open/unwritable.db", "closed/study.db"):
            (folder / place).parent.mkdir(exist_ok=True)
            storage = SQLStorage(f"sqlite:///{folder / place}", "study")
            storage.commit(0, lambda _: [{"n": 0}])
            del storage
        (folder / "open" / "unreadable.db").chmod(0o000)
        (folder / "open" / "unwritable.db").chmod(0o444)
        (folder / "open").chmod(0o555)
        folder.chmod(0o755)
        (folder / "closed").chmod(0o000)
        names = ["open/unreadable.db", "open/unwritable.db", "open/new.db", "closed/study.db"]
        command = [sys.executable, "-c", AS_NOBODY, *(str(folder / name) for name in names)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd="/")
        for path in (folder / "open", folder / "closed"):
            path.chmod(0o755)
    assert (done.returncode, done.stderr) == (0, "")
    expected = [
        "StorageError FILE .* read; .*permissions",
        "StorageError FILE .* read; .*permissions",
        "StorageError FILE .* written, .*folder; .*permissions",
        "1",
        "StorageError FILE .* folder /open .* written",
        "NoSuchStorageError .*no file FILE;",
        f"StorageError FILE .*: {os.strerror(errno.EACCES)};",
        f"StorageError FILE .*: {os.strerror(errno.EACCES)};",
    ]
    for facts, line in zip(expected, done.stdout.replace(name, "").splitlines(), strict=True):
        assert re.match(facts, line), line


@pytest.mark.parametrize(
    "url",
    [
        "study.db",
        "",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///study.db?mode=ro",
        "sqlite+aiosqlite:///study.db",
        "mysql://me:secret@host/db",
        "nodatabase://me:secret@host/db",
        "postgresql://me:secret@host:port/db",
        "me:secret@host/db",
        "host=h password=secret",
        "sqlite+pysqlcipher://:secret@/study.db",
    ],
)
def test_a_url_that_cannot_be_used_is_one_sentence_with_an_example_and_no_password(url: str) -> None:
    with pytest.raises(FlexiBOError, match=r"sqlite:///study\.db") as caught:
        open_storage(url, "study")
    assert isinstance(caught.value, ValueError)
    assert "secret" not in repr(caught.value)
    assert not os.path.exists("study.db")


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
