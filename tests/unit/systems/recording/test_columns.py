"""Which numbers of a recording are possible."""

from __future__ import annotations

import math
from typing import Any

import pytest

from flexibo.systems.recording.columns import (
    CURVES,
    FURTHER,
    MAY_BE_ZERO,
    MEASURED,
    curve_fault,
    number_fault,
    outcome_fault,
)

NUMBERS = (*MEASURED, *FURTHER, *CURVES[1:])


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_finite_and_zero_only_where_that_is_possible(name: str) -> None:
    assert number_fault(name, 2.0) == number_fault(name, 3) == ""
    assert (number_fault(name, 0.0) == "") == (name in MAY_BE_ZERO)
    for wrong in (math.nan, math.inf, -math.inf, -1e-9, -1, True, None, "3", [3.0], {}):
        assert number_fault(name, wrong).startswith(f"{name} is ")
        assert wrong is None or outcome_fault({name: wrong}).startswith(f"{name} is ")


def test_a_fault_of_a_long_value_is_short() -> None:
    assert len(number_fault("windows", ["x" * 10_000])) < 100


@pytest.mark.parametrize(
    ("errors", "error", "is_possible"),
    [
        ([50.0, 0.0], 0.0, True),
        ([37.3793], 37.37931, True),  # curves have four decimals
        ([150.1235], 150.12345, True),
        ([37.3793], 37.3796, False),
        ([50.0, math.nan], math.nan, False),
        ([50.0], None, False),
        ([], 5.0, False),
        ({"0": 5.0}, 5.0, False),
        ([[5.0]], 5.0, False),
    ],
)
def test_a_curve_ends_at_the_error(errors: Any, error: float | None, is_possible: bool) -> None:
    assert (curve_fault(errors, error) == "") == is_possible
    assert (outcome_fault({"epoch_errors": errors, "error_percent": error}) == "") == is_possible


def test_what_failed_or_was_not_measured_has_no_fault() -> None:
    assert outcome_fault({"failed": "no memory"}) == outcome_fault({"latency_spread": None, "windows": 1}) == ""
    assert outcome_fault({"deployed": {"bf16": 3.0, "int8": None}}) == ""
    assert outcome_fault({"deployed": {"bf16": math.nan}})
