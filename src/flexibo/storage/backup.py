"""Copies of databases that are in use, as they were at one moment."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from flexibo.storage._schema import workers
from flexibo.storage._sqlite_inspection import file_uri, may_be_written, reading_options
from flexibo.storage._urls import shown_url
from flexibo.storage.base import Content, NoSuchStorageError, StorageError
from flexibo.storage.sql import PATIENCE, SQLStorage, StoredStudy, file_of, stored_studies

BACKUP = 0x464C42  # the user version in the header of a SQLite file that is a backup


def back_up(url: str, target: Path) -> list[StoredStudy]:
    """Copy a database to a new SQLite file, while others may write to it; returns the studies that the copy holds.

    A SQLite file is copied as it is at one moment. Of another database each study is, one after the other.
    """
    found = stored_studies(url)
    if not found:
        raise NoSuchStorageError("The storage holds no studies; check which one was given.")
    file = file_of(url)
    try:
        if file is not None:
            _copy_file(file, target)
        else:
            _copy_studies(url, found, target)
        _mark(target)
        _flush(target)
    except (sqlite3.Error, OSError) as error:
        raise StorageError(
            f"{shown_url(url)} could not be copied to {target.absolute().parent}: {error}. Nothing was changed."
        ) from None
    return stored_studies(f"sqlite:///{target.absolute()}")


def is_backup(path: Path) -> bool:
    """Whether a SQLite file was written by `back_up`, so that another one is meant where none is named."""
    try:
        with closing(sqlite3.connect(file_uri(path, reading_options(path)), uri=True)) as connection:
            return bool(connection.execute("PRAGMA user_version").fetchone() == (BACKUP,))
    except (sqlite3.Error, OSError):
        return False


def _mark(target: Path) -> None:
    """Note in the header of a file that it is a backup; whoever names it uses it like any other."""
    with closing(sqlite3.connect(target)) as copy:
        copy.execute(f"PRAGMA user_version={BACKUP}")
        copy.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it


def _copy_file(path: Path, target: Path) -> None:
    options = "mode=rw" if may_be_written(path) else reading_options(path)
    with (
        closing(sqlite3.connect(file_uri(path, options), uri=True, timeout=PATIENCE)) as source,
        closing(sqlite3.connect(target)) as copy,
    ):
        source.backup(copy)
        _forget_workers(copy)


def _forget_workers(copy: sqlite3.Connection) -> None:
    """Workers write to the original: what they hold is free to be asked in the copy."""
    named = "SELECT name FROM sqlite_master WHERE name = ?"
    if copy.execute(named, (workers.name,)).fetchone():
        copy.execute(f"DELETE FROM {workers.name}")
        copy.commit()


def _copy_studies(url: str, found: Sequence[StoredStudy], target: Path) -> None:
    for study in found:
        with (
            closing(SQLStorage(url, study.name, create=False)) as source,
            closing(SQLStorage(f"sqlite:///{target.absolute()}", study.name)) as copy,
        ):
            copy.commit(0, partial(_given, source.read()))


def _given(contents: Sequence[Content], _: object) -> Sequence[Content]:
    return contents


def _flush(target: Path) -> None:
    with open(target, "rb+") as file:
        os.fsync(file.fileno())
