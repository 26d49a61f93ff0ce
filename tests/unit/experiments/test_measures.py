from __future__ import annotations

import numpy as np
import pytest
from tests.unit.experiments.made_repeats import made_up

from flexibo.experiments import measures
from flexibo.experiments.measures import LOG_COST, REAL_COST, equal_limit, shown, state_at


def test_equal_cost_is_what_the_thriftiest_spent_unless_it_had_nothing_more_to_ask() -> None:
    expensive = made_up("a", [1, 0.5, 0.2])
    cheap = made_up("b", [1, 0.6, 0.3], bought=[["cheap"], ["cheap"]])
    assert equal_limit([expensive, cheap], REAL_COST) == 20.0
    assert equal_limit([expensive, made_up("b", [1, 0.6], bought=[["cheap"]], stopped="done")], REAL_COST) == 200.0
    assert equal_limit([expensive, cheap], LOG_COST) == pytest.approx(2 * np.log(10))


def test_a_repeat_stands_where_its_last_affordable_iteration_left_it() -> None:
    expensive = made_up("a", [1, 0.5, 0.2])
    assert [state_at(expensive, REAL_COST, limit).error for limit in (0, 99, 100, 199, 200, 10**6)] == [
        1,
        1,
        0.5,
        0.5,
        0.2,
        0.2,
    ]


def test_numbers_have_no_powers_of_ten() -> None:
    assert [measures.number(value, 2) for value in (147.3, 1920.4, 0.0, 1e-5, 1e-9)] == [
        "147",
        "1,920",
        "0",
        "0.00001",
        "<0.000001",
    ]
    assert shown([0.3341, 0.3342]) == "0.334 ± 0.00005"
    assert shown([206.0, 500.0]) == "353 ± 147"


def test_a_single_value_has_no_spread_and_none_is_a_dash() -> None:
    assert shown([12000.0, 14000.0]) == "13,000 ± 1,000"
    assert shown([0.5]) == "0.5"
    assert shown([float("nan")]) == "-"
