"""Storage: the event log that a study is the replay of."""

from __future__ import annotations

from flexibo.errors import InvalidTypeError
from flexibo.storage.base import Storage
from flexibo.storage.memory import MemoryStorage

__all__ = ["MemoryStorage", "Storage", "open_storage"]


def open_storage(storage: str | Storage | None, study: str) -> Storage:
    """The storage that was given, or the one of this URL, or memory."""
    if storage is None:
        return MemoryStorage()
    if isinstance(storage, str):
        from flexibo.storage.sql import SQLStorage  # SQLAlchemy is only needed here, and takes a while to import

        return SQLStorage(storage, study)
    if not (hasattr(storage, "append") and hasattr(storage, "read")):
        raise InvalidTypeError(f"storage is {storage!r}; give a URL such as sqlite:///study.db.")
    return storage
