"""Reading: a value with its error bar."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from flexibo._internal.checks import whole_number
from flexibo.errors import InvalidValueError

LARGEST = 1e100
"""Greater values could overflow when they are squared or multiplied, and are refused."""

MEDIAN_FACTOR = math.sqrt(math.pi / 2)  # the deviation of a median over that of a mean, of many normal repeats


class Reading(float):
    """A value with its error bar, which a function may return, or a user tell, wherever a number is wanted.

    Attributes:
        deviation: The standard deviation of the value itself: of a mean or a median, not of the repeats behind it.
        repeats: The number of repeats that it sums up.

    >>> Reading(3.1, deviation=0.2, repeats=10) + 1
    4.1
    """

    __slots__ = ("deviation", "repeats")
    deviation: float
    repeats: int

    def __new__(cls, value: float, *, deviation: float, repeats: int = 1) -> Reading:
        """The value with its error bar."""
        reading = super().__new__(cls, value)
        if not (0 <= deviation <= LARGEST):
            raise InvalidValueError(f"The deviation of a reading is {deviation!r}; it must be a number, zero or more.")
        reading.deviation, reading.repeats = float(deviation), whole_number("repeats", repeats, least=1)
        return reading

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Reading, deviation=self.deviation, repeats=self.repeats), (float(self),)

    def __repr__(self) -> str:
        return f"Reading({float(self)!r}, deviation={self.deviation!r}, repeats={self.repeats!r})"

    @classmethod
    def of_median(cls, values: Sequence[float]) -> float:
        """The median of repeats with its error bar, as if they were normal; a single one as it is."""
        middle, count = statistics.median(values), len(values)
        if count < 2:
            return values[0]
        return cls(middle, deviation=MEDIAN_FACTOR * statistics.stdev(values) / math.sqrt(count), repeats=count)


def error_bars(values: Mapping[str, object]) -> dict[str, tuple[float, int]]:
    """The deviation and the repeats of the values that have them."""
    return {name: (one.deviation, one.repeats) for name, one in values.items() if isinstance(one, Reading)}


def with_error_bars(values: Mapping[str, float], bars: Mapping[str, tuple[float, int]]) -> dict[str, float]:
    """The values, with these deviations and repeats where they are given.

    >>> with_error_bars({"joules": 3.1, "ms": 20.0}, {"joules": (0.2, 10)})
    {'joules': Reading(3.1, deviation=0.2, repeats=10), 'ms': 20.0}
    """
    found = {name: Reading(values[name], deviation=one, repeats=repeats) for name, (one, repeats) in bars.items()}
    return {**values, **found}
