"""Measures here, one evaluation at a time."""

from __future__ import annotations

import math
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from types import FrameType
from typing import Any

from flexibo.errors import FlexiBOError, InvalidTypeError, InvalidValueError
from flexibo.executors.base import Measure, Outcome
from flexibo.history import Evaluation
from flexibo.objectives import Objective


class InlineExecutor:
    """Calls the objective's function in this process.

    Args:
        clock: Gives seconds; the cost of a call is the difference of two readings.
    """

    def __init__(self, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._waiting: list[tuple[Evaluation, Objective, Measure]] = []

    def has_room(self) -> bool:
        """Whether nothing waits to be measured."""
        return not self._waiting

    def is_busy(self) -> bool:
        """Whether something waits to be measured."""
        return bool(self._waiting)

    def submit(self, evaluation: Evaluation, objective: Objective, measure: Measure) -> None:
        """Queue one evaluation; `finished` measures it."""
        self._waiting.append((evaluation, objective, measure))

    def finished(self) -> Iterable[Outcome]:
        """Measure what was submitted."""
        while self._waiting:
            evaluation, objective, measure = self._waiting.pop(0)
            yield self._outcome(evaluation, objective, measure)

    def _outcome(self, evaluation: Evaluation, objective: Objective, measure: Measure) -> Outcome:
        start = self._clock()
        try:
            with _time_limit(objective.timeout):
                readings = [_reading(measure(evaluation.design), evaluation) for _ in range(objective.repeats)]
        except Exception as error:
            message = str(error) if isinstance(error, FlexiBOError) else f"{type(error).__name__}: {error}"
            return Outcome(evaluation, None, self._clock() - start, message)
        elapsed = self._clock() - start
        if objective.timeout is not None and elapsed > objective.timeout:
            return Outcome(evaluation, None, elapsed, _too_long(objective.timeout))
        given = [cost for _, cost in readings]
        cost = elapsed if any(cost is None for cost in given) else sum(c for c in given if c is not None)
        values = {name: statistics.median(values[name] for values, _ in readings) for name in evaluation.yields}
        return Outcome(evaluation, values, cost)


def _reading(result: Any, evaluation: Evaluation) -> tuple[Mapping[str, float], float | None]:
    """The values by objective and the cost, if the function gave one."""
    cost = None
    if isinstance(result, tuple):
        if len(result) != 2:
            raise InvalidTypeError(
                f"The function of {evaluation.objective!r} returned {len(result)} items; "
                "return a value, or a value and its cost."
            )
        result, cost = result
        if isinstance(cost, bool) or not isinstance(cost, Real) or not math.isfinite(cost) or cost < 0:
            raise InvalidValueError(
                f"The function of {evaluation.objective!r} gave the cost {cost!r}; it must be a number, zero or more."
            )
        cost = float(cost)
    values = result if isinstance(result, Mapping) else {evaluation.objective: result}
    for name in evaluation.yields:
        if name not in values:
            raise InvalidTypeError(
                f"The function of {evaluation.objective!r} gave no value of {name!r}, which is measured with it; "
                "return a dict of both."
            )
    return {name: Objective(name).checked_value(values[name]) for name in evaluation.yields}, cost


def _too_long(limit: float) -> str:
    return f"It took longer than its timeout of {limit:g} s."


@contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    """Interrupt the block after so many seconds, where the platform and the thread allow it."""
    can_interrupt = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or not can_interrupt:
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(_too_long(seconds))

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
