"""Small studies that the tests of this folder share."""

from __future__ import annotations

from typing import Any

from flexibo import Study
from flexibo.history.events import Evaluation
from flexibo.storage import MemoryStorage

SPACE = {"x": (0.0, 1.0), "k": [1, 2, 3]}


FUNCTIONS: dict[str, Any] = {
    "a": lambda design: (design["x"] + design["k"] / 10, 5.0),
    "b": lambda design: (1.0 - design["x"] + design["k"] / 20, 1.0),
}


def opened(storage: Any, **settings: Any) -> Study:
    return Study(SPACE, ["a", "b"], storage=storage, **({"seed": 3, "n_initial": 3, "candidates": 50} | settings))


def answered(study: Study, evaluation: Evaluation) -> None:
    value, cost = FUNCTIONS[evaluation.objective](evaluation.design)
    study.tell(evaluation, value, cost=cost)


def asked(study: Study, **how: Any) -> Evaluation:
    evaluation = study.ask(**how)
    assert evaluation is not None
    return evaluation


def robbed(storage: MemoryStorage, first: Study, second: Study, **how: Any) -> tuple[Evaluation, Evaluation]:
    """An evaluation that the first was asked and that the second took over, because it took the first for gone."""
    lost = asked(first, **how)
    before = second._heartbeat._is_gone
    second._heartbeat._is_gone = lambda worker, sign: True  # type: ignore[method-assign]
    again = asked(second, **how)
    second._heartbeat._is_gone = before  # type: ignore[method-assign]
    assert again == lost
    return lost, again


LINE = {"a": lambda d: (d["x"], 1.0), "b": lambda d: (1.0 - d["x"], 1.0)}


def line(**settings: Any) -> Study:
    return Study({"x": (0.0, 1.0)}, ["a", "b"], **({"seed": 0, "n_initial": 3, "candidates": 60} | settings))


def half_measured(**settings: Any) -> Study:
    """A study of two objectives of which one is measured alone at many designs, so that some are promising."""
    study = Study({"x": [i / 10 for i in range(11)]}, ["a", "b"], **({"seed": 0, "n_initial": 2} | settings))
    for i in range(11):
        study.add({"x": i / 10}, {"b": 1.0 - i / 10}, cost=1.0)
    for i in (0, 5, 10):
        study.add({"x": i / 10}, {"a": i / 10}, cost=4.0)
    return study


def snapshot(study: Study) -> tuple[Any, ...]:
    """What a mistake must not change."""
    return study.events, study.queue, study.budget
