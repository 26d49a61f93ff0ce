"""Readings of the benchmark of error bars."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.error_bars import LEAST, MOST, REPEATS, Bars, noisy_reading

from flexibo.objectives import Reading


def read(bars: Bars, count: int = 400) -> list[float]:
    return [noisy_reading(5.0, 2.0, np.random.default_rng(seed), bars) for seed in range(count)]


def test_a_reading_is_the_same_whatever_is_told_of_it() -> None:
    assert [float(value) for value in read("none")] == [float(value) for value in read("true")]
    assert [float(value) for value in read("none")] == [float(value) for value in read("repeats")]
    assert not any(isinstance(value, Reading) for value in read("none"))


@pytest.mark.parametrize(("bars", "most"), [("true", 1.1), ("repeats", REPEATS / (REPEATS - 2))])
def test_an_error_bar_is_the_standard_deviation_of_its_reading(bars: Bars, most: float) -> None:
    found = [value for value in read(bars) if isinstance(value, Reading)]
    scores = np.array([(value - 5.0) / value.deviation for value in found])
    assert len(found) == 400
    assert 0.8 < np.median(np.abs(scores)) / 0.6745 < most
    if bars == "true":
        assert all(2.0 * LEAST <= value.deviation <= 2.0 * MOST for value in found)
