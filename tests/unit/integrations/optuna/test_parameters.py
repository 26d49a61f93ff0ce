from __future__ import annotations

import math
from typing import Any

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from flexibo import Categorical, FlexiBOError, Integer, Ordinal, Real
from flexibo.integrations.optuna._parameters import MOST_STEPS, Parameter, distribution_of, parameters, present, widest


@pytest.mark.parametrize(
    ("distribution", "option"),
    [
        (FloatDistribution(0.0, 1.0), Real(0.0, 1.0)),
        (FloatDistribution(1e-5, 1.0, log=True), Real(1e-5, 1.0, log=True)),
        (FloatDistribution(0.0, 0.3, step=0.1), Ordinal([0.0, 0.1, 0.2, 0.3])),
        (IntDistribution(1, 6), Integer(1, 6)),
        (IntDistribution(1, 1000, log=True), Integer(1, 1000, log=True)),
        (IntDistribution(2, 8, step=3), Ordinal([2, 5, 8])),
        (CategoricalDistribution(["a", "b"]), Categorical(["a", "b"])),
        (CategoricalDistribution([None, 1, "x"]), Categorical(["None", 1, "x"])),
        (CategoricalDistribution([1, True, 2]), Categorical([1, 2])),
    ],
)
def test_every_distribution_has_its_option(distribution: Any, option: object) -> None:
    assert Parameter.of("x", distribution).option == option


def test_values_become_values_of_the_parameter_and_back() -> None:
    kinds = [None, 1, "x"]
    parameter = Parameter.of("k", CategoricalDistribution(kinds))
    assert [parameter.param(parameter.value(kind)) for kind in kinds] == kinds
    steps = Parameter.of("s", FloatDistribution(-1.0, 1.0, step=0.1))
    assert steps.value(0.1 + 0.2) == 0.3
    assert steps.param(0.3) == 0.3


def test_thousands_of_choices_are_not_compared_with_each_other() -> None:
    class Counting(str):
        comparisons = 0
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            Counting.comparisons += 1
            return str.__eq__(self, other)

    choices = [Counting(f"v{number}") for number in range(2000)]
    distribution = CategoricalDistribution(choices)
    Counting.comparisons = 0
    parameter = Parameter.of("c", distribution)
    assert parameter.param("v7") == "v7"
    assert parameter.value("v7") == "v7"
    assert Counting.comparisons < 10 * len(choices)


def test_choices_that_cannot_be_hashed_are_told_apart() -> None:
    with pytest.warns(UserWarning, match="persistent"):
        distribution = CategoricalDistribution([[1], [2], [1]])  # type: ignore[list-item]
    parameter = Parameter.of("c", distribution)
    assert parameter.option == Categorical(["[1]", "[2]"])
    assert parameter.param("[2]") == [2]


def test_values_outside_of_the_distribution_have_no_counterpart() -> None:
    assert Parameter.of("x", FloatDistribution(0.0, 1.0)).value(2.0) is None
    assert Parameter.of("x", FloatDistribution(0.0, 1.0)).value(math.nan) is None
    assert Parameter.of("x", FloatDistribution(0.0, 1.0, step=0.25)).value(0.3) is None
    assert Parameter.of("k", CategoricalDistribution(["a"])).value("b") is None
    assert Parameter.of("n", IntDistribution(0, 5)).value(None) is None


@pytest.mark.parametrize("distribution", [FloatDistribution(0.0, 1.0, step=1e-5), IntDistribution(0, 999_999, step=3)])
def test_very_many_steps_are_an_interval_that_is_rounded(distribution: Any) -> None:
    parameter = Parameter.of("x", distribution)
    assert (distribution.high - distribution.low) / distribution.step > MOST_STEPS
    assert isinstance(parameter.option, (Integer, Real))
    value = parameter.param(distribution.high / 3 + 0.4 * distribution.step)
    assert distribution._contains(distribution.to_internal_repr(value))
    assert parameter.param(distribution.high) <= distribution.high


def test_where_steps_are_counted_every_value_is_a_step() -> None:
    distribution = FloatDistribution(0.0, 1.0, step=1e-6)
    parameter = parameters({"x": distribution})["x"]
    assert parameter.option == Integer(0, 10**6)
    assert [parameter.param(step) for step in (0, 349_702, 10**6)] == [0.0, 0.349702, 1.0]
    assert parameter.value(0.349702) == 349_702


def test_a_distribution_that_flexibo_cannot_search_is_named_or_left_out() -> None:
    huge = IntDistribution(0, 10**15)
    with pytest.raises(FlexiBOError, match="'n'"):
        Parameter.of("n", huge)
    assert list(parameters({"n": huge, "": FloatDistribution(0.0, 1.0), "x": FloatDistribution(0.0, 1.0)})) == ["x"]


@pytest.mark.parametrize(
    ("option", "distribution"),
    [
        (Real(0.1, 1.0, log=True), FloatDistribution(0.1, 1.0, log=True)),
        (Integer(1, 6), IntDistribution(1, 6)),
        (Ordinal([2, 4, 6]), IntDistribution(2, 6, step=2)),
        (Ordinal([0.1, 0.2, 0.3]), FloatDistribution(0.1, 0.3, step=0.1)),
        (Ordinal([1, 10, 100]), CategoricalDistribution([1, 10, 100])),
        (Ordinal(["low", "high"]), CategoricalDistribution(["low", "high"])),
        (Ordinal([6, 4, 2]), CategoricalDistribution([6, 4, 2])),
        (Ordinal([7]), CategoricalDistribution([7])),
        (Categorical([True, False]), CategoricalDistribution([True, False])),
    ],
)
def test_every_option_has_its_distribution(option: Any, distribution: object) -> None:
    assert distribution_of(option) == distribution


def test_a_range_that_was_changed_for_good_is_the_present_one() -> None:
    old, new = FloatDistribution(0.0, 10.0), FloatDistribution(0.0, 1.0)
    assert present([old, old, new, new]) == new
    assert present([old]) == old


def test_a_range_that_changes_from_trial_to_trial_is_searched_as_a_whole() -> None:
    ranges = [FloatDistribution(0.0, 1.0), FloatDistribution(-2.0, 0.5)]
    assert present(ranges) == present([*ranges, *ranges]) == FloatDistribution(-2.0, 1.0)
    steps = [IntDistribution(0, 8, step=4), IntDistribution(2, 6, step=4)]
    assert widest(steps) == steps[-1]
    kinds = CategoricalDistribution(["a", "b"])
    assert present([kinds, kinds]) == kinds
