from __future__ import annotations

import numpy as np
import pytest
from tests.unit.experiments.made_repeats import made_up

from flexibo.experiments import measures
from flexibo.experiments.measures import FREE_COST, LOG_COST, REAL_COST, equal_limit, shown, state_at


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


def test_what_is_not_finite_takes_no_part_in_a_mean() -> None:
    values = [1.0, float("nan"), 3.0, float("inf")]
    assert measures.mean(values) == 2.0
    assert measures.spread(values) == pytest.approx(1.0)
    assert np.isnan(measures.mean([float("nan")]))
    assert measures.spread([5.0]) == 0.0


def test_values_come_in_the_order_of_the_seeds() -> None:
    repeats = [made_up("a", [1, 0.1 * seed], seed=seed) for seed in (2, 0, 1)] + [made_up("b", [1, 0.9])]
    found = measures.values_of(repeats, "p", "a", measures.error_at(REAL_COST, 100.0))
    assert found == pytest.approx([0.0, 0.1, 0.2])


def test_an_extra_method_does_not_decide_the_equal_cost() -> None:
    repeats = [made_up("a", [1, 0.5]), made_up("b", [1, 0.5], bought=[["cheap"]]), made_up("a", [1], problem="q")]
    assert measures.limits(repeats, REAL_COST) == {"p": 10.0, "q": 0.0}
    assert measures.limits(repeats, REAL_COST, extra=("b",)) == {"p": 100.0, "q": 0.0}
    assert measures.compared_methods(repeats, ours="a", extra=("b",)) == []


def test_sums_of_costs_that_are_rounded_still_reach_their_limit() -> None:
    made = made_up("a", [1, 0.5, 0.25])
    assert measures.iterations_at(REAL_COST, 200.0 * (1 - 1e-12))(made) == 2.0
    assert measures.targets_at(REAL_COST, 0.0)(made_up("a", [1, 1], in_target=3)) == 3.0


def test_with_readings_free_equal_cost_is_that_of_the_expensive_evaluations() -> None:
    expensive = made_up("a", [1, 0.5, 0.2])
    cheap = made_up("b", [1, 0.6, 0.3, 0.1], bought=[["cheap"], ["expensive"], ["cheap"]])
    assert equal_limit([expensive, cheap], FREE_COST) == 100.0
    assert [state_at(repeat, FREE_COST, 100.0).error for repeat in (expensive, cheap)] == [0.5, 0.1]
    assert state_at(cheap, REAL_COST, 100.0).error == 0.6
