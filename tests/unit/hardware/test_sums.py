"""Sums of meters."""

from __future__ import annotations

import pytest

from flexibo.errors import InvalidValueError
from flexibo.hardware import EstimatedMeter, MeterError, SumMeter


class Counter:
    is_estimate = False

    def __init__(self, name: str, step: float, joules: float = 0.0) -> None:
        self.name, self.update_seconds, self.joules, self.n_reads = name, step, joules, 0
        self.is_open = True

    def read_joules(self) -> float:
        self.n_reads += 1
        if self.joules < 0:
            raise MeterError(f"{self.name} fell.")
        return self.joules

    def close(self) -> None:
        self.is_open = False


def test_a_sum_adds_and_is_as_slow_as_its_slowest_part() -> None:
    processor, gpu = Counter("processor", 0.001, 3.0), Counter("gpu", 0.1, 4.5)
    with SumMeter([processor, gpu]) as meter:
        assert meter.read_joules() == 7.5
        assert (meter.name, meter.update_seconds, meter.is_estimate) == ("processor + gpu", 0.1, False)
    assert not processor.is_open
    assert not gpu.is_open
    assert SumMeter([processor, EstimatedMeter(5)]).is_estimate


def test_a_part_that_fails_fails_the_reading_after_all_were_read() -> None:
    first, second = Counter("first", 0.1, -1.0), Counter("second", 0.1, 4.0)
    with pytest.raises(MeterError, match="first"):
        SumMeter([first, second]).read_joules()
    assert second.n_reads == 1
    with pytest.raises(InvalidValueError):
        SumMeter([])
