"""Tests of an objective that has steps and proxies at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from flexibo import Objective, Study
from flexibo.storage import MemoryStorage

OBJECTIVES = [Objective("error", steps=9, proxies=["small"]), Objective("joules"), Objective("small", optimise=False)]


def rough(x: float, step: int = 9) -> float:
    """An error that no model of few readings predicts, but each of its steps does."""
    return 2.0 + float(np.sin(40.0 * x) + np.sin(17.0 * x) + np.sin(97.0 * x)) + 1.0 / step


def begun(storage: Any) -> Study:
    """A study that knows the curves, the other objective and the proxy of eight designs."""
    settings: dict[str, Any] = {"seed": 2, "budget": 900, "n_initial": 1, "candidates": 30}
    study = Study({"x": (0.0, 1.0)}, OBJECTIVES, storage=storage, **settings)
    for x in np.linspace(0.0, 1.0, 8).tolist():
        study.enqueue({"x": x}, ["error"])
        [evaluation] = study.ask(1)
        study.tell(evaluation, rough(x), cost=18.0, reports=[(step, rough(x, step)) for step in (1, 3)])
        study.add({"x": x}, {"joules": 2.0 - x, "small": 50.0 + 10.0 * rough(x)}, cost={"joules": 0.1, "small": 0.5})
    return study


def asked(study: Study, count: int) -> list[tuple[Any, ...]]:
    """The next questions, all of which are answered."""
    found = []
    while len(found) < count and (evaluation := study.ask()):
        x, start, stop = float(evaluation.design["x"]), evaluation.start, evaluation.stop  # type: ignore[arg-type]
        if stop is not None:
            study.tell(evaluation, rough(x, stop), cost=2.0 * (stop - start))
        else:
            is_proxy = evaluation.objective == "small"
            study.tell(evaluation, 50.0 + 10.0 * rough(x) if is_proxy else 2.0 - x, cost=0.5 if is_proxy else 0.1)
        found.append((evaluation.objective, x, start, stop, evaluation.gain))
    return found


def test_a_resumed_study_asks_what_the_uninterrupted_one_asks(tmp_path: Path) -> None:
    whole = asked(begun(MemoryStorage()), 4)
    url = f"sqlite:///{tmp_path / 's.db'}"
    with begun(url) as study:
        first = asked(study, 2)
    assert first + asked(Study.load(url), 2) == whole
    assert any(name == "small" or (stop is not None and stop < 9) for name, _, _, stop, _ in whole)


def test_the_stops_and_the_proxy_are_levels_of_one_model_and_only_the_objective_has_a_curve() -> None:
    study = begun(MemoryStorage())
    history = study.history
    design = history.asked[0].design
    assert [step for step, _ in history.curve(design, "error")] == [1, 3, 9]
    assert history.curve(design, "small") == ()
    belief = study.predictor.belief(history, study.predictor.generator(history, 0))
    levels = belief.joints[0].levels
    assert levels is not None
    assert (levels.proxies, levels.count, levels.stops) == (1, 4, (1, 3, 9))
    assert levels.trust[0] > 0.0
    assert set(study.front()[0].values) == {"error", "joules"}


def test_a_proxy_tells_of_the_last_step() -> None:
    study = begun(MemoryStorage())
    study.add({"x": 0.77}, {"joules": 1.23})
    unread = study.predictor.estimates(study.history)
    study.add({"x": 0.77}, {"small": 50.0 + 10.0 * rough(0.77)})
    read = study.predictor.estimates(study.history)
    assert abs(read.mu[-1, 0] - rough(0.77)) < abs(unread.mu[-1, 0] - rough(0.77))
    assert read.sigma[-1, 0] < unread.sigma[-1, 0]
