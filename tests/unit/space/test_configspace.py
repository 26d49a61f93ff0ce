"""ConfigSpace, in and out."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest

from flexibo.errors import InvalidTypeError, InvalidValueError, MissingExtraError
from flexibo.space import Categorical, Integer, Ordinal, Real, Space

CS = pytest.importorskip("ConfigSpace")


@pytest.fixture
def configspace() -> CS.ConfigurationSpace:
    space = CS.ConfigurationSpace()
    space.add(
        [
            CS.CategoricalHyperparameter("optimiser", ["sgd", "adam", "rms"]),
            CS.OrdinalHyperparameter("size", ["small", "medium", "large"]),
            CS.UniformIntegerHyperparameter("layers", 1, 9),
            CS.UniformFloatHyperparameter("rate", 1e-4, 1e-1, log=True),
            CS.CategoricalHyperparameter("gpu", [True, False]),
            CS.Constant("board", "orin"),
            CS.UniformFloatHyperparameter("momentum", 0.0, 0.9),
            CS.UniformIntegerHyperparameter("warmup", 1, 4),
        ]
    )
    return space


def test_hyperparameters_become_options(configspace: CS.ConfigurationSpace) -> None:
    assert dict(Space.from_configspace(configspace).options) == {
        "optimiser": Categorical(["sgd", "adam", "rms"]),
        "size": Ordinal(["small", "medium", "large"]),
        "layers": Integer(1, 9),
        "rate": Real(1e-4, 1e-1, log=True),
        "gpu": Categorical([True, False]),
        "board": Categorical(["orin"]),
        "momentum": Real(0.0, 0.9),
        "warmup": Integer(1, 4),
    }


def test_options_become_hyperparameters_and_come_back() -> None:
    space = Space(
        {
            "a": ["x", "y"],
            "b": [1, 2, 4],
            "c": (1, 6),
            "d": Real(1e-3, 1.0, log=True),
            "e": Integer(1, 64, log=True),
            "f": [True, False],
            "g": [1, "auto"],
            "h": ["only"],
        },
        conditions={"c": {"a": ["x"]}, "d": {"a": ["y"], "b": [1, 4]}},
    )
    copy = Space.from_configspace(space.to_configspace())
    assert dict(copy.options) == dict(space.options)
    assert copy.conditions == space.conditions


def test_configurations_of_the_translated_space_are_legal_designs() -> None:
    space = Space(
        {"a": ["x", "y"], "b": [1, 2, 4], "c": (1, 6), "d": (0.0, 1.0)},
        conditions={"c": {"a": ["x"]}, "d": {"c": [1, 2]}},
    )
    translated = space.to_configspace()
    translated.seed(0)
    assert all(dict(configuration) in space for configuration in translated.sample_configuration(100))
    for design in space.sample(50, np.random.default_rng(0)):
        values = {name: value for name, value in design.items() if value is not None}
        CS.Configuration(translated, values=values).check_valid_configuration()


def test_conditions_become_the_values_that_keep_a_child_active(configspace: CS.ConfigurationSpace) -> None:
    cs = configspace
    cs.add(
        CS.AndConjunction(
            CS.InCondition(cs["momentum"], cs["optimiser"], ["sgd", "rms"]),
            CS.NotEqualsCondition(cs["momentum"], cs["optimiser"], "rms"),
            CS.GreaterThanCondition(cs["momentum"], cs["layers"], 7),
        )
    )
    cs.add(
        CS.OrConjunction(
            CS.EqualsCondition(cs["warmup"], cs["size"], "small"),
            CS.GreaterThanCondition(cs["warmup"], cs["size"], "medium"),
        )
    )
    assert Space.from_configspace(cs).conditions == {
        "momentum": {"optimiser": ("sgd",), "layers": (8, 9)},
        "warmup": {"size": ("small", "large")},
    }


def test_forbidden_clauses_become_the_rule(configspace: CS.ConfigurationSpace) -> None:
    cs = configspace
    cs.add(CS.EqualsCondition(cs["warmup"], cs["gpu"], True))
    cs.add(
        [
            CS.ForbiddenAndConjunction(
                CS.ForbiddenEqualsClause(cs["optimiser"], "adam"), CS.ForbiddenInClause(cs["size"], ["medium", "large"])
            ),
            CS.ForbiddenGreaterThanRelation(cs["warmup"], cs["layers"]),
        ]
    )
    space = Space.from_configspace(cs)
    good = {
        "optimiser": "sgd",
        "size": "large",
        "layers": 3,
        "rate": 0.01,
        "gpu": True,
        "board": "orin",
        "momentum": 0.5,
        "warmup": 2,
    }
    assert good in space
    assert good | {"optimiser": "adam"} not in space
    assert good | {"warmup": 4} not in space
    assert good | {"gpu": False, "warmup": None, "layers": 1} in space
    cs.seed(0)
    assert all(dict(configuration) in space for configuration in cs.sample_configuration(50))
    for design in space.sample(50, np.random.default_rng(0)):
        values = {name: value for name, value in design.items() if value is not None}
        CS.Configuration(cs, values=values).check_valid_configuration()


def test_a_clause_about_an_inactive_option_forbids_nothing() -> None:
    cs = CS.ConfigurationSpace()
    cs.add([CS.CategoricalHyperparameter("p", ["on", "off"]), CS.OrdinalHyperparameter("o", ["lo", "mid", "hi"])])
    cs.add(CS.EqualsCondition(cs["o"], cs["p"], "on"))
    cs.add(
        CS.ForbiddenOrConjunction(
            CS.ForbiddenGreaterThanEqualsClause(cs["o"], "hi"), CS.ForbiddenEqualsClause(cs["o"], "mid")
        )
    )
    space = Space.from_configspace(cs)
    assert {"p": "off", "o": None} in space
    assert [tuple(design.values()) for design in space.enumerate()] == [("on", "lo"), ("off", None)]


def test_forbidden_clauses_survive_both_directions_and_pickling(configspace: CS.ConfigurationSpace) -> None:
    cs = configspace
    cs.add(
        [
            CS.ForbiddenAndConjunction(
                CS.ForbiddenEqualsClause(cs["optimiser"], "adam"), CS.ForbiddenInClause(cs["size"], ["small"])
            ),
            CS.ForbiddenLessThanRelation(cs["layers"], cs["warmup"]),
        ]
    )
    space = Space.from_configspace(cs)
    back = Space.from_configspace(space.to_configspace())
    assert dict(back.options) == dict(space.options)
    copy = pickle.loads(pickle.dumps(space))
    assert copy == space
    assert hash(copy.valid) == hash(space.valid)
    free = Space(dict(space.options))
    for design in free.sample(300, np.random.default_rng(0)):
        assert (design in space) == (design in back) == (design in copy)


def test_what_flexibo_cannot_express_is_refused(configspace: CS.ConfigurationSpace) -> None:
    cs = configspace
    cs.add(
        CS.OrConjunction(
            CS.EqualsCondition(cs["momentum"], cs["optimiser"], "sgd"),
            CS.EqualsCondition(cs["momentum"], cs["gpu"], True),
        )
    )
    with pytest.raises(InvalidValueError, match="several parents"):
        Space.from_configspace(cs)


def test_a_condition_on_a_real_parent_is_refused(configspace: CS.ConfigurationSpace) -> None:
    configspace.add(CS.GreaterThanCondition(configspace["warmup"], configspace["rate"], 1e-2))
    with pytest.raises(InvalidValueError, match=r"'rate'.*many values"):
        Space.from_configspace(configspace)


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (lambda: CS.NormalFloatHyperparameter("x", 0.5, 0.1, 0, 1), "'x'.*NormalFloatHyperparameter"),
        (lambda: CS.CategoricalHyperparameter("x", ["a", "b"], weights=[1, 2]), "'x'.*weights"),
        (lambda: CS.OrdinalHyperparameter("x", [1, 3, 2]), "'x'.*ascending"),
        (lambda: CS.CategoricalHyperparameter("x", [(1, 2), (3, 4)]), r"'x'.*\(1, 2\)"),
    ],
)
def test_a_hyperparameter_without_counterpart_is_refused(make: object, facts: str) -> None:
    cs = CS.ConfigurationSpace()
    cs.add(make())  # type: ignore[operator]
    with pytest.raises((InvalidValueError, InvalidTypeError), match=facts):
        Space.from_configspace(cs)


def test_pools_and_rules_of_ones_own_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="pool"):
        Space.from_designs([{"a": 1}]).to_configspace()
    with pytest.raises(InvalidValueError, match="rule"):
        Space({"a": [1, 2]}, valid=lambda design: True).to_configspace()


def test_only_a_configuration_space_can_be_read() -> None:
    with pytest.raises(InvalidTypeError, match=r"dict.*ConfigSpace.ConfigurationSpace"):
        Space.from_configspace({"a": [1, 2]})


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ConfigSpace", None)
    with pytest.raises(MissingExtraError, match=r"flexibo\[configspace\]"):
        Space({"a": [1, 2]}).to_configspace()
