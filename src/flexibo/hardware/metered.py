"""Metering work that runs once: a command, a script, a training.

`flexibo.hardware.measure` repeats short work until the meter has moved far enough. Work with effects of its own, such
as a command, runs exactly as often as it is asked to. So a reading says how fine the meter is beside the energy: a
counter is up to one step old at both ends.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean, stdev

from flexibo._internal.checks import whole_number
from flexibo.errors import FlexiBOError, InvalidValueError
from flexibo.hardware.base import EnergyMeter, MeterError
from flexibo.hardware.reading import PATIENT_STEPS, MeterStoppedError, idle_power

IDLE_PARTS = 5
COARSE = 0.05  # a reading is coarse if a step of the meter is more than this share of the time


class TooShortError(FlexiBOError):
    """Work ended before the meter moved."""


@dataclass(frozen=True, slots=True)
class IdlePower:
    """The power of a machine that does nothing: the mean of several windows.

    Attributes:
        watts: The mean.
        spread: The standard deviation of the windows, in watts.
        seconds: The length of all windows together.
    """

    watts: float
    spread: float
    seconds: float


@dataclass(frozen=True, slots=True)
class MeteredRun:
    """One run of the work: its energy and its time."""

    joules: float
    seconds: float

    @property
    def watts(self) -> float:
        """The mean power."""
        return self.joules / self.seconds if self.seconds > 0 else math.nan

    def above(self, idle: IdlePower) -> float:
        """The energy above that of an idle machine in the same time, never below zero."""
        return max(self.joules - idle.watts * self.seconds, 0.0)


@dataclass(frozen=True, slots=True)
class MeteredRuns:
    """Several runs of the same work.

    Attributes:
        runs: The runs in order.
        meter: The name of the meter.
        update_seconds: The time between two updates of the meter.
        is_estimate: Whether the joules are calculated instead of measured.
        idle: The idle power; None if it was not measured.
    """

    runs: tuple[MeteredRun, ...]
    meter: str
    update_seconds: float
    is_estimate: bool = False
    idle: IdlePower | None = None

    @property
    def joules(self) -> float:
        """The mean energy of a run, with idle power."""
        return fmean(run.joules for run in self.runs)

    @property
    def seconds(self) -> float:
        """The mean time of a run."""
        return fmean(run.seconds for run in self.runs)

    @property
    def watts(self) -> float:
        """The mean power: all energy over all time."""
        return self.joules / self.seconds if self.seconds > 0 else math.nan

    @property
    def joules_above_idle(self) -> float | None:
        """The mean energy above that of an idle machine; None if the idle power was not measured."""
        return None if self.idle is None else fmean(run.above(self.idle) for run in self.runs)

    @property
    def spread(self) -> float | None:
        """The standard deviation of the runs' joules; None for a single run."""
        return stdev(run.joules for run in self.runs) if len(self.runs) > 1 else None

    @property
    def is_coarse(self) -> bool:
        """Whether the meter is too slow for work this short: its step is more than 5 % of the time."""
        return self.update_seconds > COARSE * min(run.seconds for run in self.runs)


def metered(
    work: Callable[[], object], meter: EnergyMeter, *, clock: Callable[[], float] = time.perf_counter
) -> MeteredRun:
    """Run work once and read the meter before and after it; what the work raises is raised.

    Raises:
        TooShortError: The meter has not moved, and the work was shorter than twenty steps of it.
        MeterStoppedError: The meter has not moved for longer.
        MeterError: The meter cannot be read, or it fell.
    """
    before = _joules(meter)
    begin = clock()
    work()
    seconds = clock() - begin
    joules = _joules(meter) - before
    if not (math.isfinite(joules) and joules >= 0):
        raise MeterError(f"{meter.name} changed by {joules!r} J, and energy only grows; measure again.")
    if joules == 0 and not meter.is_estimate:
        if seconds >= PATIENT_STEPS * meter.update_seconds:
            raise MeterStoppedError(
                f"{meter.name} has not risen in {seconds:.1f} s of work; it has stopped updating, so choose another "
                "meter or restart its driver."
            )
        raise TooShortError(
            f"{meter.name} has not moved in the {seconds:.3g} s that this took; it is updated every "
            f"{meter.update_seconds:g} s, so let it do more work, such as the same thing many times."
        )
    return MeteredRun(joules, seconds)


def metered_runs(
    work: Callable[[], object],
    meter: EnergyMeter,
    *,
    repeats: int = 1,
    idle: IdlePower | None = None,
    before_each: Callable[[], object] = lambda: None,
    clock: Callable[[], float] = time.perf_counter,
) -> MeteredRuns:
    """Run work several times; `before_each` is called before every run, such as to wait until the machine is cool.

    Raises:
        InvalidValueError: There is to be no run.
        TooShortError, MeterError: As for `metered`.
    """
    runs = []
    for _ in range(whole_number("repeats", repeats, least=1)):
        before_each()
        runs.append(metered(work, meter, clock=clock))
    return MeteredRuns(tuple(runs), meter.name, meter.update_seconds, meter.is_estimate, idle)


def measured_idle(
    meter: EnergyMeter,
    seconds: float,
    *,
    clock: Callable[[], float] = time.perf_counter,
    sleep: Callable[[float], object] = time.sleep,
) -> IdlePower:
    """The power while this process does nothing, in five windows of this time together.

    Raises:
        InvalidValueError: The time is not a positive number.
        MeterError: The meter cannot be read, or does not rise.
    """
    if not (math.isfinite(seconds) and seconds > 0):
        raise InvalidValueError(f"The time to measure idle power is {seconds!r} s; it must be a positive number.")
    begin = clock()
    watts = [idle_power(meter, seconds / IDLE_PARTS, clock, sleep) for _ in range(IDLE_PARTS)]
    return IdlePower(fmean(watts), stdev(watts), clock() - begin)


def _joules(meter: EnergyMeter) -> float:
    try:
        return meter.read_joules()
    except MeterError:
        raise
    except (OSError, ValueError) as error:
        raise MeterError(f"{meter.name} cannot be read any more: {error}.") from error
