"""What a history records: its designs, and the evaluations of each purchase and objective in the order of events."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.history.events import FailureKind
from flexibo.objectives import Objective, Purchase
from flexibo.space import Design, Designs, Space

MAX_ATTEMPTS = 3  # the most attempts at one evaluation, where the user gave no number of retries
LASTING = (FailureKind.TIMEOUT, FailureKind.VALUE)  # kinds of failures that another attempt does not change


class _Rows:
    """Code rows in one matrix that grows by quarters; what was read from it never changes."""

    __slots__ = ("_codes", "count")

    def __init__(self, columns: int) -> None:
        self._codes = np.empty((0, columns))
        self.count = 0

    def extend(self, rows: FloatArray) -> None:
        """Add rows (r, k)."""
        needed = self.count + len(rows)
        if needed > len(self._codes):
            grown = np.empty((max(needed, len(self._codes) * 5 // 4, 16), self._codes.shape[1]))
            grown[: self.count] = self._codes[: self.count]
            self._codes = grown
        self._codes[self.count : needed] = rows
        self.count = needed

    def all(self) -> FloatArray:
        """The rows so far (n, k)."""
        return self._codes[: self.count]


class Payments:
    """By evaluation, the numbers of the events with which it was charged: mostly one, so they are kept in an array."""

    __slots__ = ("_first", "_more")

    def __init__(self) -> None:
        self._first = array("q")  # by evaluation, -1 where nothing was charged
        self._more: dict[int, list[int]] = {}

    def add(self, number: int, event: int) -> None:
        """An event charged an evaluation."""
        self._first.extend([-1] * (number + 1 - len(self._first)))
        if self._first[number] < 0:
            self._first[number] = event
        else:
            self._more.setdefault(number, []).append(event)

    def of(self, number: int) -> list[int]:
        """The events that charged an evaluation, in order."""
        if not 0 <= number < len(self._first) or self._first[number] < 0:
            return []
        return [self._first[number], *self._more.get(number, ())]

    def begin_with(self, pairs: IntArray) -> None:
        """Begin with the evaluations and events (p, 2) that `pairs` returned."""
        numbers, firsts = np.unique(pairs[:, 0], return_index=True)
        first = np.full(int(numbers.max(initial=-1)) + 1, -1)
        first[numbers] = pairs[firsts, 1]
        self._first = array("q", first.tobytes())
        for number, event in np.delete(pairs, firsts, axis=0).tolist():
            self.add(number, event)

    def pairs(self) -> list[tuple[int, int]]:
        """Each evaluation that was charged with each event that charged it."""
        return [(number, event) for number in range(len(self._first)) for event in self.of(number)]


class DesignSeries:
    """Numbers, each with the code row of its design."""

    __slots__ = ("_arrays", "_numbers", "_rows", "_space")

    def __init__(self, space: Space) -> None:
        self._space = space
        self._rows = _Rows(len(space.names))
        self._numbers = array("d")
        self._arrays: tuple[Designs, FloatArray] | None = None

    def __len__(self) -> int:
        return len(self._numbers)

    def append(self, row: FloatArray, number: float) -> None:
        """Add a number for the design with this code row."""
        self.extend(row.reshape(1, -1), [number])

    def extend(self, rows: FloatArray, numbers: Iterable[float]) -> None:
        """Add a number for each design of these code rows (r, k)."""
        self._rows.extend(rows)
        self._numbers.extend(numbers)
        self._arrays = None

    def arrays(self) -> tuple[Designs, FloatArray]:
        """The designs (s) and their numbers (s,), read-only; computed once until the next `append`."""
        if self._arrays is None:
            numbers = np.array(self._numbers, dtype=float)
            numbers.flags.writeable = False
            self._arrays = self._space.from_codes(self._rows.all()), numbers
        return self._arrays


@dataclass(slots=True)
class PurchaseRecord:
    """The evaluations of one purchase by the keys of their designs: pending, failed, impossible, measured.

    Attributes:
        costs: What the measurements cost.
        spans: The steps from which and to which each of them went, one after the other; none without steps.
        failure_costs: What the attempts that failed cost.
        least_costs: What those that took too long had cost when they were ended.
        retries: How many further attempts follow a failure; None where its kind decides.
    """

    costs: DesignSeries
    failure_costs: DesignSeries
    least_costs: DesignSeries
    retries: int | None = None
    spans: array[int] = field(default_factory=partial(array, "q"))
    pending: Counter[int] = field(default_factory=Counter)
    failures: Counter[int] = field(default_factory=Counter)
    reasons: dict[int, set[str]] = field(default_factory=dict)  # of failures that are not a lost worker's
    given_up: set[int] = field(default_factory=set)
    impossible: set[int] = field(default_factory=set)
    measured: set[int] = field(default_factory=set)

    def fail(self, key: int, kind: FailureKind, reason: str, *, impossible: bool) -> None:
        """Count a failed attempt; it was the last one if another would probably end the same way."""
        self.failures[key] += 1
        is_again = reason in self.reasons.get(key, ())
        if kind is not FailureKind.LOST:
            self.reasons.setdefault(key, set()).add(reason)
        if self.retries is not None:
            is_last = self.failures[key] > self.retries
        else:
            is_last = kind in LASTING or is_again or self.failures[key] >= MAX_ATTEMPTS
        if impossible:
            self.impossible.add(key)
        elif is_last:
            self.given_up.add(key)

    def forgive(self) -> None:
        """Forget all failures but of what is impossible."""
        self.failures.clear()
        self.reasons.clear()
        self.given_up.clear()

    def failed(self) -> set[int]:
        """The keys that were never measured and failed; a lost worker is no such failure until it is given up."""
        return ({*self.reasons} | self.hopeless()) - self.measured

    def is_hopeless(self, key: int) -> bool:
        """Whether it failed too often, or cannot be measured at all."""
        return key in self.impossible or key in self.given_up

    def hopeless(self) -> set[int]:
        """The keys that failed too often, or cannot be measured at all."""
        return self.given_up | self.impossible

    def closed(self, *, remeasured: bool) -> set[int]:
        """The keys that must not be asked; measured ones are among them unless they may be `remeasured`."""
        keys = {key for key, number in self.pending.items() if number > 0} | self.hopeless()
        return keys if remeasured else keys | self.measured

    def end(self, key: int) -> None:
        """Count one pending evaluation less."""
        self.pending[key] -= 1
        if not self.pending[key]:
            del self.pending[key]  # or every question would go through every key ever asked


@dataclass(slots=True)
class ObjectiveRecord:
    """The losses of one objective; by key their number, the latest, and the first with the number of events so far.

    `bars` are the standard deviations that were told of the losses themselves, by their place.
    """

    losses: DesignSeries
    bars: dict[int, float] = field(default_factory=dict)
    counts: Counter[int] = field(default_factory=Counter)
    first: dict[int, tuple[int, float]] = field(default_factory=dict)
    latest: dict[int, float] = field(default_factory=dict)

    def add(self, key: int, row: FloatArray, loss: float, events: int, bar: float | None = None) -> None:
        """Add the loss of the design with this key and code row, known after the first `events` events."""
        if bar is not None:
            self.bars[len(self.losses)] = bar
        self.losses.append(row, loss)
        self.counts[key] += 1
        self.first.setdefault(key, (events, loss))
        self.latest[key] = loss


class Curves:
    """What is known of an objective with steps: losses in order, and by key and step; error bars by place."""

    __slots__ = ("_known", "bars", "losses", "steps")

    def __init__(self, space: Space) -> None:
        self.losses = DesignSeries(space)
        self.steps = array("q")  # of each loss
        self.bars: dict[int, float] = {}
        self._known: dict[int, dict[int, float]] = {}

    def add(self, key: int, row: FloatArray, step: int, loss: float, bar: float | None = None) -> None:
        """Add the loss at a step of the design with this key and code row, unless one is known."""
        known = self._known.setdefault(key, {})
        if step not in known:
            known[step] = loss
            self.steps.append(step)
            if bar is not None:
                self.bars[len(self.losses)] = bar
            self.losses.append(row, loss)

    def of(self, key: int) -> dict[int, float]:
        """The losses of a design by step."""
        return self._known.get(key, {})

    def reached(self) -> dict[int, int]:
        """The highest step by key."""
        return {key: max(losses) for key, losses in self._known.items()}


def told_variances(bars: Mapping[int, float], count: int) -> FloatArray | None:
    """The variances (count,) of losses with these standard deviations by place, 0 elsewhere; None if all are 0."""
    if not any(bars.values()):
        return None
    found = np.zeros(count)
    found[list(bars)] = np.square(list(bars.values()))
    return found


REMEMBERED = 4096  # about how many designs have their places cached


class SeenDesigns:
    """The designs that were asked about or added."""

    def __init__(self, space: Space, purchases: tuple[Purchase, ...]) -> None:
        self._space = space
        self._purchases = purchases
        self._rows = _Rows(len(space.names))
        self._places: dict[int, int] = {}  # by key
        self._designs = self._legal = space.from_codes(np.empty((0, len(space.names))))
        self._judged = 0  # how many of the designs are known to be legal or not
        # By options: the keys of the designs so far, as every event of an evaluation needs some of them.
        self._keys: dict[tuple[str, ...] | None, list[int]] = {}
        self._recent: dict[Design, int] = {}
        self._single = lru_cache(maxsize=256)(lambda design: space.known_designs([design]))

    def designs(self) -> Designs:
        """All designs, in the order of their first occurrence."""
        if len(self._designs) < self._rows.count:
            self._designs = self._space.from_codes(self._rows.all())
        return self._designs

    def legal(self) -> Designs:
        """The designs that are legal, in that order: a change of the study may have narrowed its space."""
        every = self.designs()
        if self._judged < len(every):
            new = every[self._judged :]
            new = new[self._space.legal(new)]
            self._legal, self._judged = self._legal + new, len(every)
        return self._legal

    def add(self, designs: Sequence[Design]) -> None:
        """Add at most `REMEMBERED` designs, as far as they are new; at once this takes less time than one by one."""
        found = self._space.known_designs(designs)
        if len(self._recent) + len(designs) > 2 * REMEMBERED:
            self._recent.clear()
        new: list[int] = []
        for i, (design, key) in enumerate(zip(designs, found.keys().tolist(), strict=True)):
            place = self._places.setdefault(key, self._rows.count + len(new))
            if place == self._rows.count + len(new):
                new.append(i)
            self._recent[design] = place
        self._rows.extend(found.codes[new])

    def begin_with(self, codes: FloatArray) -> None:
        """Begin with the designs of these code rows (m, k), which are distinct."""
        self._rows.extend(codes)
        self._places = {key: place for place, key in enumerate(self.designs().keys().tolist())}

    def places(self, designs: Designs) -> IntArray:
        """The places (m,) of designs that were seen."""
        return np.array([self._places[key] for key in designs.keys().tolist()], dtype=np.int64)

    def row(self, design: Design) -> FloatArray:
        """The code row of a design, which is added if it is new."""
        if design not in self._recent:
            self.add([design])
        found: FloatArray = self._rows.all()[self._recent[design]]
        return found

    def key(self, p: int, design: Design) -> int:
        """The key of a design for purchase p: equal where the design's outcome must be equal."""
        return self._key(self._purchases[p].options, design)

    def objective_key(self, objective: Objective, design: Design) -> int:
        """The key of a design for an objective: equal where its loss must be equal."""
        return self._key(objective.depends_on, design)

    def _key(self, options: tuple[str, ...] | None, design: Design) -> int:
        place = self._recent.get(design)
        if place is None:  # it may not have been seen
            return int(self._single(design).keys(options)[0])
        keys = self._keys.setdefault(options, [])
        if len(keys) < self._rows.count:
            new = self._space.from_codes(self._rows.all()[len(keys) :])
            keys.extend(new.keys(options).tolist())
        return keys[place]
