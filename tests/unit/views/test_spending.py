"""The spending: totals, losses, projections and reserved costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.strict_json import strict_json

from flexibo import Design, Study
from flexibo.history.events import Reissued
from flexibo.views import spending_view

Functions = Mapping[str, Callable[[Design], Any]]
LINE = {"x": (0.0, 1.0)}


@pytest.fixture
def study(finished_study: Study) -> Study:
    return finished_study


def test_spending_adds_up_and_tells_what_was_lost(study: Study) -> None:
    view = spending_view(study)
    rows = {row.name: row for row in view.objectives}
    assert sum(row.spent for row in view.objectives) == pytest.approx(study.spent)
    assert sum(row.share for row in view.objectives) == pytest.approx(1.0)
    failed = study.history.asked[1].objective
    assert rows[failed].failed == 1
    assert {name: row.lost for name, row in rows.items()} == {name: 2.0 * (name == failed) for name in rows}
    summary = study.summary()
    for name, row in rows.items():
        assert row.evaluations == summary.evaluations[name]
        assert row.mean_cost == pytest.approx(summary.costs[name] / summary.evaluations[name])
    assert strict_json(view)["kind"] == "spending"


def test_projected_spending_goes_on_with_the_recent_mix() -> None:
    study = Study(LINE, ["a", "b"], budget=100, n_initial=2, seed=0, candidates=20)
    costs = {"a": 3.0, "b": 1.0}
    for _ in range(12):
        evaluation = study.ask()
        assert evaluation is not None
        study.tell(
            evaluation,
            evaluation.design["x"] * (1 if evaluation.objective == "a" else -1),
            cost=costs[evaluation.objective],
        )
    view = spending_view(study)
    chosen = [row for row in study.trace() if not study.history.asked[row.number].initial]
    mix = {name: sum(row.cost for row in chosen if row.objective == name) for name in "ab"}
    for row in view.objectives:
        expected = row.spent + (100 - study.spent) * mix[row.name] / sum(mix.values())
        assert row.projected == pytest.approx(expected)
    assert sum(row.projected or 0.0 for row in view.objectives) == pytest.approx(100.0)


def test_without_a_budget_or_a_cost_nothing_is_projected() -> None:
    assert {row.projected for row in spending_view(Study(LINE, ["a", "b"])).objectives} == {None}
    free = Study(LINE, ["a", "b"], budget=10)
    evaluation = free.ask()
    assert evaluation is not None
    free.tell(evaluation, 1.0)
    assert {row.projected for row in spending_view(free).objectives} == {None}


def test_what_is_being_measured_is_reserved(make_study: Callable[..., Study], functions: Functions) -> None:
    study = make_study(budget=170, n_initial=6, candidates=20)
    for _ in range(16):
        evaluation = study.ask()
        assert evaluation is not None
        value, cost = functions[evaluation.objective](evaluation.design)
        study.tell(evaluation, value, cost=cost)
    assert spending_view(study).reserved == 0.0
    pending = study.ask(2)
    assert spending_view(study).reserved == pytest.approx(sum(evaluation.cost for evaluation in pending))


def test_a_vanished_worker_costs_what_it_is_thought_to_have_spent() -> None:
    study = Study(LINE, ["a", "b"], budget=50, n_initial=2, seed=0)
    first = study.ask()
    assert first is not None
    study.history.append(Reissued(first.number, "another", 0.0, 4.0))
    view = spending_view(study)
    row = next(row for row in view.objectives if row.name == first.objective)
    assert (row.spent, row.lost, view.spent) == (4.0, 4.0, 4.0)
