from __future__ import annotations

import pickle

import pytest

from flexibo.errors import InvalidValueError
from flexibo.objectives import Reading


def test_a_reading_is_a_number_that_travels_with_its_error_bar() -> None:
    reading = pickle.loads(pickle.dumps(Reading(3.0, deviation=0.2, repeats=5)))
    assert (reading + 1, reading.deviation, reading.repeats) == (4.0, 0.2, 5)
    assert repr(reading) == "Reading(3.0, deviation=0.2, repeats=5)"
    for deviation in (-1.0, float("nan"), float("inf")):
        with pytest.raises(InvalidValueError, match="deviation of"):
            Reading(3.0, deviation=deviation)
    with pytest.raises(InvalidValueError, match="repeats"):
        Reading(3.0, deviation=1.0, repeats=0)


def test_the_median_of_repeats_has_the_deviation_of_a_median() -> None:
    median = Reading.of_median([1.0, 2.0, 3.0, 4.0, 5.0])
    assert isinstance(median, Reading)
    assert (float(median), median.repeats) == (3.0, 5)
    assert median.deviation == pytest.approx(1.2533 * 1.5811 / 5**0.5, rel=1e-3)
    single = Reading(2.0, deviation=0.3, repeats=7)
    assert Reading.of_median([single]) is single
