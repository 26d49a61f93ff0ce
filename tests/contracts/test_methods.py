from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

import flexibo
from flexibo import Design, Objective, Space, Study

NAMES = [method.name for method in flexibo.methods()]
SPACE = Space({"x": (0.0, 1.0), "width": [8, 16, 32, 64], "kind": ["a", "b"]})


def functions(n: int) -> Mapping[str, Callable[[Design], Any]]:
    everything: dict[str, Callable[[Design], Any]] = {
        "error": lambda d: (1 / d["width"] + 0.05 * (d["kind"] == "a"), 5.0),
        "joules": lambda d: (d["width"] * (0.2 + (d["x"] - 0.4) ** 2), 1.0),
        "ms": lambda d: (d["width"] / (0.1 + d["x"]), 0.5),
    }
    return dict(list(everything.items())[:n])


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("method", NAMES)
def test_a_method_spends_its_budget_and_finds_a_front(method: str, n: int) -> None:
    objectives = [Objective("error", options=["width", "kind"]), Objective("joules"), Objective("ms")][:n]
    study = Study(SPACE, objectives, method=method, budget=40, n_initial=3, seed=1, candidates=200)
    study.run(functions(n))
    assert 33 <= study.spent <= 40 or "left" in study.stopped
    assert study.front()
    assert all(study.summary().evaluations[o.name] >= 2 for o in objectives)


@pytest.mark.parametrize("method", NAMES)
def test_a_method_never_asks_what_is_pending_or_measured(method: str) -> None:
    study = Study(SPACE, ["error", "joules"], method=method, n_initial=3, seed=2, candidates=200)
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
            value, cost = functions(2)[evaluation.objective](evaluation.design)
            study.tell(evaluation, value, cost=cost)
    assert len(seen) == 16
    assert len(held) == 4


def test_every_method_says_what_it_is() -> None:
    for method in flexibo.methods():
        assert method.summary.endswith(".")
        assert method.name.startswith("random") or method.paper
