from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest

from flexibo import Objective
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.objectives import check_objectives


def test_a_maximised_objective_flips_its_sign_and_back() -> None:
    objective = Objective("throughput", "max")
    assert objective.loss(3.0) == -3.0
    assert objective.value(objective.loss(3.0)) == 3.0


def test_a_minimised_objective_keeps_its_sign() -> None:
    assert Objective("error").loss(3.0) == 3.0


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        ({"direction": "down"}, "'e'.*'down'.*'min'.*'max'"),
        ({"repeats": 0}, "'e'.* 0;.*1"),
        ({"cost": -1.0}, r"'e'.* -1\.0;.*zero"),
        ({"timeout": 0.0}, r"'e'.* 0\.0;.*above zero"),
        ({"cost": math.nan}, "'e'.* nan;.*zero"),
        ({"options": ["a", "a"]}, "'e'.*a, a"),
        ({"remeasure": True}, "'e'.*remeasure=True.*noisy=True"),
    ],
)
def test_a_mistake_in_an_objective_names_the_argument_and_what_was_given(
    arguments: dict[str, object], facts: str
) -> None:
    with pytest.raises(InvalidValueError, match=facts) as caught:
        Objective("e", **arguments)  # type: ignore[arg-type]
    assert [caught.value.argument] == list(arguments)


@pytest.mark.parametrize("name", ["", 3])
def test_a_name_is_a_text_that_is_not_empty(name: object) -> None:
    with pytest.raises(InvalidValueError, match=rf"named {name!r}"):
        Objective(name)  # type: ignore[arg-type]


def test_options_given_as_one_string_are_refused() -> None:
    with pytest.raises(InvalidTypeError, match=r"'error'.*options 'filters'.*list") as caught:
        Objective("error", options="filters")  # type: ignore[arg-type]
    assert caught.value.argument == "options"


@pytest.mark.parametrize("value", ["0.3", None, [1.0], b"1"])
def test_a_value_that_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(InvalidTypeError, match=f"'error'.* {re.escape(repr(value))};"):
        Objective("error").checked_value(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(InvalidValueError, match=rf"'error'.* {value};"):
        Objective("error").checked_value(value)


@pytest.mark.parametrize(
    ("given", "facts"),
    [
        ({"steps": 0}, "'error' has steps 0;.*whole number from 1"),
        ({"steps": True}, "steps True"),
        ({"steps": 2.5}, "steps 2.5"),
        ({"steps": [3, 1]}, r"steps \[3, 1\];.*ascending"),
        ({"steps": []}, r"steps \[\]"),
        ({"steps": range(1, 10)}, "1 to 8"),
        ({"steps": "27"}, "steps '27'"),
        ({"steps": 9, "measured_with": "joules"}, "steps and measured_with 'joules'.*alone"),
        ({"steps": 9, "repeats": 3}, "steps and repeats 3"),
        ({"steps": 9, "noisy": True, "remeasure": True}, "steps and remeasure True"),
        ({"steps": 9, "remeasure": True}, "steps and remeasure True"),
        ({"resumable": False}, "resumable False;.*no steps"),
    ],
)
def test_steps_that_make_no_sense_get_one_sentence(given: dict[str, Any], facts: str) -> None:
    with pytest.raises(InvalidValueError, match=facts):
        Objective("error", **given)


def test_an_objective_with_steps_travels_and_nothing_is_measured_with_it() -> None:
    objective = Objective("error", steps=np.array([1, 3]), resumable=False)
    assert objective.to_dict() == {"name": "error", "steps": [1, 3], "resumable": False}
    assert Objective.from_dict(json.loads(json.dumps(objective.to_dict()))) == objective
    assert hash(objective) == hash(Objective("error", steps=(1, 3), resumable=False))
    assert Objective("error", steps=10**6).stops[-2:] == (333334, 10**6)
    assert len(Objective("error", steps=10**6).stops) == 8
    with pytest.raises(InvalidValueError, match="'ms' is measured_with 'error', which has steps"):
        check_objectives([objective, Objective("ms", measured_with="error")], ["x"])


def test_the_dictionary_of_an_objective_makes_an_equal_one() -> None:
    objective = Objective("b", "max", unit="J", options=["x"], noisy=True, repeats=3, cost=2.0)
    assert Objective(**objective.to_dict()) == objective


def test_an_objective_travels_to_other_processes_and_back_from_json() -> None:
    import copy
    import pickle

    objective = Objective("joules", "max", unit="J", options=["a"], noisy=True, timeout=3, resources={"jetson": 1})
    limited = Objective("ms", at_most=50, optimise=True)
    ranged = Objective("error", lower=-math.inf, upper=100.0)
    for one in (objective, limited, ranged):
        json.dumps(one.to_dict(), allow_nan=False)
        assert pickle.loads(pickle.dumps(one)) == one == copy.deepcopy(one) == Objective.from_dict(one.to_dict())
    with pytest.raises(TypeError):
        objective.resources["GPU"] = 1  # type: ignore[index]


@pytest.mark.parametrize(
    "resources", [{"GPU": 0}, {"GPU": "1"}, {"GPU": True}, {"": 1}, ["GPU"], {"GPU": float("nan")}]
)
def test_resources_are_amounts_above_zero(resources: object) -> None:
    with pytest.raises((InvalidValueError, InvalidTypeError), match="resource"):
        Objective("error", resources=resources)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        ({"lower": 3, "upper": 3}, "'e'.*lower 3.*upper 3"),
        ({"lower": "0"}, "'e'.*lower '0'.*number"),
        ({"upper": True}, "'e'.*upper True.*number"),
        ({"lower": math.inf}, "'e'.*lower inf.*-inf"),
        ({"upper": math.nan}, "'e'.*upper nan"),
        ({"at_most": 5, "lower": 10}, "'e'.*at_most 5.*lower 10"),
        ({"at_least": 5, "upper": 1}, "'e'.*at_least 5.*upper 1"),
    ],
)
def test_a_mistake_in_the_possible_values_is_one_sentence(arguments: dict[str, object], facts: str) -> None:
    with pytest.raises(InvalidValueError, match=facts) as caught:
        Objective("e", **arguments)  # type: ignore[arg-type]
    assert caught.value.argument in arguments


def test_possible_losses_follow_the_direction() -> None:
    assert Objective("e", lower=0, upper=100).possible_losses == (0.0, 100.0)
    assert Objective("e", "max", lower=0, upper=100).possible_losses == (-100.0, 0.0)
    assert Objective("e", "max", upper=100).possible_losses == (-100.0, math.inf)


@pytest.mark.parametrize(
    ("value", "facts"), [(-0.1, r"'e'.* -0\.1,.*lower bound 0;"), (101, "'e'.* 101,.*upper bound 100;")]
)
def test_a_reading_beyond_the_possible_values_is_refused(value: float, facts: str) -> None:
    objective = Objective("e", lower=0, upper=100)
    with pytest.raises(InvalidValueError, match=facts):
        objective.checked_value(value)
    assert objective.checked_number(value) == value
    assert [objective.checked_value(edge) for edge in (0, 100.0)] == [0.0, 100.0]


@pytest.mark.parametrize(
    ("bounds", "text"),
    [({}, ""), ({"lower": 0}, "never below 0"), ({"upper": 1e3}, "never above 1000"), ({"lower": -math.inf}, "")],
)
def test_the_possible_values_are_told_in_words(bounds: dict[str, float], text: str) -> None:
    assert Objective("e", **bounds).range_text == text  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["maximise", "maximize", "Maximize"])
def test_directions_may_be_written_in_full(word: str) -> None:
    assert Objective("speed", word) == Objective("speed", "max")  # type: ignore[arg-type]
