"""Measures here, one evaluation at a time."""

from __future__ import annotations

import signal
import statistics
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from types import FrameType
from typing import Any

from flexibo.errors import FlexiBOError, InvalidTypeError, InvalidValueError, MachineError
from flexibo.events import Evaluation
from flexibo.executors.base import Measure, Outcome
from flexibo.objectives import LARGEST, Objective


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
        readings: list[Mapping[str, float]] = []
        given: list[float] = []
        reason = ""
        try:
            with _time_limit(objective.timeout):
                for _ in range(objective.repeats):
                    result, cost = _split(measure(evaluation.design), evaluation)
                    given += [] if cost is None else [cost]
                    readings.append(_values(result, evaluation))
        except MachineError:
            raise  # every other design would fail as well
        except Exception as error:
            reason = _reason(error)
        elapsed = self._clock() - start
        if not reason and objective.timeout is not None and elapsed > objective.timeout:
            reason = _too_long(objective.timeout)
        cost = sum(given) if given else elapsed
        if reason:
            return Outcome(evaluation, None, cost, reason)
        names = [name for name in readings[0] if all(name in values for values in readings)]
        return Outcome(evaluation, {n: statistics.median(values[n] for values in readings) for n in names}, cost)


def _reason(error: Exception) -> str:
    """What went wrong in a function, and where."""
    if isinstance(error, FlexiBOError | TimeoutError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if len(frames) > 1 else ""
    return f"{type(error).__name__}: {error}{where}"


def _split(result: Any, evaluation: Evaluation) -> tuple[Any, float | None]:
    """What a function returned, and the cost if it gave one."""
    if not isinstance(result, tuple):
        return result, None
    if len(result) != 2:
        raise InvalidTypeError(
            f"The function of {evaluation.objective!r} returned {len(result)} items; "
            "return a value, or a value and its cost."
        )
    value, cost = result
    if isinstance(cost, bool) or not isinstance(cost, Real) or not 0 <= float(cost) <= LARGEST:
        raise InvalidValueError(
            f"The function of {evaluation.objective!r} gave the cost {cost!r}; it must be a number, zero or more."
        )
    return value, float(cost)


def _values(result: Any, evaluation: Evaluation) -> Mapping[str, float]:
    """The values by objective: those that were asked for, and any others that came with them."""
    given = result if isinstance(result, Mapping) else {evaluation.objective: result}
    for name in evaluation.yields:
        if name not in given:
            raise InvalidTypeError(
                f"The function of {evaluation.objective!r} gave no value of {name!r}; "
                f"return a mapping with {', '.join(evaluation.yields)}."
            )
    return {str(name): Objective(str(name)).checked_value(value) for name, value in given.items()}


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
