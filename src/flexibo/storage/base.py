"""The contract of a storage, a log of events and signs of life that many processes share, and one in memory."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from flexibo.errors import FlexiBOError
from flexibo.storage._urls import rescue_advice

Content: TypeAlias = dict[str, Any]  # an event as a dictionary ready for JSON
Decide: TypeAlias = Callable[[list[Content]], Sequence[Mapping[str, Any]]]
"""Takes the events that were added meanwhile, and returns those to add after them."""


class StorageError(FlexiBOError):
    """The storage cannot be read or written."""


class NoSuchStorageError(StorageError):
    """There is no such file, database or study: the name is wrong, not the storage."""


class NewerSchemaError(StorageError):
    """The storage was written by a newer version of flexibo."""


class DamagedStudyError(StorageError):
    """Something that is stored cannot be read, or does not agree with its checksum.

    Args:
        damage: A sentence about what is wrong.
        where: The file, or the URL without its secrets, as it can be given to commands; empty if it is not known.
    """

    def __init__(self, damage: str, where: str) -> None:
        super().__init__(damage, where)
        self.damage = damage
        self.where = where

    def __str__(self) -> str:
        return f"{self.damage} {rescue_advice(self.where)}"


class LogReplacedError(StorageError):
    """The storage no longer holds the events that were read from it: trying again does not help."""


@dataclass(frozen=True, slots=True)
class Sign:
    """The heartbeat of one worker: a process that asks evaluations of a study.

    Attributes:
        beat: Grows with every heartbeat. Observers measure on their own clocks how long it has not grown, so no two
            clocks need to agree.
        seconds: How long the worker has lived, by its own clock.
        lease: After this many seconds without a new beat the worker is considered gone.
        about: Where it runs, for people, and for other processes on the same machine to look it up.
    """

    beat: int
    seconds: float
    lease: float
    about: Mapping[str, Any] = field(default_factory=dict)


class Storage(Protocol):
    """Keeps the events of one study, and the heartbeats of its workers.

    An open storage is one growing log. If events that were read from it are lost or replaced, every later use is a
    `LogReplacedError`.
    """

    def read(self, after: int = 0) -> list[Content]:
        """The events in order, without the first `after`."""

    def commit(self, after: int, decide: Decide) -> None:
        """Append events, all or none; they are durable when this returns.

        No other process writes to the study between the call of `decide`, which gets the events after the first
        `after`, and the appending of what it returns. It must be fast and must not use the storage. It may be called
        again, with the events added since, after a reconnect; if it raises, nothing is added.
        """

    def sign(self, worker: str, sign: Sign | None) -> None:
        """Store a worker's latest heartbeat; None when it signs off."""

    def workers(self) -> dict[str, Sign]:
        """The latest heartbeat of each worker that has not signed off."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was computed from the first `events` events of a study: derived data, never needed."""

    events: int
    content: bytes


@runtime_checkable
class SnapshotStorage(Storage, Protocol):
    """A storage that also keeps snapshots, and that can read some of its events."""

    def between(self, start: int, stop: int) -> list[Content]:
        """The events from number `start` up to `stop`, without that."""

    def snapshot(self, kind: str) -> Snapshot | None:
        """The snapshot of this kind, if its events are the first ones of the stored log, and it is undamaged."""

    def keep_snapshot(self, kind: str, snapshot: Snapshot) -> None:
        """Replace the snapshot of this kind, unless one of more events is there."""


def first_event(storage: Storage) -> Content | None:
    """The event that a study begins with; None if there is no study."""
    found = storage.between(0, 1) if isinstance(storage, SnapshotStorage) else storage.read()
    return found[0] if found else None


def place_of(storage: Storage) -> str:
    """Where a storage is, as it can be given to commands; empty if it has no place."""
    return str(getattr(storage, "place", ""))


class MemoryStorage:
    """Events that last as long as the process. Its threads may share it."""

    def __init__(self) -> None:
        self._events: list[Content] = []
        self._workers: dict[str, Sign] = {}
        self._lock = threading.RLock()

    def read(self, after: int = 0) -> list[Content]:
        """The events in order, without the first `after`."""
        with self._lock:
            return [dict(event) for event in self._events[after:]]

    def commit(self, after: int, decide: Decide) -> None:
        """Append what `decide` returns for the events after the first `after`."""
        with self._lock:
            self._events += [dict(event) for event in decide(self.read(after))]

    def sign(self, worker: str, sign: Sign | None) -> None:
        """Store a worker's latest heartbeat; None when it signs off."""
        with self._lock:
            self._workers.pop(worker, None)
            if sign is not None:
                self._workers[worker] = sign

    def workers(self) -> dict[str, Sign]:
        """The latest heartbeat of each worker that has not signed off."""
        with self._lock:
            return dict(self._workers)


def parsed_object(text: object) -> Content | None:
    """A dictionary that was stored as JSON; None if that is damaged."""
    try:
        found = json.loads(text)  # type: ignore[arg-type]  # what is no text is damaged, too
    except (ValueError, TypeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
