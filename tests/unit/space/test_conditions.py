"""Conditions: options that only matter when another option has one of some values."""

from __future__ import annotations

import re

import numpy as np
import pytest

from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.space import Space


@pytest.mark.parametrize(
    ("conditions", "facts"),
    [
        ({"momentun": {"optimiser": "sgd"}}, ("'momentun'", "'momentum'")),
        ({"momentum": {"optimizer": "sgd"}}, ("'optimizer'", "'optimiser'")),
        (
            {"momentum": {"optimiser": ["sdg"]}},
            ("'momentum'", "'sdg'", "'optimiser'", "'sgd', 'adam'"),
        ),
        ({"momentum": {"optimiser": []}}, ("'momentum'", "no values", "'optimiser'")),
        ({"momentum": {"rate": [0.5]}}, ("'momentum'", "'rate'", "Real")),
        ({"momentum": {"momentum": 1}}, ("cycle", "momentum -> momentum")),
        ({"momentum": {"optimiser": "sgd"}, "optimiser": {"momentum": 1}}, ("cycle",)),
    ],
)
def test_conditions_that_make_no_sense_are_refused(
    conditions: dict[str, dict[str, object]], facts: tuple[str, ...]
) -> None:
    options = {"momentum": [1, 2], "optimiser": ["sgd", "adam"], "rate": (0.0, 1.0)}
    with pytest.raises(InvalidValueError, match=".*".join(map(re.escape, facts))):
        Space(options, conditions=conditions)


@pytest.mark.parametrize("conditions", [["a"], {"a": "b"}, {"a": {}}])
def test_conditions_must_be_mappings(conditions: object) -> None:
    with pytest.raises(InvalidTypeError, match="give a mapping"):
        Space({"a": [1, 2], "b": [1, 2]}, conditions=conditions)  # type: ignore[arg-type]


def test_equal_conditions_compare_equal_however_they_are_written() -> None:
    options = {"a": ["x", "y", "z"], "b": [1, 2]}
    first = Space(options, conditions={"b": {"a": ["y", "x"]}})
    assert first == Space(options, conditions={"b": {"a": ("x", "y", "x")}})
    assert first != Space(options, conditions={"b": {"a": "x"}})
    assert first.conditions == {"b": {"a": ("x", "y")}}


def test_inactive_options_are_none_and_may_be_left_out(training: Space) -> None:
    design = training.design({"optimiser": "adam", "schedule": "flat"})
    assert dict(design) == {
        "nesterov": None,
        "optimiser": "adam",
        "schedule": "flat",
        "momentum": None,
        "drop": None,
    }
    assert training.design(dict(design)) == design


def test_a_chain_of_conditions_holds_link_by_link(training: Space) -> None:
    values = {"optimiser": "rms", "schedule": "step"}
    assert training.design(values | {"momentum": 0.5})["nesterov"] is None
    assert training.design(values | {"momentum": 0.9, "nesterov": True})["nesterov"] is True
    with pytest.raises(InvalidValueError, match="'nesterov' is missing"):
        training.design(values | {"momentum": 0.9})


def test_all_parents_must_agree(training: Space) -> None:
    assert training.design({"optimiser": "sgd", "schedule": "step", "momentum": 0.5, "drop": 3})["drop"] == 3
    assert {"optimiser": "rms", "schedule": "step", "momentum": 0.5, "drop": 3} not in training


def test_settling_removes_what_is_inactive_down_the_chain(training: Space) -> None:
    codes = np.array([[1.0, 1.0, 0.0, 2.0, 3.0]])  # nesterov, adam, flat, momentum 0.99, drop 3
    training.from_codes(codes).table.activity.settle(codes, list(training.options.values()))
    assert codes[0, 1:3].tolist() == [1.0, 0.0]
    assert np.isnan(codes[0, [0, 3, 4]]).all()


def test_settling_with_a_generator_draws_what_becomes_active() -> None:
    space = Space({"x": (5, 7), "p": ["on", "off"]}, conditions={"x": {"p": "on"}})
    codes = np.array([[np.nan, 0.0], [6.0, 0.0], [6.0, 1.0]])
    settled = [design["x"] for design in space.from_codes(codes).settled(np.random.default_rng(0))]
    assert settled[0] in (5, 6, 7)
    assert settled[1:] == [6, None]
