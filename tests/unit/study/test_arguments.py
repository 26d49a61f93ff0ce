"""The arguments of a study: what is used, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.unit.study.small_studies import LINE, SPACE, line, opened

from flexibo import Design, Objective, Space, Study
from flexibo.errors import InvalidTypeError, InvalidValueError, UnknownNameError
from flexibo.executors import ProcessExecutor
from flexibo.history import History
from flexibo.study._arguments import checked_cost, checked_only, checked_reference

Functions = Mapping[str, Callable[[Design], Any]]
Make = Callable[..., Study]


@pytest.mark.parametrize("lease", [0, -1, "soon", True, float("nan")])
def test_a_lease_must_be_a_time(lease: Any) -> None:
    with pytest.raises(InvalidValueError, match="lease is"):
        opened(None, lease=lease)


def test_callbacks_must_be_callable() -> None:
    with pytest.raises(TypeError, match="callbacks is 5"):
        opened(None, callbacks=5)


def test_an_executor_must_be_one() -> None:
    with pytest.raises(InvalidTypeError, match=r"executor is 3.*flexibo\.executors"):
        line().run(LINE, executor=3)  # type: ignore[arg-type]


def test_slots_of_an_objective_that_does_not_exist_are_refused() -> None:
    with ProcessExecutor(1, slots={"bb": 1}) as executor, pytest.raises(UnknownNameError, match=r"'bb'.*'b'"):
        line().run(LINE, executor=executor)
    with pytest.raises(InvalidTypeError, match=r"executor is .*ProcessExecutor"):
        line().run(LINE, executor=ProcessExecutor)  # type: ignore[arg-type]


def test_run_names_the_function_that_is_missing(make_study: Make, functions: Functions) -> None:
    with pytest.raises(InvalidTypeError, match=r"'joules'.* error, joules"):
        make_study().run({"error": functions["error"]})
    with pytest.raises(UnknownNameError, match=r"'eror'.*'error'"):
        make_study().run({**functions, "eror": functions["error"]})


def test_a_function_for_an_objective_that_is_measured_with_another_is_refused() -> None:
    study = Study({"x": (0.0, 1.0)}, ["a", Objective("b", measured_with="a")])
    with pytest.raises(InvalidValueError, match="measured with another"):
        study.run(LINE)


@pytest.mark.parametrize(
    ("settings", "error", "facts"),
    [
        ({"budget": 0}, InvalidValueError, "budget is 0;.* zero"),
        ({"budget": -3}, InvalidValueError, "budget is -3;.* zero"),
        ({"budget": math.nan}, InvalidValueError, "budget is nan;.* zero"),
        ({"budget": 10**400}, InvalidValueError, "budget is 1000.* zero"),
        ({"budget": "many"}, InvalidTypeError, "budget is 'many';.* None"),
        ({"budget": True}, InvalidTypeError, "budget is True;.* None"),
        ({"reference": {"error": 1.0}}, InvalidValueError, "reference names error;.* error, joules"),
        ({"reference": [1.0]}, InvalidValueError, "reference has 1 .* 2 objectives"),
        ({"reference": [math.nan, 1.0]}, InvalidValueError, "reference has nan for 'error'"),
        ({"reference": 3}, InvalidTypeError, "reference is 3;.* error, joules"),
        ({"callbacks": [3]}, InvalidTypeError, "callback is 3;"),
        ({"name": ""}, InvalidTypeError, "name is '';"),
        ({"initial_designs": 5}, InvalidTypeError, "initial_designs is 5;"),
        ({"initial_designs": {"filters": 16}}, InvalidTypeError, "initial_designs is {'filters': 16};"),
    ],
)
def test_a_wrong_argument_is_named_with_its_value(
    make_study: Make, settings: dict[str, Any], error: type[Exception], facts: str
) -> None:
    with pytest.raises(error, match=facts):
        make_study(**settings)


@pytest.mark.parametrize(
    ("cost", "error"),
    [
        (-1.0, InvalidValueError),
        (math.nan, InvalidValueError),
        (math.inf, InvalidValueError),
        ("1.5", InvalidValueError),
        (b"1.5", InvalidValueError),
        ("many", InvalidTypeError),
        (None, InvalidTypeError),
        (10**400, InvalidTypeError),
    ],
)
def test_a_cost_must_be_a_number_that_is_not_negative(cost: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="cost is "):
        checked_cost(cost)


def test_a_reference_is_given_by_name_or_in_the_order_of_the_objectives() -> None:
    objectives = [Objective("a"), Objective("b", "max")]
    assert checked_reference([1, 2], objectives) == checked_reference({"b": 2, "a": 1}, objectives) == {"a": 1, "b": 2}


def test_asking_for_a_value_asks_for_the_measurement_that_yields_it() -> None:
    history = History(Space(SPACE), [Objective("a"), Objective("b", measured_with="a"), Objective("c")])
    assert checked_only(["b"], history) == frozenset({"a"})
    assert checked_only({"b", "c"}, history) == frozenset({"a", "c"})
    assert checked_only(None, history) is None
    with pytest.raises(InvalidTypeError, match=r"only is \[\]"):
        checked_only([], history)
