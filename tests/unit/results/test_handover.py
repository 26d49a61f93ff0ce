"""What a study hands over: confirmed designs, and promising ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from flexibo import Objective, Space, Study
from flexibo.errors import InvalidValueError
from flexibo.results.handover import is_bound
from flexibo.results.known_designs import KnownDesigns
from flexibo.results.promising import Promising

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
    assert row.estimates["b"] == row.values["b"]
    assert row.relative_gain is not None
    assert 0.0 < row.relative_gain < 0.1
    assert row.number == 1 + len(ROWS)


def test_the_front_is_confirmed_with_the_best_of_each_objective_and_the_knee_marked() -> None:
    study = study_of({0: {"a": 1.0, "b": 9.0}, 2: {"a": 2.0, "b": 3.0}, 5: {"a": 8.0, "b": 2.0}, 7: {"a": 0.0}})
    rows = study.front()
    assert [(row.number, row.design["x"], row.best, row.knee) for row in rows] == [
        (1, 0, ("a",), False),
        (2, 2, (), True),
        (3, 5, ("b",), False),
    ]


def test_a_noisy_row_has_the_mean_of_its_readings_beside_the_estimate_of_the_model() -> None:
    study = study_of({0: {"a": 4.0, "b": 1.0}, 5: {"a": 9.0, "b": 0.5}}, [Objective("a", noisy=True), "b"])
    study.add({"x": 0}, {"a": 6.0})
    row = study.front()[0]
    assert (row.values["a"], row.readings["a"], row.spreads["a"]) == (5.0, 2, pytest.approx(2.0**0.5))
    assert row.deviations["a"] > 0.0
    assert row.estimates["a"] != 5.0
    assert (row.values["b"], row.readings["b"], row.estimates["b"], row.deviations["b"]) == (1.0, 1, 1.0, 0.0)


def test_without_a_complete_design_the_front_is_empty() -> None:
    assert study_of({0: {"a": 1.0}, 5: {"b": 3.0}}).front() == ()
    assert "No confirmed design" in str(study_of({}).front())


def test_what_confirming_everything_costs_counts_shared_parts_once() -> None:
    space = Space({"x": list(range(12)), "k": ["p", "q"]})
    study = Study(space, [Objective("a", options=["x"]), Objective("b")], seed=0, n_initial=1)
    for x, values in ROWS.items():
        study.add({"x": x, "k": "p"}, values, cost={"a": 30.0, "b": 2.0})
    study.add({"x": 5, "k": "p"}, {"b": 6.0}, cost=2.0)
    study.add({"x": 5, "k": "q"}, {"b": 6.1}, cost=2.0)
    study.add({"x": 10, "k": "q"}, {"b": 0.9}, cost=2.0)
    found = study.hand_over(include="possible")
    assert {row.confirm_cost for row in found.promising} == {30.0}
    known = KnownDesigns.of(study.predictor, study.history)
    places = np.array([len(ROWS), len(ROWS) + 1, len(ROWS) + 2])
    assert known.missing_prices(places).tolist() == [[30.0, 0.0]] * 3
    assert known.price_of_all(places) == 60.0


def test_the_last_sentence_has_the_price_of_everything_and_no_bound_without_checked_models() -> None:
    study = study_of({**ROWS, 5: {"a": 5.0}, 10: {"b": 1.0}})
    found = study.hand_over()
    assert found.confirm_cost == 32.0
    assert found.certificate is not None
    assert found.certificate.unread > 0
    assert not is_bound(found.certificate)
    assert all(text in found.sentence("s") for text in (f"{found.certificate.unread:,}", "32 s", "2 promising"))
    assert found.to_dict() == {"missed_at_most": None, "missed_with_promising": None, "confirm_all_cost": 32.0}
    assert study_of({}).hand_over().sentence() == ""


def test_the_last_sentence_has_the_bound_of_the_confirmed_designs_alone() -> None:
    study = study_of({**ROWS, 5: {"a": 5.0}})
    found = study.hand_over()
    assert found.certificate is not None
    assert found.with_promising is not None
    assert found.certificate.designs == len(ROWS)
    assert found.with_promising.designs == len(ROWS) + 1
    assert found.with_promising.relative <= found.certificate.relative
    bound = replace(found.certificate, unread=0, relative=0.125)
    told = replace(found, certificate=bound, with_promising=replace(bound, relative=0.05))
    assert all(text in told.sentence() for text in ("12.5 %", "5 %", "95 %"))
    assert told.to_dict()["missed_at_most"] == 0.125
    nothing = replace(told, promising=Promising(), to_confirm=0)
    ending = "no design that is measured in part is expected to improve the confirmed front"
    assert nothing.sentence().endswith(f"{ending}; designs that were not tried may be better.")
    assert str(nothing.promising).lower() == f"{ending}."
    best = replace(bound, relative=0.0)  # nothing better exists
    assert replace(nothing, certificate=best, with_promising=best).sentence().endswith(f"{ending}.")


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
