"""The trace: its columns, totals, and which rows a shortened one keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.strict_json import strict_json

from flexibo import Design, Objective, Study
from flexibo.pareto import hypervolume
from flexibo.views import spending_view, trace_view

LINE = {"x": (0.0, 1.0)}


@pytest.fixture
def study(finished_study: Study) -> Study:
    return finished_study


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
    assert strict_json(view)["kind"] == "trace"


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
    whole, few = trace_view(study), trace_view(study, limit=20)
    assert few.thinned
    assert len(few.rows["number"]) == 20
    assert few.rows["spent"][0] == whole.rows["spent"][0]
    assert few.rows["spent"][-1] == whole.rows["spent"][-1]
    assert {name: counts[-1] for name, counts in few.evaluations.items()} == study.summary().evaluations
    volumes = whole.rows["hypervolume"]
    grown = [i for i in range(1, len(volumes)) if volumes[i] > volumes[i - 1]]
    assert 0 < len(grown) < 18
    assert {whole.rows["number"][i] for i in grown} <= set(few.rows["number"])


@pytest.mark.parametrize("limit", [4, 5, 9, 20])
def test_a_thinned_trace_keeps_the_first_and_the_last_pareto_region(study: Study, limit: int) -> None:
    whole, few = trace_view(study), trace_view(study, limit=limit)
    assert len(few.rows["number"]) == limit
    regions = [[volume for volume in view.rows["region_volume"] if volume is not None] for view in (whole, few)]
    assert (regions[1][0], regions[1][-1]) == (regions[0][0], regions[0][-1])


def test_an_empty_trace_has_empty_columns() -> None:
    view = strict_json(trace_view(Study(LINE, [Objective("a", unit="J"), Objective("b", unit="s")], budget=5)))
    assert view["rows"]["spent"] == []
    assert view["evaluations"] == {"a": [], "b": []}
    assert (view["budget"], view["cost_label"], view["volume_unit"]) == (5.0, "cost", "J · s")


def test_objectives_measured_together_are_counted_each_and_paid_once() -> None:
    study = Study(
        LINE, [Objective("a"), Objective("b"), Objective("c", measured_with="b")], budget=12, n_initial=3, candidates=20
    )
    study.run({"a": lambda d: (d["x"], 2.0), "b": lambda d: ({"b": 1 - d["x"], "c": d["x"] ** 2}, 1.0)})
    view, spending = trace_view(study), {row.name: row for row in spending_view(study).objectives}
    assert view.evaluations["b"] == view.evaluations["c"]
    assert set(view.costs["c"]) == {0.0}
    assert (spending["c"].evaluations, spending["c"].spent) == (spending["b"].evaluations, 0.0)
    assert spending["c"].mean_cost is None


def test_what_known_results_reach_is_where_the_course_begins() -> None:
    study = Study(LINE, ["a", "b"], n_initial=2, seed=0, reference={"a": 1, "b": 1}, budget=4)
    for x in (0.25, 0.5, 0.75):
        study.add({"x": x}, {"a": x, "b": 1 - x})
    view = trace_view(study)
    reached = hypervolume(np.array([[0.25, 0.75], [0.5, 0.5], [0.75, 0.25]]), np.ones(2))
    assert (view.known_results, view.known_hypervolume, list(view.rows["spent"])) == (3, pytest.approx(reached), [])
    study.run({"a": lambda d: (d["x"], 1.0), "b": lambda d: (1 - d["x"], 1.0)})
    view = trace_view(study)
    assert view.known_hypervolume == pytest.approx(reached)
    assert view.rows["hypervolume"][0] >= reached * (1 - 1e-9)
    assert strict_json(view)["known_results"] == 3
