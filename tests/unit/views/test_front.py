"""The front: kinds of designs, values, the Pareto region, and which designs are listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.growth import write_study
from tests.strict_json import strict_json

from flexibo import Design, Objective, Space, Study
from flexibo.transfer import study_copy
from flexibo.views import FrontView, front_view
from flexibo.views.front import KINDS, measured_front_view

Functions = Mapping[str, Callable[[Design], Any]]
LINE = {"x": (0.0, 1.0)}


def kinds_of(view: FrontView) -> dict[float, str]:
    return {float(point.design["x"]): point.kind for point in view.points}  # type: ignore[arg-type]


def added(objectives: list[Objective], rows: Mapping[float, dict[str, float]], **settings: Any) -> Study:
    study = Study(LINE, objectives, n_initial=1, seed=0, candidates=20, **settings)
    for x, values in rows.items():
        study.add({"x": x}, values)
    return study


def test_the_points_of_the_front_are_those_that_the_study_names(
    make_study: Callable[..., Study], functions: Functions
) -> None:
    study = make_study(budget=120, n_initial=6, candidates=50)
    study.run(functions)
    view = front_view(study)
    on_front = [point for point in view.points if point.kind.startswith("front")]
    found = study.hand_over()
    for point, row in zip(on_front, (*found.front, *found.promising), strict=True):
        assert (point.number, point.design) == (row.number, row.design)
        assert point.values == pytest.approx(dict(row.values))
        assert (point.measured, point.readings) == (row.measured, row.readings)
        assert point.kind == ("front-promising" if row.missing else "front-confirmed")
    assert [point.best for point in on_front[: len(found.front)]] == [row.best for row in found.front]
    assert [point.relative_gain for point in on_front[len(found.front) :]] == [r.relative_gain for r in found.promising]
    assert view.sentence == found.sentence()
    region = study.region()
    assert view.region is not None
    assert np.array(view.region.optimistic) == pytest.approx(region.optimistic)
    assert np.array(view.region.pessimistic) == pytest.approx(region.pessimistic)
    assert list(view.region.reference) == pytest.approx(region.reference.tolist())
    assert {point["kind"] for point in strict_json(view)["points"]} <= set(KINDS)
    assert view.left_out == 0


def test_a_maximised_objective_keeps_its_own_values() -> None:
    study = added([Objective("a", "max"), Objective("b")], {0.0: {"a": 5.0, "b": 1.0}, 0.5: {"a": 3.0, "b": 2.0}})
    view = front_view(study)
    assert kinds_of(view) == {0.0: "front-confirmed", 0.5: "measured"}
    assert view.points[0].values == {"a": 5.0, "b": 1.0}
    assert view.region is not None
    assert view.region.reference[0] < 3.0 < 5.0 <= max(row[0] for row in view.region.optimistic)


def test_constraints_decide_the_kind() -> None:
    objectives = [Objective("a"), Objective("b"), Objective("c", at_most=1.0)]
    rows = {
        0.0: {"a": 1.0, "b": 2.0, "c": 0.5},
        0.5: {"a": 0.1, "b": 0.1, "c": 2.0},
        1.0: {"a": 2.0, "b": 3.0, "c": 0.5},
    }
    assert kinds_of(front_view(added(objectives, rows))) == {0.0: "front-confirmed", 0.5: "violating", 1.0: "measured"}
    only = front_view(added(objectives, {0.5: rows[0.5]}))
    assert kinds_of(only) == {0.5: "front-violating"}
    assert only.points[0].feasibility == "violating"


def test_one_objective_and_a_constraint_have_a_region_of_one_axis() -> None:
    view = front_view(added([Objective("a"), Objective("c", at_least=1.0)], {0.0: {"a": 1.0, "c": 2.0}}))
    assert view.region is not None
    assert [len(row) for row in view.region.optimistic] == [1]
    assert view.axes[1].bound_side == "at least"


def test_before_every_objective_is_measured_there_is_what_is_known_and_no_region() -> None:
    assert front_view(Study(LINE, ["a", "b"])).points == ()
    view = front_view(added([Objective("a"), Objective("b", "max")], {0.25: {"b": 2.0}}))
    (point,) = view.points
    assert (point.kind, point.values, point.measured) == ("half", {"a": None, "b": 2.0}, {"a": False, "b": True})
    assert view.region is None
    assert strict_json(view)["region"] is None


def test_a_design_that_failed_is_shown_apart_from_the_others() -> None:
    study = Study(LINE, ["a", "b"], method="random", n_initial=2, seed=0, budget=10)
    while evaluation := study.ask():
        if evaluation.number == 0:
            study.fail(evaluation, "no", impossible=True, cost=1.0)
        else:
            study.tell(evaluation, evaluation.design["x"], cost=1.0)
    failed = study.events[2].evaluation.design  # type: ignore[union-attr]
    kinds = {point.design: point.kind for point in front_view(study).points}
    assert kinds.pop(failed) == "failed"
    assert "failed" not in kinds.values()


def test_confirming_costs_what_the_missing_purchases_are_expected_to_cost() -> None:
    objectives = [Objective("a"), Objective("b"), Objective("c", measured_with="b")]
    study = Study(LINE, objectives, n_initial=1, seed=0, cost="learned")
    for i in range(6):
        study.add({"x": i / 10}, {"a": 1.0 + i, "b": 2.0 - i, "c": 1.0}, cost={"a": 10.0 + i, "b": 1.0 + i / 10})
    study.add({"x": 0.95}, {"a": 0.5}, cost={"a": 16.0})
    study.add({"x": 0.85}, {"b": 0.5}, cost={"b": 3.0})
    points = {point.design["x"]: point for point in front_view(study).points}
    designs = study.space.designs([{"x": 0.95}, {"x": 0.85}])
    prices = study.predictor.costs.prices(study.history, designs)
    assert points[0.95].confirm_cost == pytest.approx(prices[0, 1])
    assert points[0.85].confirm_cost == pytest.approx(prices[1, 0] + prices[1, 1])
    assert {points[i / 10].confirm_cost for i in range(6)} == {0.0}


def test_without_any_cost_nothing_is_said_about_the_cost_to_confirm() -> None:
    study = added([Objective("a"), Objective("b")], {0.0: {"a": 1.0, "b": 1.0}, 0.5: {"a": 0.5}})
    assert {point.design["x"]: point.confirm_cost for point in front_view(study).points} == {0.0: 0.0, 0.5: None}


def test_noisy_objectives_have_the_mean_and_the_spread_of_their_readings() -> None:
    study = Study(LINE, [Objective("a", noisy=True, remeasure=True), Objective("b")], n_initial=1, seed=0)
    rng = np.random.default_rng(0)
    read = (np.arange(12) / 12 + rng.normal(size=12) / 10).tolist()
    for i, value in enumerate(read):
        study.add({"x": i // 2 / 6}, {"a": value, "b": 1.0 - i // 2})
    points = front_view(study).points
    assert len(points) == 6
    for point in points:
        pair = read[2 * round(6 * point.design["x"]) :][:2]  # type: ignore[operator]
        assert point.values["a"] == pytest.approx(np.mean(pair))
        assert point.deviations == pytest.approx({"a": np.std(pair, ddof=1), "b": 0.0})
        assert point.readings == {"a": 2, "b": 1}


def test_designs_that_share_a_value_are_measured_alike() -> None:
    space = Space({"x": (0.0, 1.0), "idle": ["p", "q"]})
    study = Study(space, [Objective("a", options=["x"]), Objective("b")], n_initial=1, seed=0)
    study.add({"x": 0.5, "idle": "p"}, {"a": 1.0, "b": 1.0}, cost={"a": 3.0, "b": 2.0})
    study.add({"x": 0.5, "idle": "q"}, {"b": 2.0})
    shared = next(point for point in front_view(study).points if point.design["idle"] == "q")
    assert shared.measured == {"a": True, "b": True}
    assert shared.confirm_cost == 0.0


def test_the_designs_nearest_to_the_front_are_kept() -> None:
    study = added([Objective("a"), Objective("b")], {i / 100: {"a": i, "b": 1.0 + i} for i in range(100)})
    view = front_view(study, limit=5)
    assert [point.design["x"] for point in view.points] == [0.0, 0.01, 0.02, 0.03, 0.04]
    assert view.left_out == 95
    rows = {0.0: {"a": 0.0, "b": 0.0}, 0.3: {"a": 10.0, "b": 1.0}, 0.6: {"a": 5.0, "b": 5.0}, 0.9: {"a": 6.0, "b": 6.0}}
    assert set(kinds_of(front_view(added([Objective("a"), Objective("b")], rows), limit=2))) == {0.0, 0.6}


def test_of_a_front_beyond_the_limit_an_even_choice_is_kept() -> None:
    study = added([Objective("a"), Objective("b")], {i / 100: {"a": i, "b": 100.0 - i} for i in range(100)})
    view = front_view(study, limit=12)
    assert len(view.points) == 12
    assert view.left_out == 88
    assert {0.0, 0.99} <= {point.design["x"] for point in view.points}


def test_five_objectives_and_a_pool_have_a_view() -> None:
    rows = [{"a": a, "k": k} for a in range(6) for k in ("p", "q")]
    names = list("vwxyz")
    study = Study(Space.from_designs(rows), names, method="random", n_initial=2, seed=0, stop={"max_evaluations": 20})
    study.run({name: lambda d, i=i: ((d["a"] - i) ** 2 + i * (d["k"] == "p"), 1.0) for i, name in enumerate(names)})
    view = strict_json(front_view(study))
    assert len(view["axes"]) == 5
    assert all(len(row) == 5 for row in view["region"]["optimistic"])


def test_the_front_of_measured_designs_needs_no_model_and_keeps_the_constraints() -> None:
    objectives = [Objective("a"), Objective("b", "max"), Objective("c", at_most=1.0)]
    rows = {
        0.1: {"a": 1.0, "b": 5.0, "c": 0.5},
        0.2: {"a": 2.0, "b": 4.0, "c": 0.5},
        0.3: {"a": 0.0, "b": 9.0, "c": 2.0},
        0.4: {"a": 0.0},
    }
    view = measured_front_view(added(objectives, rows))
    assert kinds_of(view) == {0.1: "front-confirmed", 0.2: "measured", 0.3: "violating"}
    assert view.points[0].values == rows[0.1]
    assert (view.region, view.left_out) == (None, 0)
    shortened = measured_front_view(added(objectives, rows), limit=1)
    assert (list(kinds_of(shortened)), shortened.left_out) == ([0.1], 2)


def test_the_view_and_the_hand_over_of_the_study_have_the_same_designs_however_long_the_study_is(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    write_study(url, 2000)
    study = study_copy(url).study
    view, found = front_view(study, limit=50), study.hand_over()
    assert (view.confirmed, view.promising) == (len(found.front), len(found.promising))
    assert view.missed_at_most == found.to_dict()["missed_at_most"]
    assert view.confirm_all_cost == found.confirm_cost
    numbers = {row.number: row.design for row in (*found.front, *found.promising)}
    shown = [point for point in view.points if point.number]
    assert shown
    assert all(numbers[point.number] == point.design for point in shown)
