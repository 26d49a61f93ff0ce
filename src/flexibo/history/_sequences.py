"""The lists of a history, kept small: events that are read again when they are needed, and views of them."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeAlias, TypeVar, overload

from flexibo.history.events import Added, Asked, Evaluation, Event, Told
from flexibo.history.measurements import Charge, Measurement

Load: TypeAlias = Callable[[int, int], Sequence[Event]]
"""Returns the events from a first number up to another one, without that."""
BLOCK = 256  # the number of events that are read at once
MOST_BLOCKS = 64  # the most blocks that are kept

T_co = TypeVar("T_co", covariant=True)


class View(Sequence[T_co]):
    """A sequence whose items are made when they are needed; equal to any sequence with equal items."""

    __slots__ = ()

    @abstractmethod
    def _item(self, i: int) -> T_co:
        """The item at a place from 0."""

    @overload
    def __getitem__(self, i: int) -> T_co: ...
    @overload
    def __getitem__(self, i: slice) -> list[T_co]: ...
    def __getitem__(self, i: int | slice) -> T_co | list[T_co]:
        if isinstance(i, slice):
            return [self._item(place) for place in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        return self._item(i % len(self))

    def __iter__(self) -> Iterator[T_co]:
        return map(self._item, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # it grows, as a list does

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, islice(self, 3)))
        return f"<{len(self)} items: {shown}{', ...' if len(self) > 3 else ''}>"


class Events(View[Event]):
    """The events of a study; those before a snapshot are read a block at a time when they are needed."""

    __slots__ = ("_blocks", "_load", "_new", "_old")

    def __init__(self) -> None:
        self._old = 0
        self._load: Load | None = None
        self._new: list[Event] = []
        self._blocks: dict[int, Sequence[Event]] = {}

    def begin_with(self, old: int, load: Load) -> None:
        """Begin with this many events, which `load` returns when they are needed."""
        self._old, self._load = old, load

    def append(self, event: Event) -> None:
        """Add an event."""
        self._new.append(event)

    def in_memory(self) -> Sequence[Event]:
        """The events that need not be read again: all since the snapshot."""
        return tuple(self._new)

    def __len__(self) -> int:
        return self._old + len(self._new)

    def __iter__(self) -> Iterator[Event]:
        return chain(map(self._item, range(self._old)), self._new)

    def _item(self, i: int) -> Event:
        if i >= self._old:
            return self._new[i - self._old]
        return self._block(i // BLOCK)[i % BLOCK]

    def _block(self, number: int) -> Sequence[Event]:
        if number not in self._blocks:
            assert self._load is not None
            while len(self._blocks) >= MOST_BLOCKS:
                del self._blocks[next(iter(self._blocks))]
            start = number * BLOCK
            self._blocks[number] = self._load(start, min(start + BLOCK, self._old))
        return self._blocks[number]


class AskedEvaluations(View[Evaluation]):
    """The evaluations that were asked, by number."""

    __slots__ = ("_events", "at")

    def __init__(self, events: Events) -> None:
        self._events = events
        self.at = array("q")  # the numbers of their events

    def __len__(self) -> int:
        return len(self.at)

    def _item(self, i: int) -> Evaluation:
        event = self._events[self.at[i]]
        assert isinstance(event, Asked)
        return event.evaluation


class Measurements(View[Measurement]):
    """The answers and the added results, in order."""

    __slots__ = ("_asked", "_events", "at")

    def __init__(self, events: Events, asked: AskedEvaluations) -> None:
        self._events = events
        self._asked = asked
        self.at = array("q")  # the numbers of their events

    def __len__(self) -> int:
        return len(self.at)

    def _item(self, i: int) -> Measurement:
        event = self._events[self.at[i]]
        if isinstance(event, Told):
            return Measurement(self._asked[event.number].design, event.values, event.cost, event.number)
        assert isinstance(event, Added)
        return Measurement(event.design, event.values, None, None)


class Charges(View[Charge]):
    """What each event cost."""

    __slots__ = ("_names", "at", "costs", "objectives")

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self.at = array("q")  # the numbers of their events
        self.objectives = array("q")
        self.costs = array("d")

    def append(self, event: int, objective: int, cost: float) -> None:
        """Add the cost of an event for an objective."""
        self.at.append(event)
        self.objectives.append(objective)
        self.costs.append(cost)

    def __len__(self) -> int:
        return len(self.at)

    def _item(self, i: int) -> Charge:
        return Charge(self.at[i], self._names[self.objectives[i]], self.costs[i])
