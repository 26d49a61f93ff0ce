"""A sampled meter integrates power by the trapezoidal rule."""

from __future__ import annotations

import gc
import math

import pytest
from tests.unit.hardware.played_time import World

from flexibo.errors import FlexiBOError, InvalidValueError
from flexibo.hardware import (
    MeterError,
    SampledMeter,
    measure,
)

NEVER = 3600.0  # the sampling thread does not come to sample while a test runs


class Sensor:
    """A power sensor that is set by hand, and a clock."""

    def __init__(self) -> None:
        self.watts: float | Exception = 10.0
        self.now = 0.0
        self.n_reads = 0

    def read(self) -> float:
        self.n_reads += 1
        if isinstance(self.watts, Exception):
            raise self.watts
        return self.watts

    def meter(self, period_seconds: float = NEVER) -> SampledMeter:
        return SampledMeter(self.read, period_seconds=period_seconds, clock=lambda: self.now, name="a sensor")

    def later(self, seconds: float, watts: float | Exception) -> None:
        self.now += seconds
        self.watts = watts


def test_samples_add_up_by_the_trapezoid_rule_and_a_reading_includes_the_time_up_to_now() -> None:
    sensor = Sensor()
    with sensor.meter() as meter:
        sensor.later(1.0, 30.0)
        meter.sample()
        sensor.later(0.5, 30.0)
        meter.sample()
        sensor.later(2.0, 0.0)
        assert meter.read_joules() == pytest.approx(1.0 * 20 + 0.5 * 30 + 2.0 * 15)
        assert meter.read_joules() == pytest.approx(65.0)
    assert (meter.name, meter.update_seconds, meter.is_estimate) == ("a sensor", NEVER, False)


def test_the_first_reading_starts_the_thread_and_leaving_the_block_ends_it() -> None:
    sensor = Sensor()
    meter = sensor.meter()
    assert not meter.is_sampling
    assert meter.read_joules() == 0.0
    assert meter.is_sampling
    thread = meter._thread
    meter.read_joules()
    assert meter._thread is thread
    meter.stop()
    assert thread is not None
    assert not thread.is_alive()
    assert not meter.is_sampling
    with meter:
        assert meter.is_sampling
    assert not meter.is_sampling
    meter.stop()


def test_the_time_between_a_stop_and_the_next_start_is_not_counted() -> None:
    sensor = Sensor()
    meter = sensor.meter()
    meter.read_joules()
    sensor.later(1.0, 10.0)
    assert meter.read_joules() == pytest.approx(10.0)
    meter.stop()
    sensor.later(100.0, 10.0)
    assert meter.read_joules() == pytest.approx(10.0)
    sensor.later(1.0, 10.0)
    assert meter.read_joules() == pytest.approx(20.0)
    meter.stop()


def test_the_thread_samples_by_itself_and_ends_with_a_meter_that_nobody_holds() -> None:
    sensor = Sensor()
    meter = sensor.meter(period_seconds=1e-4)
    meter.start()
    thread = meter._thread
    assert thread is not None
    while sensor.n_reads < 3:
        assert thread.is_alive()
    del meter
    gc.collect()
    thread.join(timeout=30)
    assert not thread.is_alive()


@pytest.mark.parametrize(
    ("failure", "facts"),
    [
        (OSError("No such device."), r"^a sensor: .*: No such device\.$"),
        (math.nan, r"^a sensor: .*\bnan W\.$"),
        (-1.0, r" -1\.0 W\.$"),
        (math.inf, r" inf W\.$"),
        (RuntimeError("torn out"), "torn out"),
    ],
)
def test_a_sensor_that_fails_between_readings_makes_the_next_reading_an_error(
    failure: float | Exception, facts: str
) -> None:
    sensor = Sensor()
    with sensor.meter() as meter:
        sensor.later(1.0, failure)
        meter.sample()
        sensor.later(1.0, RuntimeError("a later failure"))
        meter.sample()
        sensor.later(1.0, 10.0)
        with pytest.raises(MeterError, match=facts):
            meter.read_joules()
    assert issubclass(MeterError, FlexiBOError)


def test_energy_across_a_failure_is_not_bridged() -> None:
    sensor = Sensor()
    with sensor.meter() as meter:
        sensor.later(1.0, OSError("gone"))
        meter.sample()
        sensor.later(50.0, 10.0)
        with pytest.raises(MeterError, match="gone"):
            meter.read_joules()
        sensor.later(1.0, 10.0)
        assert meter.read_joules() == pytest.approx(10.0)


@pytest.mark.parametrize("period", [0.0, -1.0, math.nan, math.inf])
def test_a_period_that_is_no_time_is_refused(period: float) -> None:
    with pytest.raises(InvalidValueError, match="period_seconds is"):
        SampledMeter(lambda: 1.0, period_seconds=period)


def test_sampled_power_is_read_as_any_other_meter() -> None:
    world = World()
    with SampledMeter(lambda: 25.0, period_seconds=0.5, clock=world.clock, name="a sensor") as meter:
        meter.stop()  # the world's clock is moved by the work, not by the thread's
        meter.start = lambda: None  # type: ignore[method-assign]
        reading = measure(world.work, meter, count=1, repeats=2, window_seconds=1.0, clock=world.clock)
    assert reading.watts == pytest.approx(25.0)
