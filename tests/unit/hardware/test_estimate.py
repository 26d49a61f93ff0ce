"""An estimate is nominal power times time, and is marked as an estimate."""

from __future__ import annotations

import math

import pytest
from tests.unit.hardware.played_time import World

from flexibo.errors import InvalidValueError
from flexibo.hardware import (
    EstimatedMeter,
    measure,
)


def test_an_estimate_is_nominal_power_times_time_and_says_so() -> None:
    world = World(call_seconds=0.01)
    meter = EstimatedMeter(15, world.clock)
    assert meter.read_joules() == 0.0
    reading = measure(world.work, meter, count=4, repeats=3, clock=world.clock)
    assert reading.joules == pytest.approx(15 * 0.01 / 4)
    assert (reading.is_estimate, reading.meter) == (True, "estimate: 15 W x time")
    assert EstimatedMeter(7.5).name == "estimate: 7.5 W x time"


@pytest.mark.parametrize("watts", [0, -1.0, math.nan, math.inf])
def test_an_estimate_needs_a_positive_power(watts: float) -> None:
    with pytest.raises(InvalidValueError, match=rf"power.*{watts!r} W.*positive"):
        EstimatedMeter(watts)
