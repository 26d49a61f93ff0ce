"""The first 20 questions of each method, so that a change of behaviour is a decision and never an accident.

Rewrite the file after a change that is meant: ``FLEXIBO_REWRITE_GOLDEN=1 python -m pytest tests/golden``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.method_variants import is_variant

import flexibo
from flexibo import Design, Integer, Objective, Space, Study

FILE = Path(__file__).with_name("questions.json")
SPACE = Space.from_designs([{"width": w, "kind": k} for w in (1, 2, 3, 5, 8, 13) for k in ("a", "b", "c")])
KIND = {"a": 0.0, "b": 1.7, "c": 4.1}


def answer(objective: str, design: Design) -> tuple[float, float]:
    width, kind = float(design["width"]), KIND[str(design["kind"])]
    return (20.0 / width + kind, 7.0) if objective == "error" else (width * width + 3.0 * kind, 1.0)


def questions(method: str, space: Space = SPACE, **settings: float) -> list[str]:
    study = Study(space, [Objective("error"), Objective("joules")], method=method, seed=11, **settings)  # type: ignore[arg-type]
    asked = []
    while len(asked) < 20 and (evaluation := study.ask()):
        asked.append(f"{evaluation.objective} {evaluation.design['width']}{evaluation.design['kind']}")
        value, cost = answer(evaluation.objective, evaluation.design)
        study.tell(evaluation, value, cost=cost)
    return asked


def names() -> list[Any]:
    found = [method.name for method in flexibo.list_methods()]
    return [pytest.param(name, marks=_marks(name)) for name in found]


def _marks(name: str) -> list[pytest.MarkDecorator]:
    """Variants run the same code with other numbers; random forests take seconds each, and grow in scikit-learn."""
    variant, forest = is_variant(name), "-rf-" in name
    return [pytest.mark.variant] * (variant or forest) + [pytest.mark.slow] * (variant and forest)


@pytest.mark.parametrize("method", names())
def test_a_method_asks_what_it_has_always_asked(method: str) -> None:
    check(method, questions(method, n_initial=4))


@pytest.mark.parametrize("method", ["random", "random-coupled"])
def test_the_start_asks_what_it_has_always_asked(method: str) -> None:
    check(f"{method}, from the start", questions(method, budget=200))


def test_the_default_method_asks_what_it_has_always_asked_in_a_space_too_large_to_enumerate() -> None:
    space = Space({"width": Integer(1, 1000), "kind": ["a", "b", "c"]})
    check("flexibo, large space", questions("flexibo", space=space, n_initial=4, candidates=40))


def test_the_default_method_goes_as_far_as_it_has_always_gone() -> None:
    study = Study(SPACE, [Objective("error", steps=9), Objective("joules")], seed=11, n_initial=4)
    asked = []
    while len(asked) < 20 and (evaluation := study.ask()):
        value, cost = answer(evaluation.objective, evaluation.design)
        start, stop = evaluation.start, evaluation.stop
        asked.append(f"{evaluation.objective} {evaluation.design['width']}{evaluation.design['kind']} {start}-{stop}")
        reports = [(s, value + 9.0 / s - 1.0) for s in (1, 3) if stop is not None and start < s < stop]
        late = 0.0 if stop is None else 9.0 / stop - 1.0
        study.tell(
            evaluation, value + late, cost=cost * (1.0 if stop is None else (stop - start) / 9.0), reports=reports
        )
    check("flexibo, with steps", asked)


def test_the_default_method_reads_a_proxy_where_it_has_always_read_it() -> None:
    objectives = [Objective("error", proxies=["small"]), Objective("joules"), Objective("small", optimise=False)]
    study = Study(SPACE, objectives, seed=11, n_initial=6)
    asked = []
    while len(asked) < 30 and (evaluation := study.ask()):
        asked.append(f"{evaluation.objective} {evaluation.design['width']}{evaluation.design['kind']}")
        value, cost = answer("joules" if evaluation.objective == "joules" else "error", evaluation.design)
        is_small = evaluation.objective == "small"
        study.tell(evaluation, 3.0 * value + 40.0 if is_small else value, cost=1.0 if is_small else cost)
    check("flexibo, with a proxy", asked)


def check(name: str, asked: list[str]) -> None:
    known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    if os.environ.get("FLEXIBO_REWRITE_GOLDEN"):
        FILE.write_text(json.dumps(known | {name: asked}, indent=1) + "\n", encoding="utf-8")
        return
    assert asked == known[name]
