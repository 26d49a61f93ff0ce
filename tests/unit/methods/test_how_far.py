"""Tests of how far an evaluation goes."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo import Objective, Study
from flexibo.history.events import Evaluation
from flexibo.methods.how_far import NODES, WEIGHTS, _lift


def lift(outcomes: list[float], price: float, rest: float) -> float:
    return float(_lift(np.array(outcomes)[:, None], np.array([price]), np.array([rest]))[0])


def test_a_look_that_tells_nothing_is_as_good_as_going_all_the_way() -> None:
    assert lift([2.0] * 3, 0.1, 0.9) == pytest.approx(1.0)


def test_a_look_that_tells_everything_saves_the_rest_of_what_is_not_worth_it() -> None:
    gains = (NODES < -1.0).astype(float)  # only the best outcome adds anything
    chance = float(WEIGHTS @ gains)
    assert lift(gains.tolist(), 0.1, 0.9) == pytest.approx((chance / (0.1 + 0.9 * chance)) / chance)
    assert lift(gains.tolist(), 0.9, 0.1) == pytest.approx((chance / (0.9 + 0.1 * chance)) / chance)


def test_what_adds_nothing_has_no_lift() -> None:
    assert lift([0.0] * 3, 0.1, 0.9) == 1.0


def curve(x: float, step: int) -> float:
    return float(0.1 + (x - 0.3) ** 2 + 0.5 / step)


def answered(study: Study, evaluation: Evaluation) -> None:
    x = float(evaluation.design["x"])
    if evaluation.objective == "joules":
        study.tell(evaluation, 1.0 + x, cost=0.05)
        return
    stop = evaluation.stop or 27
    reports = [(s, curve(x, s)) for s in (1, 3, 9) if evaluation.start < s < stop]
    study.tell(evaluation, curve(x, stop), cost=float(stop - evaluation.start), reports=reports)


def test_a_study_looks_at_early_stops_and_continues_what_is_worth_it() -> None:
    study = Study(
        {"x": (0.0, 1.0)}, [Objective("error", steps=27), "joules"], budget=270, seed=2, n_initial=3, candidates=30
    )
    ways = []
    while (evaluation := study.ask()) and len(study.history.asked) < 22:
        if evaluation.objective == "error" and not evaluation.initial:
            ways.append((evaluation.start, evaluation.stop))
            assert evaluation.start == study.history.reached(evaluation.design, "error")
        answered(study, evaluation)
    assert any(stop != 27 for _, stop in ways)  # some are looked at
    assert any(stop == 27 and start > 0 for start, stop in ways)  # and some of these are continued
    assert all(row.values.keys() == {"error", "joules"} for row in study.front())
    assert study.spent <= 270


def test_what_cannot_resume_pays_for_a_look_again() -> None:
    objective = Objective("error", steps=27, resumable=False)
    study = Study({"x": (0.0, 1.0)}, [objective, "joules"], budget=270, seed=2, n_initial=3, candidates=30)
    while (evaluation := study.ask()) and len(study.history.asked) < 12:
        assert evaluation.start == 0
        answered(study, evaluation)
