"""A meter from a counter."""

from __future__ import annotations

import pytest

from flexibo.hardware import CounterMeter, MeterError


def test_a_counter_counts_from_where_it_was_and_never_falls() -> None:
    joules = iter([1000.0, 1000.0, 1004.5, 3.0, 5.0])
    meter = CounterMeter(lambda: next(joules), name="a counter", update_seconds=0.5)
    assert (meter.read_joules(), meter.read_joules()) == (0.0, 4.5)
    with pytest.raises(MeterError, match=r"1004\.5 J to 3 J"):
        meter.read_joules()
    assert meter.read_joules() == pytest.approx(6.5)  # the lost time is not counted
    assert (meter.name, meter.update_seconds, meter.is_estimate) == ("a counter", 0.5, False)
