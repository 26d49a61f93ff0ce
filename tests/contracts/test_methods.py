"""What every method keeps, coupled or decoupled, with two and three objectives, with and without constraints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

import flexibo
from flexibo import Design, Objective, RandomForest, Space, Study
from flexibo.history.events import event_from_dict, event_to_dict
from flexibo.methods import ScoringMethod
from flexibo.optimizer import StopKind

NAMES = [method.name for method in flexibo.list_methods()]
SCORING = [method.name for method in flexibo.list_methods() if isinstance(method, ScoringMethod)]
SPACE = Space({"x": (0.0, 1.0), "width": [8, 16, 32, 64], "kind": ["a", "b"]})
FUNCTIONS: dict[str, Callable[[Design], Any]] = {
    "error": lambda d: (1 / d["width"] + 0.05 * (d["kind"] == "a"), 5.0),
    "joules": lambda d: (d["width"] * (0.2 + (d["x"] - 0.4) ** 2), 1.0),
    "ms": lambda d: (d["width"] / (0.1 + d["x"]), 0.5),
}
ERROR, JOULES = Objective("error", options=["width", "kind"]), Objective("joules")
STUDIES = {
    "two objectives": [ERROR, JOULES],
    "three objectives": [ERROR, JOULES, Objective("ms")],
    "two objectives and a constraint": [ERROR, JOULES, Objective("ms", at_most=60.0)],
    "an objective and a constraint": [ERROR, Objective("joules", at_most=10.0)],
    "two objectives, one of them limited": [ERROR, Objective("joules", at_most=10.0, optimise=True)],
}


def small(method: str) -> dict[str, Any]:
    """Few trees, few candidates: what a method keeps does not depend on their number."""
    if "-rf-" in method:
        return {"surrogate": RandomForest(trees=12)}
    return {"candidates": 40} if "pesmo" in method else {}


def functions(objectives: list[Objective]) -> Mapping[str, Callable[[Design], Any]]:
    return {objective.name: FUNCTIONS[objective.name] for objective in objectives}


@pytest.mark.parametrize("kind", STUDIES)
@pytest.mark.parametrize("method", NAMES)
def test_a_method_spends_its_budget_and_finds_a_front(method: str, kind: str) -> None:
    objectives = STUDIES[kind]
    study = Study(
        SPACE, objectives, method=method, budget=40, n_initial=3, seed=1, **({"candidates": 60} | small(method))
    )
    study.run(functions(objectives))
    assert 33 <= study.spent <= 40 or study.stop_kind in (StopKind.NO_REGION, StopKind.FINISHED)
    assert study.front()
    assert all(study.summary().evaluations[o.name] >= 2 for o in objectives)
    for row in study.front():
        if all(row.measured.values()):
            within = all(o.loss(row.values[o.name]) <= o.limit for o in objectives)
            assert row.feasibility == ("feasible" if within else "violating")


@pytest.mark.parametrize("method", NAMES)
def test_a_method_never_asks_what_is_pending_or_measured(method: str) -> None:
    study = Study(
        SPACE, ["error", "joules"], method=method, n_initial=3, seed=2, **({"candidates": 60} | small(method))
    )
    seen = set()
    held = []
    for step in range(16):
        evaluation = study.ask()
        if evaluation is None:
            break
        assert (evaluation.objective, evaluation.design) not in seen
        seen.add((evaluation.objective, evaluation.design))
        if step % 4 == 3:
            held.append(evaluation)
        else:
            value, cost = FUNCTIONS[evaluation.objective](evaluation.design)
            study.tell(evaluation, value, cost=cost)
    assert len(seen) == 16
    assert len(held) == 4


@pytest.mark.parametrize("method", NAMES)
def test_a_replayed_study_asks_what_the_live_one_asks(method: str) -> None:
    def study() -> Study:
        objectives = STUDIES["two objectives and a constraint"]
        return Study(SPACE, objectives, method=method, n_initial=3, seed=4, **({"candidates": 60} | small(method)))

    live = study()
    for _ in range(15):
        if not (evaluation := live.ask()):
            break
        value, cost = FUNCTIONS[evaluation.objective](evaluation.design)
        live.tell(evaluation, value, cost=cost)
    replayed = study()
    for event in live.events[len(replayed.events) :]:
        replayed.history.append(event_from_dict(event_to_dict(event), SPACE))
    assert replayed.ask() == live.ask()


@pytest.mark.parametrize("method", SCORING)
def test_a_method_that_scores_also_runs_cost_aware(method: str) -> None:
    settings = {"budget": 40, "n_initial": 3, "seed": 1, "candidates": 100} | small(method)
    study = Study(SPACE, ["error", "joules"], method=f"{method}/cost", **settings)
    study.run(functions([ERROR, JOULES]))
    assert study.method.cost_aware
    assert 33 <= study.spent <= 40 or study.stop_kind in (StopKind.NO_REGION, StopKind.FINISHED)


@pytest.mark.parametrize("method", NAMES)
def test_a_method_does_not_depend_on_the_units_of_losses(method: str) -> None:
    def questions(scale: float) -> list[tuple[str, Design]]:
        study = Study(
            SPACE, ["error", "joules"], method=method, n_initial=4, seed=3, **({"candidates": 60} | small(method))
        )
        asked = []
        for _ in range(14):
            if not (evaluation := study.ask()):
                break
            asked.append((evaluation.objective, evaluation.design))
            value, cost = FUNCTIONS[evaluation.objective](evaluation.design)
            study.tell(evaluation, value * (scale if evaluation.objective == "joules" else 1.0), cost=cost)
        return asked

    assert questions(2.0**-30) == questions(1.0)


def test_every_method_says_what_it_is() -> None:
    for method in flexibo.list_methods():
        assert method.summary.endswith(".")
        assert method.name.startswith("random") or method.paper
        assert "objectives" in method.limits
