"""The messages between a worker process and its parent, and their encoding: pickled, after their length."""

from __future__ import annotations

import pickle
import struct
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from flexibo.executors.base import Outcome
from flexibo.history.events import Evaluation

CHUNK = 1 << 18  # bytes that are read at a time
REMEMBERED = 16  # how many functions a worker process keeps; a function may hold much memory
LENGTH = struct.Struct(">Q")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WorkingContext:
    """Where functions run: the same in a worker process as in its parent."""

    path: tuple[str, ...]  # where Python looks for modules
    folder: str | None  # the working directory; None where it is gone


@dataclass(frozen=True, slots=True)
class ProcessTask:
    """To a worker process: measure this."""

    objective: str  # the objective that is asked for
    digest: str  # names the function
    function: bytes | None  # the function itself, pickled; None where the worker process has it already
    question: bytes  # the evaluation and the objective, pickled
    place: WorkingContext | None  # where to run it; None where nothing changed


@dataclass(frozen=True, slots=True)
class MeasuringBegan:
    """From a worker process: the measuring began, at this time of the machine's monotonic clock."""

    at: float


@dataclass(frozen=True, slots=True)
class WorkerAnswer:
    """From a worker process: an outcome, without the evaluation that the parent knows."""

    values: Mapping[str, float] | None
    cost: float
    reason: str
    timed: bool
    impossible: bool

    @classmethod
    def of(cls, outcome: Outcome) -> WorkerAnswer:
        return cls(outcome.values, outcome.cost, outcome.reason, outcome.timed, outcome.impossible)

    def outcome(self, evaluation: Evaluation) -> Outcome:
        return Outcome(evaluation, self.values, self.cost, self.reason, self.timed, self.impossible)


@dataclass(frozen=True, slots=True)
class Fault:
    """From a worker process: the machine is at fault rather than a design."""

    reason: str


Reply: TypeAlias = MeasuringBegan | WorkerAnswer | Fault


def encoded(message: ProcessTask | Reply) -> bytes:
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(content)) + content


class MessageReader:
    """Decodes messages from the pieces in which they arrive.

    >>> frames, sent = MessageReader(), encoded(MeasuringBegan(1.5)) + encoded(Fault("no meter"))
    >>> frames.feed(sent[:9]), frames.feed(sent[9:])
    ([], [MeasuringBegan(at=1.5), Fault(reason='no meter')])
    """

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, piece: bytes) -> list[Any]:
        self._bytes += piece
        messages = []
        while len(self._bytes) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(self._bytes)
            end = LENGTH.size + length
            if len(self._bytes) < end:
                break
            messages.append(pickle.loads(self._bytes[LENGTH.size : end]))
            del self._bytes[:end]
        return messages


class Recent(Generic[T]):
    """The things used last, by name.

    A worker process keeps its functions in one, and its parent keeps another: as both see the same names in the same
    order, the parent knows what the worker process has without asking.

    >>> recent = Recent(2)
    >>> for name in "aba":
    ...     recent.use(name, recent.get(name) or name.upper())
    >>> recent.use("c", "C")
    >>> recent.get("a"), recent.get("b")
    ('A', None)
    """

    def __init__(self, limit: int = REMEMBERED) -> None:
        self._limit = limit
        self._things: OrderedDict[str, T] = OrderedDict()

    def get(self, name: str) -> T | None:
        return self._things.get(name)

    def use(self, name: str, thing: T) -> None:
        """Keep the thing as the one used last, and forget the one that has not been used for longest."""
        self._things[name] = thing
        self._things.move_to_end(name)
        if len(self._things) > self._limit:
            self._things.popitem(last=False)
