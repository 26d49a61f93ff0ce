"""What a study hands over: confirmed designs, and promising ones."""

from __future__ import annotations

from typing import Any

import pytest

from flexibo import Objective, Space, Study
from flexibo.errors import InvalidValueError

LINE = Space({"x": list(range(12))})


def study_of(rows: dict[int, dict[str, float]], objectives: Any = ("a", "b"), **settings: Any) -> Study:
    study = Study(LINE, list(objectives), seed=0, n_initial=1, **settings)
    for x, values in rows.items():
        study.add({"x": x}, values, cost={name: {"a": 2.0}.get(name, 30.0) for name in values})
    return study


def shown(study: Study, **choices: Any) -> list[object]:
    return [row.design["x"] for row in study.promising(**choices)]


# b falls along the line; a rises. Some of the designs lack one of them.
ROWS: dict[int, dict[str, float]] = {x: {"a": float(x), "b": 11.0 - x} for x in (0, 2, 4, 7, 9, 11)}


def test_a_design_that_lacks_something_and_may_be_on_the_front_is_promising() -> None:
    study = study_of({**ROWS, 5: {"a": 5.0}})
    (row,) = study.promising()
    assert (row.design["x"], row.missing, row.confirm_cost, row.chance) == (5, ("b",), 30.0, 1.0)
    assert (row.values["a"], row.measured, row.readings) == (5.0, {"a": True, "b": False}, {"a": 1, "b": 0})
    assert row.values["b"] == pytest.approx(6.0, abs=0.5)
    assert row.deviations["a"] == 0.0 < row.deviations["b"]
    assert row.relative_gain is not None
    assert 0.0 < row.relative_gain < 0.1
    assert row.number == 1 + len(ROWS)


def test_what_is_expected_to_add_nothing_is_not_promising() -> None:
    assert shown(study_of({**ROWS, 5: {"a": 50.0}})) == []


def test_the_most_gain_per_cost_comes_first_and_numbers_count_on_from_the_front() -> None:
    study = study_of({**ROWS, 5: {"a": 5.0}, 1: {"b": 10.0}, 10: {"b": 1.0}})
    rows = study.promising()
    assert {row.design["x"]: row.confirm_cost for row in rows} == {5: 30.0, 1: 2.0, 10: 2.0}
    rates = [row.gain / (row.confirm_cost or 0.0) for row in rows]
    assert rates == sorted(rates, reverse=True)
    assert [row.number for row in rows] == [7, 8, 9]


def test_a_design_of_which_something_failed_is_never_promising() -> None:
    study = study_of({**ROWS, 5: {"a": 5.0}}, budget=500.0)
    assert shown(study) == [5]
    for _ in range(40):
        evaluation = study.ask()
        assert evaluation is not None
        if evaluation.design["x"] == 5:
            study.fail(evaluation, "out of memory")
            break
        study.tell(evaluation, 30.0)
    assert 5 not in shown(study, include="possible")


def test_a_design_that_is_being_measured_is_still_promising() -> None:
    study = study_of({**ROWS, 5: {"a": 5.0}}, budget=500.0)
    study.ask()
    assert 5 in shown(study)


def test_designs_that_differ_in_nothing_that_matters_are_one_row() -> None:
    space = Space({"x": list(range(12)), "k": ["p", "q"]})
    study = Study(space, [Objective("a", options=["x"]), Objective("b", options=["x"])], seed=0, n_initial=1)
    for x, values in ROWS.items():
        study.add({"x": x, "k": "p"}, values)
    study.add({"x": 5, "k": "p"}, {"a": 5.0})
    study.add({"x": 5, "k": "q"}, {"a": 5.0})
    assert [dict(row.design) for row in study.promising()] == [{"x": 5, "k": "p"}]


def test_while_nothing_is_confirmed_the_gain_has_no_share() -> None:
    study = study_of({0: {"a": 1.0}, 5: {"b": 3.0}})
    rows = study.promising()
    assert [row.relative_gain for row in rows] == [None] * len(rows)
    assert rows


def test_a_known_cost_of_nothing_is_no_price() -> None:
    study = Study(LINE, ["a", "b"], seed=0, n_initial=1)
    for x, values in {**ROWS, 5: {"a": 5.0}}.items():
        study.add({"x": x}, values)
    assert [row.confirm_cost for row in study.promising()] == [None]


def test_possible_designs_follow_the_promising_ones_and_leave_their_numbers() -> None:
    study = study_of({**ROWS, 5: {"a": 5.0}, 6: {"a": 6.9}, 3: {"a": 3.9}})
    few, many = study.promising(), study.promising(include="possible")
    assert many[: len(few)] == few
    assert [row.number for row in many] == sorted({row.number for row in many})
    assert all(row.standing == "confident" for row in study.promising(include="confident"))


def test_before_every_objective_is_measured_nothing_is_promising() -> None:
    assert shown(study_of({0: {"a": 1.0}})) == []


def test_a_wrong_standing_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="probably"):
        study_of(ROWS).promising(include="probably")
