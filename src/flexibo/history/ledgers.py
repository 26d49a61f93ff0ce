"""What a history keeps of each purchase and of each objective, in the order of events."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.space import Designs, Space

MAX_ATTEMPTS = 3
"""An evaluation that failed is asked again at most twice."""


@dataclass(slots=True)
class Series:
    """Numbers and the code rows of the designs that they belong to.

    Attributes:
        space: The space of the designs.
        rows: The code rows.
        numbers: The numbers.
    """

    space: Space
    rows: list[FloatArray] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    _arrays: tuple[Designs, FloatArray] | None = field(default=None, init=False, repr=False)

    def append(self, row: FloatArray, number: float) -> None:
        """Add a number of the design with this code row."""
        self.rows.append(row)
        self.numbers.append(number)
        self._arrays = None

    def arrays(self) -> tuple[Designs, FloatArray]:
        """The designs (s) and their numbers (s,), which cannot be written to; made once for each state."""
        if self._arrays is None:
            codes = np.array(self.rows).reshape(len(self.rows), len(self.space.names))
            numbers = np.array(self.numbers, dtype=float)
            numbers.flags.writeable = False
            self._arrays = self.space.from_codes(codes), numbers
        return self._arrays


@dataclass(slots=True)
class Ledger:
    """What became of one purchase, by the keys of designs.

    Attributes:
        costs: What was paid, and for which designs.
        pending: How many evaluations are being measured.
        failures: How many attempts failed.
        impossible: What cannot be measured at all.
        measured: What was measured.
    """

    costs: Series
    pending: Counter[int] = field(default_factory=Counter)
    failures: Counter[int] = field(default_factory=Counter)
    impossible: set[int] = field(default_factory=set)
    measured: set[int] = field(default_factory=set)

    def is_hopeless(self, key: int) -> bool:
        """Whether it failed too often, or cannot be measured at all."""
        return key in self.impossible or self.failures[key] >= MAX_ATTEMPTS

    def hopeless(self) -> set[int]:
        """The keys that failed too often, or cannot be measured at all."""
        return {key for key, attempts in self.failures.items() if attempts >= MAX_ATTEMPTS} | self.impossible

    def closed(self, *, remeasured: bool) -> set[int]:
        """The keys that must not be asked; what was measured is among them unless it is `remeasured`."""
        keys = {key for key, number in self.pending.items() if number > 0} | self.hopeless()
        return keys if remeasured else keys | self.measured

    def end(self, key: int) -> None:
        """One of its evaluations is no longer pending."""
        self.pending[key] -= 1
        if not self.pending[key]:
            del self.pending[key]  # or every key ever asked would be looked at with each question


@dataclass(slots=True)
class Losses:
    """The measurements of one objective.

    Attributes:
        series: The losses, and of which designs.
        first: By key: after how many events it was first measured, and the loss then.
        latest: The latest loss by key.
    """

    series: Series
    first: dict[int, tuple[int, float]] = field(default_factory=dict)
    latest: dict[int, float] = field(default_factory=dict)

    def learn(self, key: int, row: FloatArray, loss: float, event: int) -> None:
        """Add the loss of the design with this key and code row, which is known after so many events."""
        self.series.append(row, loss)
        self.first.setdefault(key, (event, loss))
        self.latest[key] = loss
