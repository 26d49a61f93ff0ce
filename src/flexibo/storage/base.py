"""The contract of a storage: an append-only log of events that many processes share, and signs of life."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from flexibo.errors import FlexiBOError

Content: TypeAlias = dict[str, Any]
"""An event as a dictionary ready for JSON."""
Decide: TypeAlias = Callable[[list[Content]], Sequence[Mapping[str, Any]]]
"""Takes the events that were added meanwhile, and returns those to add after them."""


class StorageError(FlexiBOError):
    """The storage cannot be read or written."""


class NoSuchStorageError(StorageError):
    """There is no such file, database or study: who named it is mistaken, and the storage is not at fault."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign of life of one worker: a process that asks evaluations of a study.

    Attributes:
        beat: Grows with every sign. Whoever watches judges by its own clock how long it has not grown, so no two clocks
            need to agree.
        seconds: How long the worker has lived, by its own clock.
        lease: After so many seconds without a new sign the worker is taken for gone.
        about: Where it runs, for people, and for a look at its process by others on the same machine.
    """

    beat: int
    seconds: float
    lease: float
    about: Mapping[str, Any] = field(default_factory=dict)


class Storage(Protocol):
    """Keeps the events of one study, and who works on it."""

    def read(self, after: int = 0) -> list[Content]:
        """The events in order, without the first `after`."""
        ...

    def commit(self, after: int, decide: Decide) -> None:
        """Add events at the end, all or none; they are safe when this returns.

        Nobody else writes to the study between the call of `decide`, which gets the events beyond the first `after`,
        and the adding of what it returns. It must be quick and must not use the storage. It may be called again, with
        the events added since, when a database must be reached anew; what it raises is passed on, and nothing is added.
        """
        ...

    def sign(self, worker: str, sign: Sign | None) -> None:
        """Keep a worker's latest sign of life; None when it leaves."""
        ...

    def workers(self) -> dict[str, Sign]:
        """The latest sign of each worker that has not left."""
        ...
