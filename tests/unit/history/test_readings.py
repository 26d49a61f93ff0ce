"""What was read of each design, and the confirmed front."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flexibo import Objective, Space, Study
from flexibo.history.readings import confirmed_front, readings

LINE = Space({"x": [0, 1, 2, 3], "k": ["p", "q"]})


def study_of(rows: list[tuple[int, str, dict[str, float]]], objectives: Any = ("a", "b")) -> Study:
    study = Study(LINE, list(objectives), seed=0, n_initial=1)
    for x, k, values in rows:
        study.add({"x": x, "k": k}, values)
    return study


def confirmed(study: Study) -> list[tuple[object, object]]:
    history = study.history
    designs = history.designs
    return [(designs[i]["x"], designs[i]["k"]) for i in confirmed_front(history, readings(history)).tolist()]


def test_a_noisy_quantity_is_the_mean_of_its_readings_with_their_number_and_spread() -> None:
    objectives = [Objective("a", "max", noisy=True), Objective("b")]
    rows = [(0, "p", {"a": 1.0, "b": 5.0}), (0, "p", {"a": 2.0}), (0, "p", {"a": 6.0}), (1, "p", {"a": 4.0})]
    read = readings(study_of(rows, objectives).history)
    np.testing.assert_allclose(read.mean, [[-3.0, 5.0], [-4.0, np.nan]])  # losses: a is maximised
    assert read.count.tolist() == [[3, 1], [1, 0]]
    np.testing.assert_allclose(read.spread, [[np.sqrt(7.0), np.nan], [np.nan, np.nan]])  # (4 + 1 + 9) / 2
    assert read.complete.tolist() == [True, False]


def test_designs_that_must_have_equal_values_share_their_readings() -> None:
    read = readings(
        study_of([(0, "p", {"a": 1.0}), (0, "q", {"b": 2.0})], [Objective("a", options=["x"]), "b"]).history
    )
    assert read.count.tolist() == [[1, 0], [1, 1]]


def test_only_complete_designs_that_no_other_complete_one_dominates_are_confirmed() -> None:
    rows = [(0, "p", {"a": 2.0, "b": 1.0}), (1, "p", {"a": 1.0, "b": 2.0}), (2, "p", {"a": 3.0, "b": 3.0})]
    assert confirmed(study_of([*rows, (3, "p", {"a": 0.0})])) == [(1, "p"), (0, "p")]


def test_designs_that_differ_in_nothing_that_matters_are_one_row() -> None:
    objectives = [Objective("a", options=["x"]), Objective("b", options=["x"])]
    study = study_of([(0, "q", {"a": 1.0, "b": 1.0}), (0, "p", {"a": 1.0}), (1, "q", {"a": 0.0, "b": 2.0})], objectives)
    assert readings(study.history).complete.all()
    assert confirmed(study) == [(1, "q"), (0, "q")]


def test_equal_values_by_chance_are_two_rows() -> None:
    assert confirmed(study_of([(0, "p", {"a": 1.0, "b": 1.0}), (1, "p", {"a": 1.0, "b": 1.0})])) == [(0, "p"), (1, "p")]


@pytest.mark.parametrize(("limit", "expected"), [(1.5, [(1, "p")]), (0.5, [(2, "p"), (1, "p"), (0, "p")])])
def test_what_breaks_a_limit_is_listed_only_while_nothing_keeps_it(limit: float, expected: list[object]) -> None:
    objectives = ["a", "b", Objective("c", at_most=limit)]
    rows = [
        (0, "p", {"a": 3.0, "b": 0.0, "c": 9.0}),
        (1, "p", {"a": 2.0, "b": 1.0, "c": 1.0}),
        (2, "p", {"a": 0.0, "b": 2.0, "c": 9.0}),
    ]
    assert confirmed(study_of(rows, objectives)) == expected


def test_without_readings_there_is_nothing() -> None:
    history = Study(LINE, ["a", "b"]).history
    assert readings(history).mean.shape == (0, 2)
    assert confirmed_front(history, readings(history)).tolist() == []
