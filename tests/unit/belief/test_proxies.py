from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flexibo import Objective, Study
from flexibo.belief.belief import Predictions, predictions
from flexibo.belief.price_list import open_purchases
from flexibo.belief.proxies import ENOUGH, PATIENCE, as_objective, asked_proxies, proxy_purchases, teaching
from flexibo.history.events import Asked, Evaluation

OBJECTIVES = [Objective("error", proxies=["small"]), Objective("joules"), Objective("small", optimise=False)]


def error(x: float) -> float:
    return 0.2 + (x - 0.3) ** 2 + 0.1 * float(np.sin(9.0 * x))


def studied(proxy: str, *, pairs: int = 8) -> Study:
    """A study that knows both readings of some designs, and the proxy alone of two more: 0.62 and 0.9."""
    study = Study({"x": (0.0, 1.0)}, OBJECTIVES, seed=0, n_initial=2, candidates=20)
    noise = np.random.default_rng(8).permutation(np.linspace(100.0, 200.0, pairs + 2))
    for i, x in enumerate((*np.linspace(0.0, 0.5, pairs), 0.62, 0.9)):
        known = {"error": error(float(x)), "joules": 1.0} if i < pairs else {}
        told = {"none": {}, "clear": {"small": 100.0 + 70.0 * error(float(x))}, "noise": {"small": float(noise[i])}}
        if known | told[proxy]:
            study.add({"x": float(x)}, known | told[proxy])
    return study


def believed(study: Study) -> Predictions:
    designs = study.space.designs([{"x": x} for x in (0.62, 0.64, 0.9)])
    return predictions(study.history, designs, study.predictor.models(study.history))


def test_a_proxy_with_another_unit_moves_the_belief_about_its_designs_and_their_neighbours() -> None:
    without, given = believed(studied("none")), believed(studied("clear"))
    truth = np.array([error(x) for x in (0.62, 0.64, 0.9)])
    assert given.mu.shape == (3, 2)  # it is no quantity
    assert (np.abs(given.mu[:, 0] - truth) < 0.5 * np.abs(without.mu[:, 0] - truth)).all()
    assert (given.sigma[:, 0] < without.sigma[:, 0]).all()


def test_a_proxy_that_no_designs_support_changes_nothing() -> None:
    without, given = believed(studied("none")), believed(studied("noise"))
    assert given.mu.tolist() == without.mu.tolist()
    assert given.sigma.tolist() == without.sigma.tolist()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_map_of_logarithms_keeps_the_sign_of_the_objective(sign: float) -> None:
    keys, losses = np.arange(6, dtype=np.uint64), np.array([1.0, 10.0, 100.0, 20.0, 3.0, 1e6])
    known = (keys[:5], sign * losses[:5] ** sign)
    moved = as_objective((keys, losses**2), known, 6)
    assert (np.sign(moved) == sign).all()
    assert (np.argsort(moved) == np.argsort(losses)).all()


def test_the_map_does_without_designs_in_common() -> None:
    keys = np.arange(6, dtype=np.uint64)
    moved = as_objective((keys[:3], np.array([-2.0, 0.0, 2.0])), (keys[3:], np.array([9.0, -10.0, 31.0])), 3)
    assert moved.mean() == pytest.approx(10.0)
    assert moved.std() == pytest.approx(np.std([9.0, -10.0, 31.0]))


def test_a_proxy_that_fails_again_and_again_is_not_asked_and_ends_nothing() -> None:
    study = Study({"x": list(range(12))}, OBJECTIVES, seed=0, budget=60)
    failed = 0
    while evaluation := study.ask():
        if evaluation.objective == "small":
            failed += 1
            study.fail(evaluation, "broken", cost=0.1)
        else:
            value = float(evaluation.design["x"])
            study.tell(evaluation, value if evaluation.objective == "joules" else 20.0 - value, cost=1.0)
    assert failed == PATIENCE
    assert asked_proxies(study.history) == ()
    assert len(study.front()) == 12  # all designs are measured


def test_designs_whose_objective_is_known_teach_what_a_proxy_tells_until_there_are_enough() -> None:
    history = studied("none", pairs=4).history
    (p,) = proxy_purchases(history, 0)
    losses = [error(float(design["x"])) for design in teaching(history, p)]
    assert losses == sorted(losses)
    assert len(losses) == 4
    assert len(teaching(studied("clear", pairs=ENOUGH).history, p)) == 0


def test_while_a_proxy_of_a_design_is_being_read_its_objective_is_not_asked() -> None:
    study = studied("clear")
    history, designs = study.history, study.space.designs([{"x": 0.77}, {"x": 0.78}])
    (p,) = proxy_purchases(history, 0)
    history.append(Asked(Evaluation(designs[0], "small", None, 1.0, "", len(history.asked), ("small",))))
    assert open_purchases(history, designs, [p])[:, 0].tolist() == [False, True]
    assert open_purchases(history, designs)[:, 0].tolist() == [True, True]  # who does not look, does not wait


def test_a_study_that_is_changed_gets_a_proxy_and_a_stored_one_keeps_it(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    study = Study({"x": list(range(12))}, ["error", "joules"], seed=0, n_initial=2, storage=storage)
    while len(study.history.measurements) < 6 and (evaluation := study.ask()):
        study.tell(evaluation, float(evaluation.design["x"]), cost=1.0)
    study.change(objectives=OBJECTIVES)
    assert study.ask(only=["small"]) is not None  # of an initial design
    again = Study.load(storage)
    assert again.objectives == tuple(OBJECTIVES)
    assert again.history.counted == ("error", "joules")
