"""Numbers and tables for people."""

from __future__ import annotations

import pytest

from flexibo._internal.numbers import (
    cost_unit,
    format_budget,
    format_exact,
    format_number,
    format_spent,
    significant_digits,
)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(9999999.0, 4, "9999999"), (1e7, 4, "1e+07"), (-123456.7, 4, "-123457"), (1e-5, 4, "1e-05"), (0.0, 4, "0")],
)
def test_a_number_has_no_exponent_below_ten_millions(value: float, digits: int, text: str) -> None:
    assert format_number(value, digits) == text


def test_digits_tell_values_apart_unless_they_are_not_known_so_exactly() -> None:
    assert significant_digits([]) == 4
    assert significant_digits([(70792.0, 0.0), (70792.4, 0.0)]) == 6
    assert significant_digits([(1.0, 0.0), (1.0 + 1e-12, 0.0)]) == 8
    assert significant_digits([(70792.0, 100.0), (70792.4, 100.0)]) == 4
    assert significant_digits([(3.0, 0.0), (3.0, 0.0)]) == 4


def test_a_number_in_full_is_the_same_number() -> None:
    for value in (0.1 + 0.2, 70792.0, 1e300, -5e-324):
        assert float(format_exact(value)) == value


def test_costs_carry_their_unit_where_it_is_known() -> None:
    assert format_spent(12345.6, 1e5, cost_unit({"study_file": "/a/study.yaml"}, {})) == "12346 of 100000 s"
    assert format_spent(12.0, None, cost_unit({}, {})) == "12"
    by_hand = {"study_file": "tea.yaml", "cost_unit": ""}
    assert format_spent(5.0, 1234.5, cost_unit(by_hand, {"a": True})) == "5 of 1234.5"
    assert format_budget(1234.5, "s") == "1234.5 s"
