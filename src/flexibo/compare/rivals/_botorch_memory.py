"""Memory: what a BoTorch rival was told, the models of it, and which designs they think best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from flexibo.compare.rivals._botorch_models import Columns, Fit, Readings, attempted, fit_to, quietly
from flexibo.compare.rivals.base import Setting
from flexibo.space import Design

T = TypeVar("T")
FRONT = 3
"""Tells the random numbers of a front from those of a question."""


class Memory:
    """Keeps readings, and fits models when they are wanted.

    Args:
        setting: What is known beforehand.
        columns: How designs become rows.
        build: Makes the model of one objective.

    Attributes:
        readings: What was told.
    """

    def __init__(self, setting: Setting, columns: Columns, build: Callable[..., Any]) -> None:
        self.readings = Readings(setting)
        self._setting = setting
        self._columns = columns
        self._build = build
        self._last: Fit | None = None

    def fit(self) -> Fit:
        """The models after the last tell."""
        if self._last is None or self._last.count != self.readings.count:
            self._last = fit_to(self._setting, self.readings, self._columns, self._build)
        return self._last

    def attempted(self, stream: int, think: Callable[[], T]) -> T | None:
        """What a thought leads to, in silence, with random numbers of its own; None if it fails again and again."""
        with quietly(self._setting.seed, stream, self.readings.count):
            return attempted(think, self._forget)

    def front(self) -> list[Design] | None:
        """The designs, of those measured in anything, whose posterior means no others dominate; None if not known."""
        if not self.readings.enough():
            return None
        designs = self.readings.all_designs()
        best = self.attempted(FRONT, lambda: self.fit().best_by_mean(self._columns.rows(designs)))
        return None if best is None else list(designs[best])

    def _forget(self) -> None:
        self._last = None
