from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from flexibo._internal import files
from flexibo._internal.files import append_line, sync_folder, write_atomically


def test_lines_are_appended_in_order(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    for line in (b"one", b"", "zwölf".encode()):
        append_line(path, line)
    assert path.read_bytes() == "one\n\nzwölf\n".encode()


def test_a_line_after_an_incomplete_one_starts_on_its_own(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b"whole\nhal")
    append_line(path, b"next")
    append_line(path, b"last")
    assert path.read_bytes() == b"whole\nhal\nnext\nlast\n"


def test_a_line_is_on_the_disk_when_append_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, seen = tmp_path / "journal", []
    monkeypatch.setattr(files.os, "fsync", lambda descriptor: seen.append(path.read_bytes()))
    append_line(path, b"one")
    assert seen == [b"one\n"]


def test_a_file_is_replaced_and_no_draft_is_left(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


class FullDisk:
    """A file that takes one byte, and then has no room."""

    def __init__(self, path: Path, mode: str, error: BaseException) -> None:
        self.file, self.error = path.open(mode), error

    def __enter__(self) -> FullDisk:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, content: bytes) -> None:
        self.file.write(content[:1])
        raise self.error


@pytest.mark.parametrize("error", [OSError(28, "full"), KeyboardInterrupt()], ids=repr)
def test_a_write_that_ends_early_leaves_the_old_content_and_no_draft(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "table.csv"
    write_atomically(path, b"old")
    with pytest.raises(type(error)):
        write_atomically(path, b"new", open_file=lambda draft, mode: FullDisk(draft, mode, error))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_content_is_there_until_the_new_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, seen = tmp_path / "table.csv", []
    write_atomically(path, b"old")
    monkeypatch.setattr(files.os, "fsync", lambda descriptor: seen.append(path.read_bytes()))
    write_atomically(path, b"new")
    assert seen == [b"old", b"new"]  # the draft, then the folder that holds its new name


def test_a_synced_folder_is_closed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Any] = []

    def fail(descriptor: int) -> None:
        synced.append(descriptor)
        raise OSError(5, "broken")

    monkeypatch.setattr(files.os, "fsync", fail)
    with pytest.raises(OSError, match="broken"):
        sync_folder(tmp_path)
    with pytest.raises(OSError, match="descriptor"):
        os.fstat(synced[0])


def test_a_pipe_or_device_is_written_to_and_stays_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(path, b"new")
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert path.is_fifo()
    assert list(tmp_path.iterdir()) == [path]
