"""A SQLite file before it is used: whether it is ours and undamaged, and its version; nothing is changed."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from flexibo.storage._file_watch import log_of
from flexibo.storage.base import DamagedStudyError, NoSuchStorageError, StorageError

MAGIC = b"SQLite format 3\0"
SMALLEST = 512  # bytes of the smallest page: SQLite would overwrite a shorter file like a new one
LOOKS = 10
OURS = {"flexibo", "flexibo_events"}
_SETTLED = 2.0  # seconds after a change in which another change may leave the time stamp of the file as it is
_whole: dict[Path, tuple[int, ...]] = {}  # the files found undamaged and their state then: a check takes seconds


def file_uri(path: Path, options: str) -> str:
    return f"file:{quote(str(path.absolute()))}?{options}"


def schema_of(path: Path) -> int | None:
    """The version of the tables in a file, None if it is new or empty; files of other programs are refused."""
    for _ in range(LOOKS - 1):
        before = _state(path)
        try:
            return _schema_of(path)
        except StorageError:
            # A concurrent write may have changed the file during the check.
            if _state(path) == before:
                raise
    return _schema_of(path)


def check_place(path: Path, *, create: bool) -> None:
    """Refuse a path where no file can exist or be created."""
    folder = path.absolute().parent
    if path.is_dir():
        raise NoSuchStorageError(f"{path} is a folder; name a file in it for the storage, such as {path / 'study.db'}.")
    if path.exists() and not path.is_file():
        raise StorageError(f"{path} is a pipe or a device; name another for the storage.")
    if not folder.is_dir():
        raise NoSuchStorageError(f"{path} cannot be made: there is no folder {folder}; make it first.")
    if not path.exists():
        if not create:
            raise NoSuchStorageError(f"There is no file {path}; check the path of the storage, or start a study there.")
        if log_of(path).exists():  # SQLite would remove it
            raise StorageError(
                f"There is no file {path}, but {path.name}-wal, which holds its latest commits; put {path.name} back, "
                "or move the other away, too."
            )
        if not os.access(folder, os.W_OK | os.X_OK):
            raise StorageError(f"{path} cannot be made: the folder {folder} may not be written; choose another one.")
        return
    if not os.access(path, os.R_OK):
        raise StorageError(f"{path} may not be read; change its permissions, or choose another file.")
    if create and not may_be_written(path):
        raise StorageError(
            f"{path} may not be written, it or its folder; change the permissions, or copy it to where you may write."
        )


def may_be_written(path: Path) -> bool:
    """Whether the file and its folder, where SQLite keeps its log, are writable."""
    return os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK | os.X_OK)


def reading_options(path: Path) -> str:
    """Options to open a file read-only: without a log nothing writes to it, and no lock or log is needed."""
    log = log_of(path)
    return "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"


def _schema_of(path: Path) -> int | None:
    stat = path.stat()
    if stat.st_size == 0:
        return None
    if stat.st_size < SMALLEST:
        raise _too_short(path)
    # Only SQLite opens the file: opening and closing it here would drop the locks of this process's connections.
    try:
        with closing(sqlite3.connect(file_uri(path, reading_options(path)), uri=True)) as connection:
            return _looked_at(connection, path, stat)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if str(error) == "file is not a database":
            raise _no_database(path) from None
        raise _damaged(path, str(error)) from None


def _looked_at(connection: sqlite3.Connection, path: Path, stat: os.stat_result) -> int | None:
    """The version of the tables of an open file; `stat` is from before it was opened."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    (page,) = connection.execute("PRAGMA page_size").fetchone()
    if path.stat().st_size % page and not _can_be_completed(path):
        raise _damaged(path, "its end is cut off")
    _check_whole(connection, path, stat)
    if not tables:
        return None
    if not tables >= OURS:
        raise StorageError(
            f"{path} is a database of another program (its tables: {_listed(sorted(tables))}); nothing was changed, "
            "choose another file for the storage."
        )
    row = connection.execute("SELECT schema FROM flexibo").fetchone()
    if row is None:
        return 1  # version 1 wrote its number after its tables
    if not isinstance(row[0], int) or row[0] < 1:
        raise _damaged(path, f"its schema version is {row[0]!r}")
    return row[0]


def _check_whole(connection: sqlite3.Connection, path: Path, stat: os.stat_result) -> None:
    """Refuse a damaged file; one that was found undamaged and has not changed since is not checked again.

    The log beside it has its own checksums. A quick check is not enough: with only an index damaged, events would be
    missing.
    """
    now = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if now == _whole.get(path.absolute()) and abs(time.time() - stat.st_mtime) > _SETTLED:
        return
    found = [row[0] for row in connection.execute("PRAGMA integrity_check(1)")]
    if found != ["ok"]:
        raise _damaged(path, str(found[0]).replace("*** in database main ***", "").strip())
    _whole[path.absolute()] = now


def _can_be_completed(path: Path) -> bool:
    """Whether SQLite will complete or undo what a process was writing when it died, from a file beside it.

    While the log is copied to the file, half a page may be there, and the whole one in the log. While a new file is
    made, the journal says that it was empty before.
    """
    beside = (log_of(path), path.with_name(f"{path.name}-journal"))
    return any(other.exists() and other.stat().st_size for other in beside)


def _listed(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _too_short(path: Path) -> StorageError:
    """The error for a file that is too short for a database, so no connection uses it."""
    start = path.read_bytes()
    return _damaged(path, f"it has only {len(start)} bytes") if MAGIC.startswith(start[:16]) else _no_database(path)


def _no_database(path: Path) -> StorageError:
    return DamagedStudyError(
        f"{path} is not a SQLite database, or its beginning is damaged; nothing was changed. If it never held a study, "
        "choose another file for the storage.",
        str(path),
    )


def _damaged(path: Path, why: str) -> DamagedStudyError:
    return DamagedStudyError(f"{path} is damaged and cannot be used ({why}); nothing was changed.", str(path))


def _state(path: Path) -> object:
    """Changes with every write to the file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns, log_of(path).exists()
