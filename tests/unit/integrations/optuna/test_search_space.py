from __future__ import annotations

from typing import Any

import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, create_trial

from flexibo import Space
from flexibo.errors import InvalidValueError
from flexibo.integrations.optuna._search_space import SearchSpace, searched

KINDS = CategoricalDistribution(["sgd", "adam"])
UNIT = FloatDistribution(0.0, 1.0)


def trial(**params: tuple[Any, BaseDistribution]) -> FrozenTrial:
    return create_trial(
        params={name: value for name, (value, _) in params.items()},
        distributions={name: distribution for name, (_, distribution) in params.items()},
        value=0.0,
    )


CONDITIONAL = [trial(kind=("sgd", KINDS), momentum=(0.5, UNIT)), trial(kind=("adam", KINDS), beta=(0.5, UNIT))]


def test_conditional_parameters_are_searched_with_the_others() -> None:
    distributions = searched(CONDITIONAL)
    assert set(distributions) == {"kind", "momentum", "beta"}
    found = SearchSpace.of(distributions, CONDITIONAL)
    assert found.space.conditions == {"momentum": {"kind": ("sgd",)}, "beta": {"kind": ("adam",)}}
    design = found.design({"kind": "sgd", "momentum": 0.25, "beta": 0.75})
    assert design == {"kind": "sgd", "momentum": 0.25, "beta": None}
    assert design is not None
    assert found.params(design) == {"kind": "sgd", "momentum": 0.25}


def test_parameters_with_one_value_and_those_that_flexibo_has_no_option_for_are_left_out() -> None:
    one, huge = IntDistribution(3, 3), IntDistribution(0, 10**15)
    assert searched([trial(x=(0.5, UNIT), one=(3, one), huge=(7, huge))]) == {"x": UNIT}


def test_a_parameter_that_no_other_explains_is_left_out() -> None:
    trials = [trial(x=(0.9, UNIT), y=(0.5, UNIT)), trial(x=(0.1, UNIT))]
    assert searched(trials) == {"x": UNIT}
    with pytest.raises(InvalidValueError, match="'y'"):
        SearchSpace.whole(trials)


def test_there_is_nothing_to_search_without_trials_or_parameters() -> None:
    assert searched([]) == searched([create_trial(value=1.0)]) == {}


def test_parameters_outside_of_the_space_or_missing_have_no_design() -> None:
    found = SearchSpace.of({"x": UNIT, "y": UNIT}, [])
    assert found.design({"x": 0.5, "y": 2.0}) is None
    assert found.design({"x": 0.5}) is None
    assert found.design({"x": 0.5, "y": 0.5, "z": "more"}) == {"x": 0.5, "y": 0.5}


def test_the_whole_space_is_as_wide_as_any_trial() -> None:
    trials = [trial(x=(0.5, UNIT)), trial(x=(4.0, FloatDistribution(0.5, 5.0)))]
    found = SearchSpace.whole(trials)
    assert found.design({"x": 0.5}) is not None
    assert found.design({"x": 4.0}) is not None


def test_a_space_of_the_user_decides_which_trials_fit() -> None:
    trials = [trial(x=(0.5, UNIT), y=(0.1, UNIT)), trial(x=(0.9, UNIT), y=(0.1, UNIT))]
    found = SearchSpace.within(Space({"x": (0.0, 0.6)}), trials)
    assert [found.design(one.params) for one in trials] == [{"x": 0.5}, None]
