"""Which designs get another fold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from flexibo import Study
from flexibo.integrations.scikit_learn._quantities import Quantities, quantities_of
from flexibo.integrations.scikit_learn._race import FoldTable, Race

FOLDS = 3


def quantities(**limits: float) -> Quantities:
    scores: Any = {"a": "accuracy", "b": "f1"}
    return quantities_of(LogisticRegression(), scores, None, None, limits or None)


def study_of(readings: dict[int, list[tuple[float, float]]], budget: float = 60, **limits: float) -> Study:
    """A study with these scores of designs, fold by fold."""
    study = Study({"x": (0, 99)}, quantities(**limits).objectives(cost=1.0), budget=budget, seed=0)
    for x, folds in readings.items():
        for n, (a, b) in enumerate(folds):
            study.enqueue({"x": x}, ["a"], readings=n + 1)
            evaluation = study.ask()
            assert evaluation is not None
            study.tell(evaluation, {"a": a, "b": b}, cost=1.0)
    return study


def table_of(study: Study, **limits: float) -> FoldTable:
    return FoldTable.of(study.history, FOLDS, quantities(**limits))


def test_a_table_has_the_folds_of_every_design_in_order() -> None:
    table = table_of(study_of({1: [(0.5, 0.6), (0.7, 0.8)], 2: [(0.1, 0.2)]}))
    assert [design["x"] for design in table.designs] == [1, 2]
    assert table.counts.tolist() == [2, 1]
    np.testing.assert_allclose(table.losses[0], [[-0.5, -0.6], [-0.7, -0.8], [np.nan, np.nan]])
    np.testing.assert_allclose(table.means, [[-0.6, -0.7], [-0.1, -0.2]])
    assert not table.complete.any()


def test_designs_are_compared_on_the_folds_that_both_have() -> None:
    complete = [(0.9, 0.9), (0.5, 0.5), (0.5, 0.5)]  # the mean is 0.63
    worse_there, better_there = [(0.8, 0.8)], [(0.95, 0.8)]
    table = table_of(study_of({1: complete, 2: worse_there, 3: better_there}))
    assert table.racing().tolist() == [0, 2]


def test_the_front_is_of_complete_designs_alone_and_begins_with_the_first_objective() -> None:
    table = table_of(study_of({1: [(0.5, 0.9)] * 3, 2: [(0.9, 0.5)] * 3, 3: [(1.0, 1.0)] * 2, 4: [(0.4, 0.4)] * 3}))
    assert table.front().tolist() == [1, 0]


def test_what_breaks_a_limit_is_on_the_front_only_while_nothing_keeps_it() -> None:
    scores = {1: [(0.9, 0.2)] * 3, 2: [(0.5, 0.7)] * 3}
    assert table_of(study_of(scores, b=0.6), b=0.6).front().tolist() == [1]
    assert table_of(study_of(scores, b=0.8), b=0.8).front().tolist() == [0]


def test_a_failed_design_is_given_up() -> None:
    study = study_of({1: [(0.5, 0.5)]})
    study.enqueue({"x": 1}, ["a"], readings=2)
    evaluation = study.ask()
    assert evaluation is not None
    study.fail(evaluation, "no", cost=1.0)
    assert table_of(study).racing().tolist() == []


def test_the_folds_of_the_front_are_queued_as_far_as_they_can_be_completed() -> None:
    readings = {1: [(0.5, 0.9)] * 2, 2: [(0.9, 0.5)]}
    for budget, wanted in ((6, [1, 2]), (5, [1]), (3, [])):
        study = study_of(readings, budget)
        assert Race(FOLDS, 100, quantities()).enqueue(study) == len(wanted)
        assert [queued.design["x"] for queued in study.queue] == wanted


def test_the_number_of_fits_is_a_limit_too() -> None:
    study = study_of({1: [(0.5, 0.9)] * 2, 2: [(0.9, 0.5)]})
    assert Race(FOLDS, 4, quantities()).enqueue(study) == 1  # three were made


@pytest.mark.parametrize(("budget", "stops"), [(10, False), (6, False), (5, True)])
def test_a_search_stops_while_the_front_and_another_design_could_be_completed(budget: float, stops: bool) -> None:
    study = study_of({1: [(0.5, 0.9)] * 2}, budget)  # two are spent, one is missing, and a design takes three
    assert bool(Race(FOLDS, 100, quantities())(study)) is stops


def test_what_is_begun_is_reserved_with_all_its_folds() -> None:
    study = study_of({}, budget=8)
    rule = Race(FOLDS, 100, quantities())
    assert study.ask() is not None
    assert not rule(study)  # 7 are left, 2 are kept for the first design
    assert study.ask() is not None
    assert rule(study)  # 6 are left, 4 are kept


def test_a_race_that_does_not_search_stops_at_once() -> None:
    assert Race(FOLDS, 100, quantities(), searches=False)(study_of({}))


def test_noise_is_what_neither_the_design_nor_the_fold_explains() -> None:
    additive = {1: [(0.5, 0.1), (0.6, 0.1), (0.4, 0.1)], 2: [(0.7, 0.2), (0.8, 0.2), (0.6, 0.2)]}
    np.testing.assert_allclose(table_of(study_of(additive)).noise(), 0.0, atol=1e-12)
    noisy = {1: [(0.5, 0.1), (0.7, 0.1)], 2: [(0.7, 0.2), (0.5, 0.2)]}
    # Four readings less two means of designs and one effect of a fold; each is 0.1 away.
    np.testing.assert_allclose(table_of(study_of(noisy)).noise(), [0.2, 0.0], atol=1e-12)
    assert table_of(study_of({1: noisy[1]})).noise().tolist() == [0.0, 0.0]


def test_a_design_that_may_be_worse_by_chance_stays_in_the_race_until_it_has_all_folds() -> None:
    noisy = {1: [(0.5, 0.1), (0.7, 0.1), (0.6, 0.1)], 2: [(0.7, 0.2), (0.5, 0.2), (0.6, 0.2)]}
    near, far = [(0.65, 0.15)], [(0.2, 0.15)]
    table = table_of(study_of(noisy | {3: near, 4: far}))
    assert table.racing().tolist() == [1]
    assert table.racing(patience=1.0).tolist() == [1, 2]
    assert table_of(study_of(noisy | {3: near * 3})).racing(patience=1.0).tolist() == [1, 2]
    assert table_of(study_of(noisy | {3: [(0.59, 0.15)] * 3})).racing(patience=1.0).tolist() == [1]


def test_what_is_worse_than_the_reference_is_not_pursued_unless_all_is() -> None:
    scores: Any = {"a": "accuracy", "b": "f1"}
    chosen = quantities_of(LogisticRegression(), scores, None, None, None, {"a": 0.6, "b": 0.0})
    study = study_of({1: [(0.5, 0.9)], 2: [(0.9, 0.5)]})
    assert FoldTable.of(study.history, FOLDS, chosen).racing().tolist() == [1]
    study = study_of({1: [(0.5, 0.9)]})
    assert FoldTable.of(study.history, FOLDS, chosen).racing().tolist() == [0]


def test_one_fold_is_reserved_for_a_design_that_may_be_worse_by_chance() -> None:
    noisy = {1: [(0.5, 0.1), (0.7, 0.1), (0.6, 0.1)], 2: [(0.7, 0.2), (0.5, 0.2), (0.6, 0.2)], 3: [(0.65, 0.15)]}
    for left, stops in ((4, False), (3, True)):
        study = study_of(noisy, 7 + left)
        assert bool(Race(FOLDS, 100, quantities())(study)) is stops
        assert Race(FOLDS, 100, quantities()).enqueue(study) == 1


def test_what_the_study_cannot_queue_is_left_out() -> None:
    study = study_of({1: [(0.5, 0.9)] * 2, 2: [(0.9, 0.5)] * 2})
    study.enqueue({"x": 1}, ["a"], readings=3)  # as another process may
    assert Race(FOLDS, 100, quantities()).enqueue(study) == 1
    assert len(study.queue) == 2
