"""Views of what happened: trace, spending, choices."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from flexibo import Design, Objective, Study
from flexibo.history.events import Reissued
from flexibo.pareto import hypervolume
from flexibo.views import choices_view, spending_view, trace_view

Functions = Mapping[str, Callable[[Design], Any]]
LINE = {"x": (0.0, 1.0)}


def strict(view: Any) -> dict[str, Any]:
    return json.loads(json.dumps(view.to_dict(), allow_nan=False))


@pytest.fixture(scope="module")
def study() -> Study:
    """A study that ran to the end of its budget, and whose second evaluation failed."""
    return finished()


def finished() -> Study:
    functions = {
        "error": lambda d: (1 / d["filters"], 8.0 + d["filters"] / 50),
        "joules": lambda d: (d["filters"] * d["ghz"], 1.0),
    }
    objectives = [Objective("error", options=["filters"]), Objective("joules", unit="J")]
    space = {"filters": (1, 200), "ghz": (0.3, 2.3)}
    made = Study(space, objectives, budget=120, seed=0, n_initial=5)
    for _ in range(3):
        evaluation = made.ask()
        assert evaluation is not None
        made.fail(evaluation, "a < b\n\x1b[2J", cost=2.0) if evaluation.number == 1 else made.tell(
            evaluation, functions[evaluation.objective](evaluation.design)[0], cost=10.0
        )
    made.run(functions, progress=False)
    return made


def test_the_columns_of_the_trace_are_those_of_the_study(study: Study) -> None:
    view, trace = trace_view(study), study.trace()
    rows = view.rows
    assert {len(column) for column in (*rows.values(), *view.evaluations.values(), *view.costs.values())} == {
        len(trace)
    }
    assert rows["number"] == [row.number for row in trace]
    assert rows["spent"] == [row.cumulative_cost for row in trace]
    assert rows["hypervolume"] == [row.hypervolume for row in trace]
    assert rows["region_volume"] == [row.region_volume for row in trace]
    assert rows["failed"] == [row.value is None for row in trace]
    assert sum(rows["failed"]) == 1
    assert any(rows["initial"])
    assert not all(rows["initial"])
    expected = [study.history.asked[row.number].cost for row in trace]
    assert rows["gain_per_cost"] == [
        None if row.gain is None else pytest.approx(row.gain / cost) for row, cost in zip(trace, expected, strict=True)
    ]
    assert not view.thinned
    assert strict(view)["kind"] == "trace"


def test_the_hypervolume_is_that_of_all_designs_measured_completely_by_then(study: Study) -> None:
    reference = study.reference
    assert reference is not None
    known: dict[Design, dict[str, float]] = {}
    errors: dict[Any, float] = {}
    for row, shown in zip(study.trace(), trace_view(study).rows["hypervolume"], strict=True):
        known.setdefault(row.design, {}).update(row.values)
        errors |= {row.design["filters"]: row.values["error"]} if "error" in row.values else {}
        complete = [
            (errors[d["filters"]], v["joules"]) for d, v in known.items() if d["filters"] in errors and "joules" in v
        ]
        corner = np.array([reference["error"], reference["joules"]])
        assert shown == pytest.approx(hypervolume(np.array(complete).reshape(-1, 2), corner))


def test_what_was_spent_on_the_objectives_adds_up_at_every_row(study: Study) -> None:
    view = trace_view(study)
    sums = [sum(costs) for costs in zip(*view.costs.values(), strict=True)]
    assert sums == pytest.approx(view.rows["spent"])
    assert {name: counts[-1] for name, counts in view.evaluations.items()} == study.summary().evaluations


def test_a_thinned_trace_keeps_both_ends_and_growth_and_exact_sums(study: Study) -> None:
    whole, few = trace_view(study), trace_view(study, limit=30)
    assert few.thinned
    assert len(few.rows["number"]) == 30
    assert few.rows["spent"][0] == whole.rows["spent"][0]
    assert few.rows["spent"][-1] == whole.rows["spent"][-1]
    assert {name: counts[-1] for name, counts in few.evaluations.items()} == study.summary().evaluations
    volumes = whole.rows["hypervolume"]
    grown = [i for i in range(1, len(volumes)) if volumes[i] > volumes[i - 1]]
    assert 0 < len(grown) < 28
    assert {whole.rows["number"][i] for i in grown} <= set(few.rows["number"])


@pytest.mark.parametrize("limit", [4, 5, 9, 20])
def test_a_thinned_trace_keeps_the_first_and_the_last_pareto_region(study: Study, limit: int) -> None:
    whole, few = trace_view(study), trace_view(study, limit=limit)
    assert len(few.rows["number"]) == limit
    regions = [[volume for volume in view.rows["region_volume"] if volume is not None] for view in (whole, few)]
    assert (regions[1][0], regions[1][-1]) == (regions[0][0], regions[0][-1])


def test_an_empty_trace_has_empty_columns() -> None:
    view = strict(trace_view(Study(LINE, [Objective("a", unit="J"), Objective("b", unit="s")], budget=5)))
    assert view["rows"]["spent"] == []
    assert view["evaluations"] == {"a": [], "b": []}
    assert (view["budget"], view["cost_label"], view["volume_unit"]) == (5.0, "cost [s]", "J · s")


def test_objectives_measured_together_are_counted_each_and_paid_once() -> None:
    study = Study(LINE, [Objective("a"), Objective("b"), Objective("c", measured_with="b")], budget=12, n_initial=3)
    study.run({"a": lambda d: (d["x"], 2.0), "b": lambda d: ({"b": 1 - d["x"], "c": d["x"] ** 2}, 1.0)})
    view, spending = trace_view(study), {row.name: row for row in spending_view(study).objectives}
    assert view.evaluations["b"] == view.evaluations["c"]
    assert set(view.costs["c"]) == {0.0}
    assert (spending["c"].evaluations, spending["c"].spent) == (spending["b"].evaluations, 0.0)
    assert spending["c"].mean_cost is None


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
    assert strict(view)["kind"] == "spending"


def test_projected_spending_goes_on_with_the_recent_mix() -> None:
    study = Study(LINE, ["a", "b"], budget=100, n_initial=2, seed=0)
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
    study = make_study(budget=170)
    for _ in range(30):
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


def test_choices_are_newest_first_and_say_why(study: Study) -> None:
    view = choices_view(study, last=len(study.history.asked))
    assert [choice.number for choice in view.choices] == [e.number for e in reversed(study.history.asked)]
    by_number = {choice.number: choice for choice in view.choices}
    asked = study.history.asked[-1]
    newest = by_number[asked.number]
    assert (newest.why, newest.cost, newest.gain) == (asked.why, asked.cost, asked.gain)
    assert asked.gain is not None
    assert asked.volume is not None
    assert newest.gain_share == pytest.approx(asked.gain / asked.volume)
    assert newest.state == "measured"
    assert newest.value == study.trace()[-1].value
    failed = by_number[1]
    assert (failed.state, failed.value, failed.paid, failed.reason) == ("failed", None, 2.0, "a < b\n\x1b[2J")
    assert by_number[0].gain is None
    shown = strict(view)["choices"]
    second = asked.runner_up
    assert second is not None
    assert shown[0]["runner_up"] == {
        "objective": second.objective, "design": dict(second.design), "gain": second.gain, "cost": second.cost
    }  # fmt: skip


def test_the_last_choices_are_few_and_what_is_asked_is_pending() -> None:
    study = finished()
    study.budget = 400.0
    pending = study.ask()
    assert pending is not None
    view = choices_view(study, last=3)
    assert [choice.state for choice in view.choices] == ["pending", "measured", "measured"]
    assert view.choices[0].paid is None
    assert choices_view(study, last=0).choices == ()
    assert choices_view(Study(LINE, ["a", "b"])).choices == ()
