"""Measures in this process: readings, median, cost, and what went wrong."""

from __future__ import annotations

import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from types import FrameType
from typing import Any

from flexibo.errors import DesignError, FlexiBOError, InvalidTypeError, InvalidValueError, MachineError
from flexibo.executors.base import Measure, Outcome
from flexibo.history.events import Evaluation, FailureKind
from flexibo.history.reports import Reports
from flexibo.objectives import LARGEST, Objective, Reading

MOST_PRINTED = 4000  # characters of what a program printed, from its end
PACKAGE = Path(__file__).parents[1]
MOST_TRACED = 20_000  # characters of a traceback, from its end


class TookTooLongError(FlexiBOError):
    """An evaluation exceeded the timeout of its objective.

    It is no `TimeoutError`, which is an `OSError`: what handles errors of files must not take it for one of them.
    """


class WrongValueError(FlexiBOError):
    """What was measured is no value; a function may raise this where it can tell."""


class LostAttemptError(FlexiBOError):
    """Another worker has the evaluation by now, so this attempt at it is of no use."""


_current: ContextVar[Evaluation | None] = ContextVar("evaluation", default=None)


_printed: ContextVar[list[str] | None] = ContextVar("printed", default=None)


@dataclass(slots=True)
class _Reached:
    """What an evaluation with steps reported, and from which step it went on, if not from that of the question."""

    reports: Reports = ()
    begun: int | None = None


_reached: ContextVar[_Reached | None] = ContextVar("reached", default=None)


def current_evaluation() -> Evaluation | None:
    """The evaluation that is being measured in this context, for functions that need more than its design."""
    return _current.get()


def note_printed(text: str) -> None:
    """Keep what a program printed with the outcome of the evaluation that is being measured, as far as it is short."""
    printed = _printed.get()
    if printed is not None:
        printed.append(text[-MOST_PRINTED:])


def note_reports(reports: Reports, begun: int | None) -> None:
    """Keep values at steps with the outcome of the evaluation that is being measured, and where it really began."""
    reached = _reached.get()
    if reached is not None:
        reached.reports, reached.begun = reports, begun


class InlineExecutor:
    """Calls the objective's function in this process; costs are differences of the `clock`, in seconds."""

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


def measured(
    evaluation: Evaluation,
    objective: Objective,
    measure: Measure,
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> Outcome:
    """The outcome of an evaluation; raises only a `MachineError` and interrupts."""
    start = clock()
    readings: list[Mapping[str, float]] = []
    given: list[float] = []
    printed: list[str] = []
    reason, impossible, kind = "", False, FailureKind.ERROR
    mistake: Exception | None = None
    reached = _Reached()
    outer, before, further = _current.set(evaluation), _printed.set(printed), _reached.set(reached)
    try:
        with _time_limit(objective.timeout):
            for _ in range(objective.repeats):
                kind = FailureKind.ERROR
                answer = measure(evaluation.design)
                kind = FailureKind.VALUE  # of what goes wrong from here on
                result, cost = _split(answer, evaluation)
                given += [] if cost is None else [cost]
                readings.append(_values(result, evaluation))
    except MachineError:
        raise  # every other design would fail as well
    except TookTooLongError as error:
        reason, kind = str(error), FailureKind.TIMEOUT
    except WrongValueError as error:
        reason, kind = str(error), FailureKind.VALUE
        mistake = error.__cause__ if isinstance(error.__cause__, Exception) and _is_mistake(error.__cause__) else None
    except LostAttemptError as error:
        reason, kind = str(error), FailureKind.LOST
    except Exception as error:
        reason, impossible = failure(error), isinstance(error, DesignError)
        given += _stated_cost(error)
        mistake = error if _is_mistake(error) else None
    finally:
        _current.reset(outer)
        _printed.reset(before)
        _reached.reset(further)
    elapsed = clock() - start
    if not reason and objective.timeout is not None and elapsed > objective.timeout:
        reason, kind = too_long(objective.timeout), FailureKind.TIMEOUT
    cost = sum(given) if given else elapsed
    found = Outcome(
        evaluation,
        None,
        cost,
        reason,
        timed=not given,
        impossible=impossible,
        kind=kind,
        printed="".join(printed)[-MOST_PRINTED:],
        seconds=elapsed,
        mistake="" if mistake is None else _traced(mistake),
        error=mistake,
        reports=reached.reports,
        begun=reached.begun,
    )
    if reason:
        return found
    names = [name for name in readings[0] if all(name in values for values in readings)]
    medians = {name: Reading.of_median([values[name] for values in readings]) for name in names}
    return replace(found, values=medians, kind=FailureKind.ERROR)


def _is_mistake(error: Exception) -> bool:
    """Whether an error is most often a mistake in a function, rather than something that it says of its design.

    Errors of flexibo, timeouts and too little memory (of PyTorch too) say something of the design; that no number was
    returned does not.
    """
    if isinstance(error, InvalidTypeError):
        return True
    is_of_design = isinstance(error, FlexiBOError | TimeoutError | MemoryError)
    return not is_of_design and type(error).__name__ != "OutOfMemoryError"


def failure(error: BaseException) -> str:
    """The error of a function, and where it occurred."""
    if isinstance(error, FlexiBOError | TimeoutError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    # A wrong name of an option is noticed in flexibo, and the mistake is where it was used.
    last = next((frame for frame in reversed(frames) if not _is_own(frame.filename)), frames[-1] if frames else None)
    where = f" ({Path(last.filename).name}, line {last.lineno})" if last is not None and len(frames) > 1 else ""
    return f"{type(error).__name__}: {error}{where}"


def _traced(error: Exception) -> str:
    """The traceback of an error from the first line on that is not flexibo's."""
    first = error.__traceback__
    while first is not None and _is_own(first.tb_frame.f_code.co_filename):
        first = first.tb_next
    return "".join(traceback.format_exception(type(error), error, first or error.__traceback__))[-MOST_TRACED:]


def _is_own(file: str) -> bool:
    return Path(file).is_relative_to(PACKAGE)


def too_long(limit: float) -> str:
    """The reason of an evaluation that exceeded its timeout."""
    return f"It took longer than its timeout of {limit:g} s."


def exit_description(status: int | None) -> str:
    """How a process ended.

    >>> exit_description(3)
    'ended with exit status 3'
    """
    if status is None:
        return "was lost"
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:  # a real-time signal
        return f"was killed by signal {-status}"
    if name == "SIGKILL":
        return "was killed by SIGKILL (by the system, if memory was short)"
    return f"was killed by {name} ({signal.strsignal(-status)})"


def check_answer(answer: Any, evaluation: Evaluation) -> None:
    """Raise an error if what a function returned is not what was asked for, or its cost is none."""
    _values(_split(answer, evaluation)[0], evaluation)


def _split(result: Any, evaluation: Evaluation) -> tuple[Any, float | None]:
    """The result of a function, and the cost if it returned one."""
    if not isinstance(result, tuple):
        return result, None
    if len(result) != 2:
        raise InvalidTypeError(
            f"The function of {evaluation.objective!r} returned {len(result)} items; "
            "return a value, or a value and its cost."
        )
    value, cost = result
    if not _is_cost(cost):
        raise InvalidValueError(
            f"The function of {evaluation.objective!r} gave the cost {cost!r}; it must be a number, zero or more."
        )
    return value, float(cost)


def _stated_cost(error: Exception) -> list[float]:
    """What an attempt that failed says that it cost; nothing, and its time counts, if it says none that is possible."""
    cost = error.cost if isinstance(error, DesignError) else None
    return [float(cost)] if cost is not None and _is_cost(cost) else []


def _is_cost(cost: Any) -> bool:
    return isinstance(cost, Real) and not isinstance(cost, bool) and 0 <= float(cost) <= LARGEST


def _values(result: Any, evaluation: Evaluation) -> Mapping[str, float]:
    """The values by objective: the requested ones, and any others that came with them."""
    given = result if isinstance(result, Mapping) else {evaluation.objective: result}
    for name in evaluation.yields:
        if name not in given:
            raise InvalidTypeError(
                f"The function of {evaluation.objective!r} gave no value of {name!r}; "
                f"return a mapping with {', '.join(evaluation.yields)}."
            )
    return {str(name): _checked(str(name), value) for name, value in given.items()}


def _checked(name: str, value: Any) -> float:
    """A value that is possible, with its error bar if it has one."""
    number = Objective(name).checked_value(value)
    return value if isinstance(value, Reading) else number


@contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    """Interrupt the block after this many seconds, where the platform and the thread allow it."""
    can_interrupt = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or not can_interrupt:
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise TookTooLongError(too_long(seconds))

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
