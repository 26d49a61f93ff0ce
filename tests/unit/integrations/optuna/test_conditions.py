from __future__ import annotations

from flexibo import Categorical, Integer, Ordinal, Real
from flexibo.integrations.optuna._conditions import conditions

OPTIONS = {
    "optimiser": Categorical(["sgd", "adam", "lion"]),
    "rate": Real(0.0, 1.0),
    "momentum": Real(0.0, 1.0),
    "nesterov": Categorical([True, False]),
}


def test_an_option_that_every_row_has_depends_on_nothing() -> None:
    assert (
        conditions([{"optimiser": "sgd", "rate": 0.1}], {name: OPTIONS[name] for name in ("optimiser", "rate")}) == {}
    )


def test_the_parent_of_an_option_is_found() -> None:
    rows = [
        {"optimiser": "sgd", "rate": 0.1, "momentum": 0.5, "nesterov": True},
        {"optimiser": "adam", "rate": 0.2},
        {"optimiser": "lion", "rate": 0.3},
    ]
    found = conditions(rows, OPTIONS)
    assert found == {"momentum": {"optimiser": ["sgd"]}, "nesterov": {"optimiser": ["sgd"]}}


def test_a_number_of_layers_tells_which_layers_there_are() -> None:
    options = {"layers": Integer(1, 9), "units 0": Integer(1, 8), "units 1": Integer(1, 8), "units 2": Integer(1, 8)}
    rows = [{"layers": n} | {f"units {i}": 4 for i in range(min(n, 3))} for n in (1, 2, 5, 3)]
    found = conditions(rows, options)
    assert found["units 1"] == {"layers": [2, 3, 4, 5]}
    assert found["units 2"] == {"layers": [3, 4, 5]}


def test_an_option_may_depend_on_an_option_that_depends_on_another() -> None:
    options = {"a": Categorical(["x", "y"]), "b": Categorical(["u", "v"]), "c": Real(0.0, 1.0)}
    rows = [{"a": "x", "b": "u", "c": 0.5}, {"a": "x", "b": "v"}, {"a": "y"}]
    assert conditions(rows, options) == {"b": {"a": ["x"]}, "c": {"b": ["u"]}}


def test_two_parents_can_be_needed() -> None:
    options = {"a": Ordinal([1, 2]), "b": Categorical(["u", "v"]), "c": Real(0.0, 1.0)}
    rows = [{"a": 1, "b": "u", "c": 0.5}, {"a": 1, "b": "v"}, {"a": 2, "b": "u"}, {"a": 2, "b": "v"}]
    assert conditions(rows, options) == {"c": {"a": [1], "b": ["u"]}}


def test_what_depends_on_a_real_number_is_not_explained() -> None:
    options = {"rate": Real(0.0, 1.0), "decay": Real(0.0, 1.0), "more": Real(0.0, 1.0)}
    rows = [{"rate": 0.9, "decay": 0.1, "more": 0.2}, {"rate": 0.1}]
    assert conditions(rows, options) == {"decay": None, "more": None}
