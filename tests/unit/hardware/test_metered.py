"""Metering work that runs once, in a world where time passes only when work is done."""

from __future__ import annotations

import math

import pytest
from tests.unit.hardware.played_time import World

from flexibo.errors import InvalidValueError, MachineError
from flexibo.hardware import (
    IdlePower,
    MeteredRun,
    MeteredRuns,
    MeterError,
    MeterStoppedError,
    TooShortError,
    measured_idle,
    metered,
    metered_runs,
)


def test_the_energy_and_the_time_of_one_run_are_read() -> None:
    world = World(call_seconds=10.0, busy_watts=50.0)
    run = metered(world.work, world, clock=world.clock)
    assert run == MeteredRun(pytest.approx(500.0, rel=0.02), pytest.approx(10.0))
    assert run.watts == pytest.approx(50.0, rel=0.02)
    assert world.n_calls == 1


def test_repeats_have_a_mean_and_a_spread_and_run_exactly_as_often() -> None:
    world, prepared = World(call_seconds=4.0, busy_watts=100.0, idle_watts=20.0, step=0.001), []
    runs = metered_runs(world.work, world, repeats=3, clock=world.clock, before_each=lambda: prepared.append(1))
    assert (len(runs.runs), world.n_calls, len(prepared)) == (3, 3, 3)
    assert runs.joules == pytest.approx(400.0, rel=1e-3)
    assert runs.watts == pytest.approx(100.0, rel=1e-3)
    assert runs.spread == pytest.approx(0.0, abs=0.2)
    assert runs.joules_above_idle is None
    uneven = MeteredRuns((MeteredRun(10.0, 1.0), MeteredRun(14.0, 3.0)), "m", 0.1, idle=IdlePower(4.0, 0.1, 5.0))
    assert (uneven.joules, uneven.seconds, uneven.watts) == (12.0, 2.0, 6.0)
    assert uneven.spread == pytest.approx(math.sqrt(8.0))
    assert uneven.joules_above_idle == pytest.approx((6.0 + 2.0) / 2)


def test_energy_above_idle_is_never_below_zero() -> None:
    assert MeteredRun(3.0, 1.0).above(IdlePower(5.0, 0.1, 2.0)) == 0.0


def test_idle_power_has_a_spread() -> None:
    world = World(idle_watts=80.0)
    idle = measured_idle(world, 5.0, clock=world.clock, sleep=world.sleep)
    assert idle.watts == pytest.approx(80.0, rel=0.01)
    assert idle.spread == pytest.approx(0.0, abs=0.5)
    assert idle.seconds >= 5.0
    for seconds in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InvalidValueError):
            measured_idle(world, seconds, clock=world.clock, sleep=world.sleep)


def test_a_meter_that_is_too_slow_for_the_work_is_told() -> None:
    assert MeteredRuns((MeteredRun(1.0, 1.0),), "m", 0.1).is_coarse
    assert not MeteredRuns((MeteredRun(1.0, 3.0),), "m", 0.1).is_coarse
    world = World(call_seconds=0.01)
    with pytest.raises(TooShortError, match=r"0\.01 s.*0\.1 s"):
        metered(world.work, world, clock=world.clock)
    assert not issubclass(TooShortError, MachineError)  # another design may take longer


class Still:
    name, update_seconds, is_estimate = "still", 0.1, False

    def __init__(self, *joules: float) -> None:
        self.joules = list(joules)

    def read_joules(self) -> float:
        return self.joules.pop(0)


def test_a_meter_that_stands_still_falls_or_fails_is_an_error() -> None:
    world = World(call_seconds=10.0)
    with pytest.raises(MeterStoppedError, match=r"10\.0 s"):
        metered(world.work, Still(5.0, 5.0), clock=world.clock)
    for end in (4.0, math.nan):
        with pytest.raises(MeterError):
            metered(world.work, Still(5.0, end), clock=world.clock)

    class Broken(Still):
        def read_joules(self) -> float:
            raise OSError("gone")

    with pytest.raises(MeterError, match=r"still.*gone"):
        metered(world.work, Broken(), clock=world.clock)


def test_what_the_work_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        metered(lambda: 1 / 0, World())
    with pytest.raises(InvalidValueError, match="repeats"):
        metered_runs(lambda: None, World(), repeats=0)
