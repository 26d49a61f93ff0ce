from __future__ import annotations

import numpy as np

from flexibo import Objective, Study

OBJECTIVES = [Objective("error", proxies=["small"]), Objective("joules"), Objective("small", optimise=False)]


def rough(x: float) -> float:
    """An error that no model of few readings predicts."""
    return 2.0 + float(np.sin(40.0 * x) + np.sin(17.0 * x) + np.sin(97.0 * x))


def run(proxy_cost: float, *, method: str | None = None) -> Study:
    settings = {} if method is None else {"method": method}
    study = Study({"x": (0.0, 1.0)}, OBJECTIVES, seed=3, budget=300.0, candidates=60, n_initial=6, **settings)  # type: ignore[arg-type]
    while len(study.history.asked) < 30 and (evaluation := study.ask()):
        x = float(evaluation.design["x"])
        values = {"error": rough(x), "joules": 1.0 + x, "small": 50.0 + 10.0 * rough(x)}
        costs = {"error": 20.0, "joules": 0.01, "small": proxy_cost}
        study.tell(evaluation, values[evaluation.objective], cost=costs[evaluation.objective])
    return study


def test_a_cheap_proxy_that_tells_much_is_read_before_its_objective_and_one_as_expensive_is_not() -> None:
    cheap, expensive = run(0.5), run(20.0)
    counts = {study: [study.history.count(j) for j in (0, 2)] for study in (cheap, expensive)}
    assert counts[expensive][1] == 6  # of the initial designs alone
    assert counts[cheap][1] > 6
    asked = [evaluation for evaluation in cheap.history.asked if not evaluation.initial]
    assert any("error" not in evaluation.yields and evaluation.gain for evaluation in asked)


def test_a_proxy_is_no_part_of_what_a_study_hands_over() -> None:
    study = run(0.5)
    assert set(study.front()[0].values) == {"error", "joules"}
    assert all(set(row.values) == {"error", "joules"} for row in study.promising())
    assert set(study.summary().evaluations) == {"error", "joules", "small"}
    assert study.enqueue({"x": 0.123}).objectives == ("error", "joules")  # a proxy is queued only by its name


def test_methods_that_do_not_look_ask_for_no_proxy() -> None:
    study = run(0.5, method="random")
    assert study.history.count(2) == 0
    assert study.history.count(0) > 6
