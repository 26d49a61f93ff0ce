"""Finding a stored study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.storage import NoSuchStorageError, Storage, existing_storage, open_storage, shown_url
from flexibo.storage.base import first_event, place_of
from flexibo.study.event_checks import check_first


def stored_study(storage: str | Storage | None, name: str | None) -> tuple[Storage, str, Mapping[str, Any]]:
    """A stored study, the only one if no name is given: its storage, its name and what it was created with."""
    if storage is None:
        raise InvalidTypeError("The storage is None; give a URL such as sqlite:///study.db.")
    if isinstance(storage, str):
        storage = existing_storage(storage, partial(_chosen, storage, name))
        name = storage.study
    else:
        storage = open_storage(storage, name or "study", create=False)
    begun = first_event(storage)
    if begun is None:
        raise NoSuchStorageError(f"The storage holds no study {name!r}; start one with Study(..., storage=...).")
    name = name or "study"
    check_first(begun, name, place_of(storage))
    return storage, name, begun["settings"]


def _chosen(url: str, name: str | None, names: Sequence[str]) -> str:
    """The name of the wanted study among the names of all in a database."""
    shown = shown_url(url)
    if not names:
        raise NoSuchStorageError(f"{shown} holds no studies; start one with Study(..., storage=...).")
    if name is None and len(names) == 1:
        return names[0]
    if name is None:
        raise InvalidValueError(f"{shown} holds several studies; name one of {', '.join(map(repr, names))}.")
    if name not in names:
        raise unknown_name("study", name, names)
    return name
