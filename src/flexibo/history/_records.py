"""What a history records: its designs, and the evaluations of each purchase and objective in the order of events."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.history.events import FailureKind
from flexibo.objectives import Objective, Purchase
from flexibo.space import Design, Designs, Space

MAX_ATTEMPTS = 3  # the most attempts at one evaluation, where the user gave no number of retries
LASTING = (FailureKind.TIMEOUT, FailureKind.VALUE)  # kinds of failures that another attempt does not change


@dataclass(slots=True)
class DesignSeries:
    """Numbers, each with the code row of its design."""

    space: Space
    rows: list[FloatArray] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    _arrays: tuple[Designs, FloatArray] | None = field(default=None, init=False, repr=False)

    def append(self, row: FloatArray, number: float) -> None:
        """Add a number for the design with this code row."""
        self.rows.append(row)
        self.numbers.append(number)
        self._arrays = None

    def arrays(self) -> tuple[Designs, FloatArray]:
        """The designs (s) and their numbers (s,), read-only; computed once until the next `append`."""
        if self._arrays is None:
            codes = np.array(self.rows).reshape(len(self.rows), len(self.space.names))
            numbers = np.array(self.numbers, dtype=float)
            numbers.flags.writeable = False
            self._arrays = self.space.from_codes(codes), numbers
        return self._arrays


@dataclass(slots=True)
class PurchaseRecord:
    """The evaluations of one purchase by the keys of their designs: pending, failed, impossible, measured.

    Attributes:
        costs: What the measurements cost.
        failure_costs: What the attempts that failed cost.
        least_costs: What those that took too long had cost when they were ended.
        retries: How many further attempts follow a failure; None where its kind decides.
    """

    costs: DesignSeries
    failure_costs: DesignSeries
    least_costs: DesignSeries
    retries: int | None = None
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
    """The losses of one objective; by key their number, the latest, and the first with the number of events so far."""

    losses: DesignSeries
    counts: Counter[int] = field(default_factory=Counter)
    first: dict[int, tuple[int, float]] = field(default_factory=dict)
    latest: dict[int, float] = field(default_factory=dict)

    def add(self, key: int, row: FloatArray, loss: float, events: int) -> None:
        """Add the loss of the design with this key and code row, known after the first `events` events."""
        self.losses.append(row, loss)
        self.counts[key] += 1
        self.first.setdefault(key, (events, loss))
        self.latest[key] = loss


REMEMBERED = 256  # the number of designs whose codes are cached


class SeenDesigns:
    """The designs that were asked about or added."""

    def __init__(self, space: Space, purchases: tuple[Purchase, ...]) -> None:
        self._space = space
        self._purchases = purchases
        self._rows: dict[int, FloatArray] = {}
        self._designs = space.from_codes(np.empty((0, len(space.names))))
        self._keys: dict[tuple[int, Design], int] = {}
        # Every event of an evaluation needs the codes and keys of its design.
        self._single = lru_cache(maxsize=REMEMBERED)(lambda design: space.designs([design]))

    def designs(self) -> Designs:
        """All designs, in the order of their first occurrence."""
        if len(self._designs) < len(self._rows):
            rows = list(self._rows.values())
            self._designs = self._space.from_codes(np.array(rows).reshape(len(rows), len(self._space.names)))
        return self._designs

    def row(self, design: Design) -> FloatArray:
        """The code row of a design, which is added if it is new."""
        single = self._single(design)
        return self._rows.setdefault(int(single.keys()[0]), single.codes[0])

    def key(self, p: int, design: Design) -> int:
        """The key of a design for purchase p: equal where the design's outcome must be equal."""
        # Cached, because computing it calls the rule of the space.
        if (p, design) not in self._keys:
            self._keys[p, design] = int(self._single(design).keys(self._purchases[p].options)[0])
        return self._keys[p, design]

    def objective_key(self, objective: Objective, design: Design) -> int:
        """The key of a design for an objective: equal where its loss must be equal."""
        return int(self._single(design).keys(objective.depends_on)[0])
