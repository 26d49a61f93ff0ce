"""Measuring work with a meter: the energy, time and power of an inference.

A counter is updated in steps: NVML's ten times a second, RAPL's a thousand times. So the energy of a window of work has
an error of up to one step over the length of the window. Windows keep that below 5 %: they last 20 steps, and at least
0.2 s. If a step is more than 1 % of a window, windows begin and end right after a step, for which the work is repeated.
The remaining error is the time between two looks at the counter: one call, or a twentieth of a step. Then five steps
are enough, unless that time is more than 5 % of the window or a call takes longer than a step.

If windows disagree, because something disturbed the processor that feeds the device, more may follow, so that the
median is one of undisturbed windows. A time limit bounds a measurement whose single call may last a minute: there are
as many windows as fit, at least one. If not even two calls fit, the first one is the result, though it was not warm.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from statistics import median, quantiles

from flexibo._internal.checks import whole_number
from flexibo.errors import InvalidValueError
from flexibo.hardware.base import EnergyMeter, MeterError

SHORTEST_WINDOW_SECONDS = 0.2
STEPS_PER_WINDOW = 20
STEPS_PER_AWAITED_WINDOW = 5
LOOKS_PER_STEP = 20
UNSTEADY = 0.05  # windows disagree when the interquartile range of their joules is more than this share of the median
NORMAL_QUARTILES = 1.349  # the interquartile range of a normal distribution, in standard deviations
MEDIAN_FACTOR = math.sqrt(math.pi / 2)  # the deviation of a median over that of a mean, of many normal values
# A counter that does not rise for this many windows, and this many of its steps, has stopped.
PATIENT_WINDOWS = 3
PATIENT_STEPS = 20


class MeterStoppedError(MeterError):
    """A meter no longer rises."""


@dataclass(frozen=True, slots=True)
class EnergyReading:
    """The energy, time and power of an inference: medians over windows of work.

    Attributes:
        joules: Energy per inference, including idle power.
        joules_above_idle: Energy per inference minus that of an idle machine in the same time, never below zero; None
            if the idle power is not known.
        seconds: Time per inference when calls follow each other without a pause, as for `joules`.
        call_seconds: Time from the start of a single call (a batch) to its end.
        watts: Power while working.
        idle_watts: Power when idle; None if it is not known.
        spread: The interquartile range of the windows' joules over the median; None for a single window.
        n_inferences: The number of inferences in all windows.
        repeats: The number of windows; smaller than requested if the time limit allowed no more.
        seconds_total: The time of the measurement itself, with warm-up.
        is_estimate: Whether the joules are calculated instead of measured.
        meter: The name of the meter.
        call_spread: The interquartile range of the times of single calls over their median; None for a single call.
        n_calls: The number of single calls that were timed.
    """

    joules: float
    joules_above_idle: float | None
    seconds: float
    call_seconds: float
    watts: float
    idle_watts: float | None
    spread: float | None
    n_inferences: int
    repeats: int
    seconds_total: float
    is_estimate: bool
    meter: str
    call_spread: float | None = None
    n_calls: int = 1

    @property
    def deviation(self) -> float | None:
        """The standard deviation of `joules` itself, a median of windows, as if these were normal; None for one."""
        return deviation_of_median(self.joules, self.spread, self.repeats)

    @property
    def call_deviation(self) -> float | None:
        """The standard deviation of `call_seconds` itself, a median of calls, as if they were normal; None for one."""
        return deviation_of_median(self.call_seconds, self.call_spread, self.n_calls)


def measure(
    work: Callable[[], object],
    meter: EnergyMeter,
    *,
    count: int,
    repeats: int = 10,
    most_repeats: int | None = None,
    window_seconds: float | None = None,
    warm_up_seconds: float = 0.5,
    limit_seconds: float | None = None,
    idle_watts: float | None = None,
    clock: Callable[[], float] = time.perf_counter,
    synchronise: Callable[[], object] = lambda: None,
) -> EnergyReading:
    """The energy, time and power of an inference: the median over several windows of work.

    A single long window (`repeats=1, window_seconds=2.0`) is as accurate, but does not show how much windows differ.

    Args:
        work: Runs `count` inferences; it may return before a device has finished them.
        meter: The meter.
        count: The number of inferences per call of `work`.
        repeats: The number of windows, unless the limit allows fewer.
        most_repeats: The largest number of windows while they disagree; None: `repeats`. If it is given, windows that
            must be longer than `window_seconds` are fewer instead, but at least two, or one if one was requested.
        window_seconds: The shortest length of a window; by default what the meter needs.
        warm_up_seconds: How long the work runs before the first window.
        limit_seconds: The time limit of the whole measurement, unless a single call lasts longer; None: no limit.
        idle_watts: The power of the idle machine, measured with the same meter (`idle_power`).
        clock: Seconds.
        synchronise: Waits until the device has finished all work, such as `torch.cuda.synchronize`.

    Raises:
        InvalidValueError: An argument is out of range.
        MeterStoppedError: The meter does not rise.
        MeterError: The meter cannot be read, or it fell.
    """
    most = repeats if most_repeats is None else most_repeats
    for name, number in (("count", count), ("repeats", repeats), ("most_repeats", most)):
        whole_number(name, number, least=1)
    _check_seconds(window_seconds, warm_up_seconds, idle_watts, limit_seconds)
    start = clock()
    run = _MeteredWork(work, meter, clock, synchronise)
    end = math.inf if limit_seconds is None else start + limit_seconds
    with _without_collections():
        calls, marks = run.marks(repeats, most, window_seconds, warm_up_seconds, end)
    windows = _windows(marks, count)
    joules = [window.joules for window in windows]
    return EnergyReading(
        joules=median(joules),
        joules_above_idle=None if idle_watts is None else median(window.above(idle_watts) for window in windows),
        seconds=median(window.seconds for window in windows),
        call_seconds=median(calls),
        watts=median(window.joules / window.seconds for window in windows),
        idle_watts=idle_watts,
        spread=_spread(joules),
        n_inferences=sum(window.n_inferences for window in windows),
        repeats=len(windows),
        seconds_total=clock() - start,
        is_estimate=meter.is_estimate,
        meter=meter.name,
        call_spread=_spread(calls),
        n_calls=len(calls),
    )


def idle_power(
    meter: EnergyMeter,
    seconds: float = 2.0,
    clock: Callable[[], float] = time.perf_counter,
    sleep: Callable[[float], object] = time.sleep,
) -> float:
    """The power in watts while this process does nothing, measured for at least this time.

    Raises:
        InvalidValueError: The time is not a positive number.
        MeterStoppedError: The meter does not rise.
        MeterError: The meter cannot be read, or it fell.
    """
    _check_seconds(seconds, 0.0, None, None)
    nap = max(meter.update_seconds / LOOKS_PER_STEP, 0.001)
    window = _MeteredWork(lambda: sleep(nap), meter, clock, lambda: None).window(seconds, nap)
    return window.joules / window.seconds


@dataclass(frozen=True, slots=True)
class _Mark:
    """The number of calls, the energy and the time at a moment."""

    n_calls: int
    joules: float
    seconds: float


@dataclass(frozen=True, slots=True)
class _Window:
    after: _Mark
    before: _Mark
    count: int

    @property
    def n_inferences(self) -> int:
        return self.count * (self.after.n_calls - self.before.n_calls)

    @property
    def joules(self) -> float:
        return (self.after.joules - self.before.joules) / self.n_inferences

    @property
    def seconds(self) -> float:
        return (self.after.seconds - self.before.seconds) / self.n_inferences

    def above(self, idle_watts: float) -> float:
        return max(self.joules - idle_watts * self.seconds, 0.0)


class _MeteredWork:
    """Work that is repeated, with clock and counter read between stretches of calls."""

    def __init__(
        self,
        work: Callable[[], object],
        meter: EnergyMeter,
        clock: Callable[[], float],
        synchronise: Callable[[], object],
    ) -> None:
        self._work = work
        self._meter = meter
        self._clock = clock
        self._synchronise = synchronise
        self._n_calls = 0
        self._last_joules = -math.inf
        self._stretch = 1
        self._window_seconds = SHORTEST_WINDOW_SECONDS
        self._waits_for_steps = False

    def marks(
        self, repeats: int, most: int, window_seconds: float | None, warm_up_seconds: float, end: float
    ) -> tuple[list[float], list[_Mark]]:
        """Times of single calls, and the marks between windows, two or more; none starts that would end after `end`."""
        before = self._mark()
        first = self._marked_call()  # it loads, compiles and allocates: a window only if no other fits
        times: list[float] = []
        if first.seconds - before.seconds >= self._shortest_window(window_seconds):
            if 2 * first.seconds - before.seconds > end:
                return [first.seconds - before.seconds], self._risen(before, first)
            second = self._marked_call()
            times.append(second.seconds - first.seconds)
            if second.seconds + times[0] > end:
                return times, self._risen(first, second)
        # From the end of the first call, which may take longer than a short warm-up.
        calls = self._warm_up(first.seconds + warm_up_seconds, times)
        self._pace(window_seconds, median(calls))
        if most > repeats and window_seconds is not None:
            share = min(1.0, window_seconds / self._window_seconds)
            least = min(2, repeats)  # two windows say how much windows differ
            repeats, most = (max(least, round(share * number)) for number in (repeats, most))
        marks = [self._begin()]
        while len(marks) <= repeats or (len(marks) <= most and _disagree(marks)):
            marks.append(self._window(marks[-1]))
            if 2 * marks[-1].seconds - marks[-2].seconds > end:
                break
        return calls, marks

    def window(self, seconds: float, nap: float) -> _Window:
        """One window of calls that take a nap each."""
        self._pace(seconds, nap)
        before = self._begin()
        return _Window(self._window(before), before, count=1)

    def _shortest_window(self, window_seconds: float | None) -> float:
        if window_seconds is not None:
            return window_seconds
        return max(SHORTEST_WINDOW_SECONDS, STEPS_PER_WINDOW * self._meter.update_seconds)

    def _marked_call(self) -> _Mark:
        """The mark after another call."""
        self._call(1)
        return self._mark()

    def _warm_up(self, until: float, times: list[float]) -> list[float]:
        """The times of the later half of the calls until a time; `times` are those of earlier calls."""
        while not times or self._clock() < until:
            before = self._clock()
            self._call(1)
            times.append(self._clock() - before)
        return times[len(times) // 2 :]

    def _pace(self, window_seconds: float | None, call_seconds: float) -> None:
        """Set the length of a window and the number of calls between two looks at the counter."""
        step = self._meter.update_seconds
        shortest = self._shortest_window(window_seconds)
        # With calls longer than a step, waiting for a step gains nothing.
        self._waits_for_steps = call_seconds < step and step > 0.01 * shortest
        if self._waits_for_steps and window_seconds is None:
            shortest = max(SHORTEST_WINDOW_SECONDS, STEPS_PER_AWAITED_WINDOW * step)
        look_seconds = step / LOOKS_PER_STEP if self._waits_for_steps else shortest / 50
        self._stretch = max(1, int(look_seconds / max(call_seconds, 1e-9)))
        age_seconds = min(step, self._stretch * call_seconds) if self._waits_for_steps else step
        self._window_seconds = max(shortest, STEPS_PER_WINDOW * age_seconds)

    def _begin(self) -> _Mark:
        """The mark at the beginning of the first window."""
        mark = self._mark()
        return self._next_step(mark) if self._waits_for_steps else mark

    def _window(self, start: _Mark) -> _Mark:
        """The mark at the end of a window that began at `start`."""
        while self._clock() - start.seconds < self._window_seconds:
            self._call(self._stretch)
        end = self._mark()
        if self._waits_for_steps:
            return self._next_step(end)
        return end if end.joules > start.joules else self._next_step(end)

    def _next_step(self, mark: _Mark) -> _Mark:
        """The mark right after the next update of the counter."""
        patience = max(PATIENT_WINDOWS * self._window_seconds, PATIENT_STEPS * self._meter.update_seconds)
        while True:
            self._call(self._stretch)
            now = self._mark()
            if now.joules > mark.joules or self._meter.is_estimate:
                return now
            if now.seconds - mark.seconds > patience:
                raise self._stopped(now.seconds - mark.seconds)

    def _risen(self, before: _Mark, after: _Mark) -> list[_Mark]:
        """Both marks, if the counter has risen between them."""
        if after.joules > before.joules or self._meter.is_estimate:
            return [before, after]
        raise self._stopped(after.seconds - before.seconds)

    def _stopped(self, seconds: float) -> MeterStoppedError:
        return MeterStoppedError(
            f"{self._meter.name} has not risen for {seconds:.1f} s of work; it has stopped updating, so choose another "
            "meter or restart its driver."
        )

    def _call(self, n_calls: int) -> None:
        for _ in range(n_calls):
            self._work()
        self._synchronise()
        self._n_calls += n_calls

    def _mark(self) -> _Mark:
        joules = self._read_joules()
        return _Mark(self._n_calls, joules, self._clock())

    def _read_joules(self) -> float:
        name = self._meter.name
        try:
            joules = self._meter.read_joules()
        except MeterError:
            raise
        except (OSError, ValueError) as error:
            raise MeterError(f"{name} cannot be read any more: {error}.") from error
        if not (math.isfinite(joules) and joules >= self._last_joules):
            raise MeterError(
                f"{name} returned {joules!r} J after {self._last_joules!r} J, and energy only grows; measure again."
            )
        self._last_joules = joules
        return joules


@contextmanager
def _without_collections() -> Iterator[None]:
    """A context in which Python collects no garbage, as in `timeit`."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _windows(marks: list[_Mark], count: int) -> list[_Window]:
    return [_Window(after, before, count) for before, after in pairwise(marks)]


def _disagree(marks: list[_Mark]) -> bool:
    return (_spread([window.joules for window in _windows(marks, 1)]) or 0.0) > UNSTEADY


def deviation_of_median(middle: float, spread: float | None, count: int) -> float | None:
    """The standard deviation of the median of a count of normal values, given their interquartile range over it."""
    return None if spread is None else MEDIAN_FACTOR * middle * spread / NORMAL_QUARTILES / math.sqrt(count)


def _spread(joules: list[float]) -> float | None:
    if len(joules) < 2:
        return None
    low, middle, high = quantiles(joules, n=4, method="inclusive")
    return (high - low) / middle


def _check_seconds(
    window_seconds: float | None, warm_up_seconds: float, idle_watts: float | None, limit_seconds: float | None
) -> None:
    for what, seconds in (("window", window_seconds), ("limit", limit_seconds)):
        if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
            raise InvalidValueError(f"The {what} is {seconds!r} s; it must be a positive number.")
    for name, number in (("warm_up_seconds", warm_up_seconds), ("idle_watts", idle_watts or 0.0)):
        if not (math.isfinite(number) and number >= 0):
            raise InvalidValueError(f"{name} is {number!r}; it must be zero or more.")
