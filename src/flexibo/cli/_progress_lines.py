"""Progress as plain lines, for output that is no terminal: a file, a pipe, the log of a service."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from flexibo._internal.numbers import format_spent
from flexibo.cli._logs import report
from flexibo.cli._text import squeezed
from flexibo.executors import Executor, Measure, Outcome
from flexibo.history.events import Evaluation
from flexibo.objectives import Objective
from flexibo.study import Study

SECONDS = 2.0  # the least time between two lines


class ProgressLines:
    """An executor that reports on the study after evaluations of another one, at most one line in `SECONDS`."""

    def __init__(self, executor: Executor, study: Study, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._executor = executor
        self._study = study
        self._clock = clock
        self._next = clock()  # when the next line is due
        self.has_room = executor.has_room
        self.is_busy = executor.is_busy
        self.close = executor.close
        self.measures_elsewhere = getattr(executor, "measures_elsewhere", False)

    def submit(self, evaluation: Evaluation, objective: Objective, measure: Measure) -> None:
        """Start one evaluation."""
        self._executor.submit(evaluation, objective, measure)

    def finished(self, wait: float | None = None) -> Iterator[Outcome]:
        """The outcomes of the executor; each is reported when the next one is requested, that is, once it is stored."""
        for outcome in self._executor.finished(wait):
            yield outcome
            if self._clock() >= self._next:
                self._next = self._clock() + SECONDS
                report(self._line(outcome))

    def _line(self, outcome: Outcome) -> str:
        history = self._study.history
        counts = ", ".join(f"{name} {history.count(j)}" for j, name in enumerate(history.names))
        spent = format_spent(history.spent, history.budget, history.cost_unit)
        last = "measured" if outcome.values is not None else "failed"
        return squeezed(f"spent {spent}; measured {counts}; last: {outcome.evaluation.objective} {last}")
