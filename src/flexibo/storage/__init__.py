"""Storage: the event log that a study is the replay of.

It imports nothing but errors and _internal. What starts with an underscore is private.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from flexibo.storage._urls import check_url, rescue_advice, shown_url, sqlite_file
from flexibo.storage.base import LogReplacedError, MemoryStorage, NoSuchStorageError, Sign, Storage, StorageError

if TYPE_CHECKING:
    from flexibo.storage.sql import SQLStorage, StoredStudy

__all__ = [
    "LogReplacedError",
    "MemoryStorage",
    "NoSuchStorageError",
    "Sign",
    "Storage",
    "StorageError",
    "existing_storage",
    "network_type",
    "open_storage",
    "rescue_advice",
    "shown_url",
    "sqlite_file",
    "stored_studies",
]


def open_storage(storage: str | Storage | None, study: str, *, create: bool = True) -> Storage:
    """The storage that was given, or the one of this URL, or memory.

    Args:
        storage: A URL such as ``sqlite:///study.db``, or an open storage, or None.
        study: The name of the study.
        create: Create a missing database; otherwise it is an error, and opening changes nothing.
    """
    if storage is None:
        return MemoryStorage()
    if isinstance(storage, str):
        from flexibo.storage.sql import SQLStorage  # SQLAlchemy is only needed here, and takes a while to import

        return SQLStorage(storage, study, create=create)
    if not (hasattr(storage, "commit") and hasattr(storage, "read")):
        check_url(storage)
    return storage


def existing_storage(url: str, choose: Callable[[Sequence[str]], str]) -> SQLStorage:
    """The storage of a study in a database that exists: that which `choose` returns, given the names of all."""
    from flexibo.storage import sql

    return sql.existing_storage(url, choose)


def network_type(url: str) -> str | None:
    """The type of the network file system that holds a SQLite file; None if it is local or no file."""
    from flexibo.storage import sql
    from flexibo.storage._file_systems import network_file_system

    path = sql.file_of(url)
    return None if path is None else network_file_system(path)


def stored_studies(url: str, *, patience: float | None = None) -> list[StoredStudy]:
    """The name and the number of events of each study in a database; changes nothing.

    Args:
        url: A database URL such as ``sqlite:///study.db``.
        patience: Seconds to wait for a database that is busy; None is the default.
    """
    from flexibo.storage import sql

    return sql.stored_studies(url, patience=sql.PATIENCE if patience is None else patience)
