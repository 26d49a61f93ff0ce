"""Constraints that are hard to keep, to learn or to reopen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from flexibo import Design, FlexiBOError, Objective, Space, Study
from flexibo.optimizer import StopKind
from flexibo.surrogates import GaussianProcess

POOL = Space({"x": [0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0], "w": [1, 2, 3, 4]})
FUNCTIONS: dict[str, Callable[[Design], tuple[float, float]]] = {
    "a": lambda d: (float(d["x"]) ** 2 + 0.1 * float(d["w"]), 1.0),  # type: ignore[arg-type]
    "b": lambda d: ((1 - float(d["x"])) ** 2, 1.0),  # type: ignore[arg-type]
    "c": lambda d: (float(d["x"]), 1.0),  # type: ignore[arg-type]
}
OBJECTIVES = [Objective("a"), Objective("b"), Objective("c", at_most=0.25)]


@pytest.mark.parametrize("method", ["flexibo", "flexibo-gp-log", "pal", "ehvi", "mesmoc"])
def test_a_study_continues_until_a_feasible_design_is_known(method: str) -> None:
    study = Study(POOL, OBJECTIVES, method=method, seed=0, n_initial=3, budget=96)  # none of the three is feasible
    while not study.history.has_feasible():
        evaluation = study.ask()
        assert evaluation is not None, study.stopped
        value, cost = FUNCTIONS[evaluation.objective](evaluation.design)
        study.tell(evaluation, value, cost=cost)
    assert any(row.feasibility == "feasible" for row in study.front())


def test_a_study_ends_when_no_design_is_feasible() -> None:
    study = Study(POOL, [Objective("a"), Objective("b"), Objective("c", at_most=-1.0)], seed=0, n_initial=3)
    study.run(FUNCTIONS)
    assert study.stop_kind is StopKind.INFEASIBLE
    assert {row.feasibility for row in study.front()} == {"violating"}


def test_the_reference_waits_for_a_feasible_design() -> None:
    space = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)})
    functions: dict[str, Callable[[Design], tuple[float, float]]] = {
        "error": lambda d: ((1 - float(d["x"])) ** 6 + 0.01 * float(d["y"]), 1.0),  # type: ignore[arg-type]
        "joules": lambda d: (float(d["x"]) + float(d["y"]), 1.0),  # type: ignore[arg-type]
        "ms": lambda d: (100 * float(d["x"]), 1.0),  # type: ignore[arg-type]
    }
    objectives = [Objective("error"), Objective("joules"), Objective("ms", at_most=4.0)]
    study = Study(space, objectives, seed=3, budget=80, candidates=100)
    study.run(functions)
    front = [row.design for row in study.front()]
    assert all(functions["ms"](design)[0] <= 4.0 for design in front)
    assert min(functions["error"](design)[0] for design in front) < 0.79  # 0.783 is the least that is legal
    assert min(functions["joules"](design)[0] for design in front) < 0.01
    assert study.summary().hypervolume > 0


def test_pal_measures_a_constraint_that_is_in_doubt_although_the_objectives_are_known() -> None:
    study = Study(POOL, OBJECTIVES, method="pal", seed=0, n_initial=1)
    for i, design in enumerate(POOL.enumerate()):
        values = {name: FUNCTIONS[name](design)[0] for name in ("a", "b", "c")}
        study.add(design, values if i % 8 == 0 else {name: values[name] for name in ("a", "b")})
    study.run(FUNCTIONS)
    assert study.summary().evaluations["c"] > 0
    assert {row.feasibility for row in study.front()} == {"feasible"}


def test_a_decided_constraint_is_asked_for_only_to_complete_a_design() -> None:
    space = Space({"x": (0.0, 1.0)})
    easy = [Objective("a"), Objective("b"), Objective("c", at_most=1e6)]
    study = Study(space, easy, seed=0, n_initial=5, budget=35, candidates=50)
    study.run(
        {
            "a": lambda d: (float(d["x"]), 1.0),  # type: ignore[arg-type]
            "b": lambda d: (1 - float(d["x"]), 1.0),  # type: ignore[arg-type]
            "c": lambda d: (float(d["x"]), 1.0),  # type: ignore[arg-type]
        }
    )
    counts = study.summary().evaluations
    assert counts["c"] <= min(counts["a"], counts["b"])


@pytest.mark.parametrize("settings", [pytest.param({"surrogate": "rf"}, marks=pytest.mark.slow), {"cost": "ratio"}])
def test_a_study_that_is_opened_again_keeps_its_surrogate_and_cost(settings: dict[str, str], tmp_path: Path) -> None:
    def opened(**given: str) -> Study:
        url = f"sqlite:///{tmp_path}/study.db"
        return Study(POOL, ["a", "b"], seed=0, n_initial=3, storage=url, stop={"max_evaluations": 12}, **given)  # type: ignore[arg-type]

    study = opened(**settings)
    study.run({name: FUNCTIONS[name] for name in ("a", "b")})
    without = opened()
    same = opened(**settings)
    assert without._mind.optimizer.ask(without.history) == same._mind.optimizer.ask(same.history)


def test_a_surrogate_of_ones_own_must_be_given_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    Study(POOL, ["a", "b"], seed=0, storage=url, surrogate=GaussianProcess(noise=1e-4))
    with pytest.raises(FlexiBOError, match=r"surrogate .*GaussianProcess"):
        Study(POOL, ["a", "b"], storage=url)


def test_a_surrogate_that_cannot_draw_is_refused_before_anything_is_measured() -> None:
    class Plain:
        def fit(self, X: object, y: object, *, groups: object, rng: object) -> Plain:
            return self

    with pytest.raises(FlexiBOError, match=r"Plain.*draws\(\)"):
        Study(POOL, ["a", "b"], method="mesmo", surrogate=Plain())  # type: ignore[arg-type]


def test_a_surrogate_that_predicts_nan_is_named_in_one_sentence() -> None:
    class Lost:
        def fit(self, X: np.ndarray, y: np.ndarray, *, groups: object, rng: object) -> Lost:
            return self

        def extend(self, X: np.ndarray, y: np.ndarray) -> Lost:
            return self

        def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return np.full(len(X), np.nan), np.ones(len(X))

    study = Study(POOL, ["a", "b"], method="ehvi", surrogate=Lost(), n_initial=2, seed=0)  # type: ignore[arg-type]
    with pytest.raises(FlexiBOError, match="predicted NaN"):
        study.run({name: FUNCTIONS[name] for name in ("a", "b")})


@pytest.mark.parametrize("budget", [30.5, 52.0, 77.0])
def test_a_study_does_not_end_while_a_promising_design_lacks_what_can_be_paid(budget: float) -> None:
    functions: dict[str, Callable[[Design], tuple[float, float]]] = {
        "a": lambda d: (float(d["x"]) ** 2 + 0.1 * float(d["w"]), 7.0),  # type: ignore[arg-type]
        "b": lambda d: ((1 - float(d["x"])) ** 2, 1.0),  # type: ignore[arg-type]
    }
    study = Study(POOL, ["a", "b"], seed=1, n_initial=3, budget=budget)
    study.run(functions)
    left, price = budget - study.spent, {"a": 7.0, "b": 1.0}
    assert all(price[name] > left for row in study.promising() for name in row.missing)


def test_a_rest_that_pays_for_no_initial_design_confirms_those_that_are_begun() -> None:
    study = Study(
        {"x": [0, 1, 2]}, [Objective("a", cost=8.0), Objective("b", cost=1.0)], seed=0, n_initial=3, budget=30
    )
    for x, known in ((0, {"a": 2.0, "b": 0.0}), (1, {"a": 1.0}), (2, {"a": 0.0})):
        study.add({"x": x}, known, cost={name: {"a": 8.0, "b": 1.0}[name] for name in known})
    study.budget = 0.5
    assert study.ask() is None
    assert study.stop_kind is StopKind.BUDGET
    study.budget = 2.5
    assert {(e.design["x"], e.objective) for e in study.ask(5)} == {(1, "b"), (2, "b")}
