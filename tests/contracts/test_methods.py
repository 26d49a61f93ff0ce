"""What every method keeps, coupled or decoupled, with two and three objectives, with and without constraints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.method_variants import is_variant

import flexibo
from flexibo import Design, Evaluation, Objective, RandomForest, Space, Study
from flexibo.history.event_dicts import event_from_dict, event_to_dict
from flexibo.methods import ScoringMethod
from flexibo.methods.table import METHODS
from flexibo.optimizer import StopKind
from flexibo.surrogates.gaussian_process import PAPER_GP

NAMES = [method.name for method in flexibo.list_methods()]
DISTINCT = [name for name in NAMES if not is_variant(name)]
SCORING = [name for name in DISTINCT if isinstance(METHODS[name], ScoringMethod)]
EACH = [name if name == "flexibo" else pytest.param(name, marks=pytest.mark.variant) for name in NAMES]
"""On other Pythons every method runs once, and its golden questions are asked."""
SPACE = Space({"x": (0.0, 1.0), "width": [8, 16, 32, 64], "kind": ["a", "b"]})
FUNCTIONS: dict[str, Callable[[Design], Any]] = {
    "error": lambda d: (1 / d["width"] + 0.05 * (d["kind"] == "a"), 2.0),
    "joules": lambda d: (d["width"] * (0.2 + (d["x"] - 0.4) ** 2), 1.0),
    "ms": lambda d: (d["width"] / (0.1 + d["x"]), 0.5),
}
ERROR, JOULES = Objective("error", options=["width", "kind"]), Objective("joules")
LIMITED = "two objectives, one of them limited"
STUDIES = {
    "three objectives": [ERROR, JOULES, Objective("ms")],
    "two objectives and a constraint": [ERROR, JOULES, Objective("ms", at_most=60.0)],
    "an objective and a constraint": [ERROR, Objective("joules", at_most=10.0)],
    LIMITED: [ERROR, Objective("joules", at_most=10.0, optimise=True)],
}


@pytest.fixture(autouse=True)
def _few_sampled_fronts(monkeypatch: pytest.MonkeyPatch) -> None:
    """PESMO is slow with ten."""
    monkeypatch.setattr("flexibo.methods.pesmo.SETS", 2)


def small(method: str, objectives: list[Objective], **settings: Any) -> Study:
    """A study with few trees, restarts and candidates: what a method keeps does not depend on their number."""
    if "-rf-" in method:
        settings["surrogate"] = RandomForest(trees=6)
    if "-gp-" in method:
        settings["surrogate"] = replace(PAPER_GP, restarts=1)
    return Study(SPACE, objectives, method=method, n_initial=3, candidates=30, **settings)


def functions(objectives: list[Objective]) -> Mapping[str, Callable[[Design], Any]]:
    return {objective.name: FUNCTIONS[objective.name] for objective in objectives}


def tell(study: Study, evaluation: Evaluation) -> None:
    value, cost = FUNCTIONS[evaluation.objective](evaluation.design)
    study.tell(evaluation, value, cost=cost)


def spends_its_budget(study: Study) -> bool:
    """Whether what is left of 15 pays for no design, or the method ended the study before."""
    return 11.5 <= study.spent <= 15 or study.stop_kind in (StopKind.NO_REGION, StopKind.FINISHED)


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        *((method, LIMITED) for method in DISTINCT),
        *(pytest.param(method, LIMITED, marks=pytest.mark.variant) for method in NAMES if is_variant(method)),
        *(
            pytest.param(method, kind, marks=pytest.mark.variant)
            for method in DISTINCT
            for kind in STUDIES
            if kind != LIMITED
        ),
    ],
)
def test_a_method_spends_its_budget_and_finds_a_front(method: str, kind: str) -> None:
    objectives = STUDIES[kind]
    study = small(method, objectives, budget=15, seed=1)
    study.run(functions(objectives))
    assert spends_its_budget(study)
    assert study.front()
    assert all(study.summary().evaluations[o.name] >= 2 for o in objectives)
    for row in study.front():
        if all(row.measured.values()):
            within = all(o.loss(row.values[o.name]) <= o.limit for o in objectives)
            assert row.feasibility == ("feasible" if within else "violating")


@pytest.mark.parametrize("method", EACH)
def test_a_method_never_asks_what_is_pending_or_measured(method: str) -> None:
    study = small(method, [Objective("error"), Objective("joules")], seed=2)
    seen = set()
    held = []
    for step in range(12):
        evaluation = study.ask()
        assert evaluation is not None
        assert (evaluation.objective, evaluation.design) not in seen
        seen.add((evaluation.objective, evaluation.design))
        if step % 4 == 3:
            held.append(evaluation)
        else:
            tell(study, evaluation)
    assert len(held) == 3


@pytest.mark.parametrize("method", EACH)
def test_a_replayed_study_asks_what_the_live_one_asks(method: str) -> None:
    objectives = STUDIES["two objectives and a constraint"]
    live, replayed = (small(method, objectives, seed=4) for _ in range(2))
    for _ in range(12):
        if not (evaluation := live.ask()):
            break
        tell(live, evaluation)
    for event in live.events[len(replayed.events) :]:
        replayed.history.append(event_from_dict(event_to_dict(event), SPACE))
    assert replayed.ask() == live.ask()


@pytest.mark.variant
@pytest.mark.parametrize("method", SCORING)
def test_a_method_that_scores_also_runs_cost_aware(method: str) -> None:
    study = small(f"{method}/cost", [ERROR, JOULES], budget=15, seed=1)
    study.run(functions([ERROR, JOULES]))
    assert study.method.cost_aware
    assert spends_its_budget(study)


@pytest.mark.variant
@pytest.mark.parametrize("method", DISTINCT)
def test_a_method_does_not_depend_on_the_units_of_losses(method: str) -> None:
    def questions(scale: float) -> list[tuple[str, Design]]:
        study = small(method, [Objective("error"), Objective("joules")], seed=3)
        asked = []
        for _ in range(10):
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
