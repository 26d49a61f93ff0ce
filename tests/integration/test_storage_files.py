"""SQLite files that others use, on a full or read-only disk, or without permissions: nothing is changed."""

from __future__ import annotations

import errno
import gc
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.unit.storage.files import contents

from flexibo.storage import StorageError
from flexibo.storage.sql import SQLStorage


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
