from __future__ import annotations

import math

import numpy as np
import pytest

from flexibo import Objective
from flexibo.surrogates import PossibleLosses

INF = math.inf
POSITIVE, MIXED, NEGATIVE, ZERO = (np.array(y) for y in ([2.0, 0.1], [2.0, -0.1], [-2.0, -0.1], [2.0, 0.0]))


@pytest.mark.parametrize(("y", "least"), [(POSITIVE, 0.0), (MIXED, -INF), (NEGATIVE, -INF), (ZERO, -INF), ([], -INF)])
def test_values_are_positive_as_long_as_all_readings_are(y: np.ndarray, least: float) -> None:
    assert PossibleLosses.of(Objective("a")).given(np.array(y)) == (least, INF)


def test_values_to_maximise_are_positive_where_losses_are_negative() -> None:
    possible = PossibleLosses.of(Objective("speed", "max"))
    assert possible.given(NEGATIVE) == (-INF, 0.0)
    assert possible.given(POSITIVE) == (-INF, INF)


def test_bounds_are_as_given_whatever_the_readings() -> None:
    possible = PossibleLosses.of(Objective("error", lower=-5, upper=100))
    assert possible.given(POSITIVE) == possible.given(MIXED) == (-5.0, 100.0)
    assert PossibleLosses.of(Objective("accuracy", "max", lower=0, upper=1)).given(NEGATIVE) == (-1.0, 0.0)


def test_an_upper_bound_alone_leaves_the_sign_to_the_readings() -> None:
    possible = PossibleLosses.of(Objective("error", upper=100))
    assert possible.given(POSITIVE) == (0.0, 100.0)
    assert possible.given(MIXED) == (-INF, 100.0)


def test_the_user_can_say_that_values_may_be_negative() -> None:
    assert PossibleLosses.of(Objective("a", lower=-INF)).given(POSITIVE) == (-INF, INF)


@pytest.mark.parametrize("bound", [{"at_most": 0}, {"at_least": 0}, {"at_most": -3}])
def test_a_constraint_at_zero_or_below_says_that_values_may_be_negative(bound: dict[str, float]) -> None:
    objective = Objective("margin", **bound)  # type: ignore[arg-type]
    assert PossibleLosses.of(objective).given(POSITIVE) == (-INF, INF)
    assert PossibleLosses.of(objective).given(NEGATIVE) == (-INF, INF)
    assert PossibleLosses.of(Objective("ms", at_most=5)).given(POSITIVE) == (0.0, INF)


def test_what_is_sure_is_what_the_user_says() -> None:
    assert PossibleLosses.of(Objective("a", upper=9)).given(POSITIVE, sure=True) == (-INF, 9.0)


def test_nothing_is_assumed_if_it_is_not_wanted() -> None:
    assert PossibleLosses.of(Objective("a"), assume_positive=False).given(POSITIVE) == (-INF, INF)
    assert PossibleLosses.of(Objective("a", lower=0), assume_positive=False).given(POSITIVE) == (0.0, INF)
