"""How surely designs are on the front, and what it costs to confirm them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flexibo import Design, Objective, Space, Study
from flexibo.errors import InvalidValueError
from flexibo.results.confidence import Confidence, confidence, reported_designs, standings
from flexibo.results.handover import HandOver
from flexibo.surrogates import hull, interval
from flexibo.views import front_view

LINE = Space({"x": [0, 1, 2, 3, 4, 5]})


def sure(best: Any, worst: Any, keys: Any = None) -> Confidence:
    lower = np.array(best, dtype=float)
    own = np.arange(lower.size).reshape(lower.shape) if keys is None else np.array(keys)
    return Confidence(lower, np.array(worst, dtype=float), own.astype(np.uint64), 0.05, 1.0, 1, True)


def study_of(rows: dict[int, dict[str, float]], objectives: Any = ("a", "b"), **settings: Any) -> Study:
    study = Study(LINE, list(objectives), seed=0, n_initial=1, **settings)
    for x, values in rows.items():
        study.add({"x": x}, values, cost=dict.fromkeys(values, 2.0) if settings.get("budget") else None)
    return study


def standings_in(found: HandOver) -> dict[Design, str]:
    return {row.design: row.standing for row in (*found.front, *found.promising)}


def test_boxes_decide_the_standing() -> None:
    boxes = sure(
        best=[[0, 5], [4, 0], [2, 3], [2.5, 3.5], [5, 6]],
        worst=[[1, 6], [5, 1], [3, 4], [6, 7], [6, 7]],
    )
    # The fourth may dominate the third; the last one's best is behind the third's worst.
    assert standings(boxes, np.array([0, 1, 2]), 5) == ["confident", "confident", "probable", "possible", "ruled out"]


def test_a_design_that_is_dominated_by_the_best_guess_is_not_called_probable() -> None:
    boxes = sure(best=[[0, 0], [1, 1]], worst=[[3, 3], [2, 2]])
    assert standings(boxes, np.array([0]), 2) == ["probable", "possible"]


def test_a_design_does_not_beat_itself_nor_one_that_must_have_the_same_values() -> None:
    alone = sure(best=[[0, 0]], worst=[[3, 3]])
    assert standings(alone, np.array([0]), 1) == ["confident"]
    twins = sure(best=[[0, 0], [0, 0]], worst=[[3, 3], [3, 3]], keys=[[7, 8], [7, 8]])
    assert standings(twins, np.array([0, 1]), 2) == ["confident", "confident"]
    strangers = sure(best=[[0, 0], [0, 0]], worst=[[3, 3], [3, 3]])
    assert standings(strangers, np.array([0, 1]), 2) == ["probable", "probable"]


def test_equal_values_do_not_dominate_each_other() -> None:
    known = sure(best=[[1, 1], [1, 1], [1, 2]], worst=[[1, 1], [1, 1], [1, 2]])
    assert standings(known, np.array([0, 1]), 3) == ["confident", "confident", "ruled out"]


def test_under_constraints_only_what_surely_keeps_them_is_confident() -> None:
    boxes = sure(best=[[0, 5], [5, 0], [np.inf, np.inf]], worst=[[0, 5], [np.inf, np.inf], [np.inf, np.inf]])
    assert standings(boxes, np.array([0, 1]), 3) == ["confident", "probable", "ruled out"]
    alone = sure(best=[[5, 0]], worst=[[np.inf, np.inf]])
    assert standings(alone, np.array([0]), 1) == ["probable"]


def test_boxes_that_are_called_sure_hold_those_of_every_model_that_is_averaged() -> None:
    study = study_of({x: {"a": a, "b": -a} for x, a in {0: 1.0, 2: 2.0, 3: 9.0}.items()})
    history, predictor = study.history, study.predictor
    boxes = confidence(predictor, history, delta=0.05)
    designs, half = predictor.pool(history), np.sqrt(boxes.beta)
    open_rows = ~np.isin(designs.keys(), history.designs.keys())
    assert open_rows.sum() == 3
    for j, refits in enumerate(predictor.models(history)):
        seen, y = history.data(j)
        model: Any = refits.model(seen.encoded(None), y, groups=LINE.groups(None), sure=True)
        X = designs[open_rows].encoded(None)
        own = np.array([hull(one, X, half) for one in model.fitted])
        np.testing.assert_allclose(boxes.best[open_rows, j], own[:, 0].min(axis=0), rtol=1e-9)
        np.testing.assert_allclose(boxes.worst[open_rows, j], own[:, 2].max(axis=0), rtol=1e-9)
        mixture = interval(model, X, half)
        assert (mixture[0] > boxes.best[open_rows, j]).any()  # or nothing was tested
        assert (mixture[2] < boxes.worst[open_rows, j]).any()


def test_a_front_that_is_measured_whole_is_confident() -> None:
    rows = {x: {"a": float(x), "b": float(abs(4 - x))} for x in range(6)}
    front = study_of(rows).front()
    assert [row.design["x"] for row in front] == [0, 1, 2, 3, 4]
    assert {row.standing for row in front} == {"confident"}


def test_candidates_that_nobody_measured_leave_doubt() -> None:
    front = study_of({0: {"a": 0.0, "b": 3.0}, 5: {"a": 3.0, "b": 0.0}}).front()
    assert {row.standing for row in front} == {"probable"}


def test_standings_are_those_among_all_candidates_whatever_is_listed() -> None:
    rows = {x: {"a": float(x), "b": b} for x, b in enumerate((5.0, 3.9, 3.8, 1.2, 1.1))} | {5: {"a": 4.5}}
    study = study_of(rows)
    everything = standings_in(study.hand_over(include="possible"))
    assert "possible" in everything.values() or "probable" in everything.values()
    for include in ("probable", "confident"):
        assert standings_in(study.hand_over(include=include)).items() <= everything.items()


def test_more_is_listed_the_less_is_asked_for() -> None:
    objectives = [Objective("a"), Objective("b")]
    study = study_of({0: {"a": 1.0, "b": 5.0}, 1: {"a": 2.0}, 2: {"a": 3.0, "b": 3.0}, 3: {"b": 3.1}}, objectives)
    confident, probable, possible = (
        standings_in(study.hand_over(include=least)) for least in ("confident", "probable", "possible")
    )
    assert set(confident) <= set(probable) < set(possible)
    assert {possible[design] for design in set(possible) - set(probable)} == {"possible"}


def test_a_standing_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="'probable'"):
        study_of({0: {"a": 1.0, "b": 1.0}}).front(include="probably")


def test_before_every_objective_is_measured_there_is_no_front() -> None:
    assert study_of({0: {"a": 1.0}}).front(include="possible") == ()


def test_the_designs_of_the_front_can_be_had_without_their_standing() -> None:
    study = study_of({0: {"a": 1.0, "b": 5.0}, 1: {"a": 0.5}, 3: {"a": 9.0, "b": 9.0}})
    found = study.hand_over()
    expected = {row.design for row in (*found.front, *found.promising)}
    assert set(reported_designs(study.predictor, study.history)) == expected
    assert len(reported_designs(study.predictor, Study(LINE, ["a", "b"]).history)) == 0


def test_the_price_of_confirming_is_that_of_what_is_missing() -> None:
    study = study_of({0: {"a": 1.0, "b": 5.0}, 1: {"a": 0.5}}, budget=100)
    assert {row.design["x"]: row.confirm_cost for row in study.promising(include="possible")} == {1: 2.0}
    assert {point.design["x"]: point.confirm_cost for point in front_view(study).points} == {0: 0.0, 1: 2.0}


def test_the_view_has_the_same_standings() -> None:
    study = study_of({0: {"a": 1.0, "b": 5.0}, 1: {"a": 0.5}, 3: {"a": 9.0, "b": 9.0}})
    points = {point.design["x"]: point.standing for point in front_view(study).points}
    rows = {design["x"]: standing for design, standing in standings_in(study.hand_over(include="possible")).items()}
    assert points == rows | dict.fromkeys(points.keys() - rows.keys(), "ruled out")
    assert all("standing" in point.to_dict() for point in front_view(study).points)


def test_a_table_shows_standings_where_they_say_something() -> None:
    study = study_of({0: {"a": 1.0, "b": 5.0}, 1: {"a": 0.5}, 2: {"a": 0.4, "b": 4.0}}, budget=100)
    found = study.hand_over(include="possible")
    assert set(standings_in(found).values()) > {"probable"}
    assert any("standing" in str(rows).splitlines()[0] for rows in (found.front, found.promising))
    assert "standing" not in str(study_of({0: {"a": 1.0, "b": 3.0}, 5: {"a": 3.0, "b": 1.0}}).front())
    assert study_of({0: {"a": 1.0, "b": 3.0}}).front().records()[0]["standing"] in ("confident", "probable")
