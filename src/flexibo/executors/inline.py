"""Measures here, one evaluation at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from flexibo.executors.base import Measure, Outcome
from flexibo.executors.measure import measured
from flexibo.history.events import Evaluation
from flexibo.objectives import Objective


class InlineExecutor:
    """Calls the objective's function in this process."""

    def __init__(self, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._waiting: list[tuple[Evaluation, Objective, Measure]] = []

    def has_room(self, objective: Objective) -> bool:
        """Whether nothing waits to be measured."""
        return not self._waiting

    def is_busy(self) -> bool:
        """Whether something waits to be measured."""
        return bool(self._waiting)

    def submit(self, evaluation: Evaluation, objective: Objective, measure: Measure) -> None:
        """Queue one evaluation; `finished` measures it."""
        self._waiting.append((evaluation, objective, measure))

    def finished(self, wait: float | None = None) -> Iterable[Outcome]:
        """Measure what was submitted, however long it takes."""
        while self._waiting:
            evaluation, objective, measure = self._waiting.pop(0)
            yield measured(evaluation, objective, measure, clock=self._clock)

    def close(self) -> None:
        """Forget what was not measured."""
        self._waiting.clear()
