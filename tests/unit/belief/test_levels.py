"""Tests of the model of an objective with steps."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo import Objective, Study
from flexibo._internal.arrays import FloatArray
from flexibo.belief.belief import predictions
from flexibo.belief.levels import LevelModel, level_maps, level_model, map_slopes, mapped, supported, with_levels
from flexibo.objectives import Reading
from flexibo.surrogates.level_process import LevelHyperparameters, LevelProcess, used_rows


def curve(x: float, step: int) -> float:
    """An error that falls with the steps, towards a value that depends on the design."""
    return float(0.2 + (x - 0.3) ** 2 + 0.6 / step)


def studied(early: int = 6) -> Study:
    """Five designs with whole curves, and others that went to the first stop alone."""
    study = Study({"x": (0.0, 1.0)}, [Objective("error", steps=9), "joules"], seed=0, n_initial=3, candidates=40)
    for x in (0.05, 0.2, 0.5, 0.8, 0.95):
        study.add({"x": x}, {"error": curve(x, 9), "joules": 1.0})
    history = study.history
    for x in (0.05, 0.2, 0.5, 0.8, 0.95, *np.linspace(0.1, 0.9, early)):
        design = study.space.design({"x": float(x)})
        row, key = history._seen.row(design), history._seen.objective_key(history.objectives[0], design)
        history._curves[0].add(key, row, 1, curve(float(x), 1))
    return study


def test_levels_are_mapped_to_the_last_one_by_the_designs_that_have_both() -> None:
    keys = np.arange(6, dtype=np.uint64)
    low, high = np.array([0.8, 0.6, 0.4, 0.3, 0.2, 0.1]), np.array([0.4, 0.3, 0.2])
    all_keys = np.concatenate([keys, keys[:3]])
    level, losses = np.array([0] * 6 + [1] * 3), np.concatenate([low, high])
    maps = level_maps(all_keys, level, losses, 2)
    assert mapped(losses, level, *maps)[:3] == pytest.approx(high)  # half of it, whatever the level
    assert mapped(losses, level, *maps)[6:].tolist() == high.tolist()


def test_maps_keep_the_sign_and_do_without_designs_in_common() -> None:
    keys, level = np.arange(4, dtype=np.uint64), np.array([0, 0, 1, 1])
    for losses in (np.array([3.0, 2.0, 1.0, 0.5]), np.array([-3.0, -2.0, -1.0, -0.5]), np.array([3.0, -2.0, 1.0, 0.0])):
        moved = mapped(losses, level, *level_maps(keys, level, losses, 2))
        assert moved == pytest.approx(losses)
        assert (np.sign(moved) == np.sign(losses)).all()


def test_early_readings_move_the_belief_about_the_last_step_of_their_designs_and_of_neighbours() -> None:
    found = {}
    for early in (0, 6):
        study = studied(early)
        designs = study.space.designs([{"x": x} for x in (0.26, 0.74)])
        found[early] = predictions(study.history, designs, study.predictor.models(study.history))
    truth = np.array([curve(0.26, 9), curve(0.74, 9)])
    assert (np.abs(found[6].mu[:, 0] - truth) < np.abs(found[0].mu[:, 0] - truth)).all()
    assert (found[6].sigma[:, 0] < found[0].sigma[:, 0]).all()


def test_what_a_certificate_promises_does_not_depend_on_early_readings() -> None:
    boxes = []
    for early in (0, 6):
        study = studied(early)
        designs = study.space.designs([{"x": x} for x in (0.26, 0.74)])
        boxes.append(predictions(study.history, designs, study.predictor.models(study.history), simultaneous=True))
    for side in ("mu", "lower", "upper"):
        np.testing.assert_array_equal(getattr(boxes[0], side), getattr(boxes[1], side))


def test_what_a_certificate_promises_does_not_depend_on_a_proxy_of_an_objective_with_steps() -> None:
    objectives = [Objective("error", steps=9, proxies=["small"]), "joules", Objective("small", optimise=False)]
    boxes = {}
    for is_read in (False, True):
        study = Study({"x": (0.0, 1.0)}, objectives, seed=0, n_initial=3, candidates=40)
        for x in np.linspace(0.0, 1.0, 8).tolist():
            study.add({"x": x}, {"error": curve(x, 9), "joules": 1.0})
        for x in np.linspace(0.0, 1.0, 22).tolist() if is_read else ():
            study.add({"x": x}, {"small": 5.0 + 30.0 * curve(x, 9)})
        designs = study.space.designs([{"x": x} for x in (0.21, 0.74)])
        models = study.predictor.models(study.history)
        boxes[is_read] = [predictions(study.history, designs, models, simultaneous=sure) for sure in (False, True)]
    guide, promise = zip(boxes[False], boxes[True], strict=True)
    assert (guide[0].mu[:, 0] != guide[1].mu[:, 0]).all()
    for side in ("mu", "lower", "upper"):
        np.testing.assert_array_equal(getattr(promise[0], side), getattr(promise[1], side))


def test_a_later_stop_tells_more_of_the_last_step_and_less_where_more_was_read() -> None:
    given = LevelHyperparameters(np.array([0.1]), 1.0, gaps=np.array([0.4, 0.1]), own=np.array([0.3, 0.1, 1e-6]))
    X = with_levels(np.array([[0.0], [1.0]]), np.array([1, 2]), 3)
    process = LevelProcess(3).condition(X, np.array([0.0, 1.0]), groups=np.array([0]), hyperparameters=given)
    model = LevelModel(process, (1, 3, 9))
    far, near = (np.array([model.correlation(np.array([[x]]), level)[0] for level in range(3)]) for x in (0.5, 0.02))
    assert far == pytest.approx([np.exp(-0.5) / np.sqrt(1.3), np.exp(-0.1) / np.sqrt(1.1), 1.0], abs=1e-3)
    assert (near[:2] < far[:2]).all()
    assert near[0] < near[1] < near[2] == 1.0


def test_of_very_many_readings_those_of_designs_that_went_further_are_left_out_first() -> None:
    X = with_levels(np.array([[0.1], [0.1], [0.2], [0.3], [0.3]]), np.array([0, 1, 0, 0, 2]), 3)
    assert used_rows(X, 1, 5).tolist() == [0, 1, 2, 3, 4]
    assert used_rows(X, 1, 3).tolist() == [1, 2, 4]


def test_draws_have_the_mean_and_deviation_of_the_prediction() -> None:
    rng = np.random.default_rng(0)
    X = with_levels(np.repeat(rng.random((5, 1)), 2, axis=0), np.tile([0, 1], 5), 2)
    model = LevelProcess(2).fit(X, X[:, 0] + 0.1 * X[:, 1], groups=np.array([0, 1]), rng=rng)
    new = with_levels(np.array([[0.2], [0.9]]), np.array([1, 1]), 2)
    drawn = model.draws(new, 4000, rng)
    mean, deviation = model.predict(new)
    assert drawn.mean(axis=0) == pytest.approx(mean, abs=0.1 * float(deviation.max()) + 1e-3)
    assert drawn.std(axis=0) == pytest.approx(deviation, rel=0.1)


def test_with_few_complete_trainings_early_readings_are_not_used() -> None:
    study = Study({"x": (0.0, 1.0)}, [Objective("error", steps=(1, 9)), "joules"], seed=0, n_initial=3)
    refits = study.predictor.models(study.history)[0].over_levels
    assert refits is not None
    for count, x in enumerate((0.1, 0.4, 0.6, 0.9)):
        assert level_model(study.history, 0, refits) is None, count
        study.add({"x": x}, {"error": curve(x, 9), "joules": 1.0})
    model = level_model(study.history, 0, refits)
    assert model is not None
    assert model.stops == (1, 9)
    assert model.correlation(np.array([[0.2]]), 0).tolist() == [0.0]  # nothing was read at the first stop


def test_stops_before_a_tenth_of_the_way_are_not_modelled() -> None:
    assert Objective("error", steps=27).looks == (3, 9, 27)
    assert Objective("error", steps=(1, 2, 10)).looks == (1, 2, 10)
    assert Objective("error").looks == ()


def test_few_curves_or_equal_losses_support_nothing() -> None:
    keys, level = np.array([1, 2, 3] * 2, dtype=np.uint64), np.repeat([0, 1], 3)
    assert supported(keys, level, np.arange(6.0), 2) == (0.0, 1.0)
    keys, level = np.arange(12, dtype=np.uint64) % 6, np.repeat([0, 1], 6)
    assert supported(keys, level, np.concatenate([np.ones(6), np.arange(6.0)]), 2) == (0.0, 1.0)


def test_what_counts_is_the_order_of_the_best_half() -> None:
    keys, level, last = np.arange(40, dtype=np.uint64) % 20, np.repeat([0, 1], 20), np.arange(20.0)
    early = np.concatenate([last[:10][::-1], last[10:]])  # tells good from bad, and not which good one is better
    assert supported(keys, level, np.concatenate([early, last]), 2)[0] == 0.0
    early = np.concatenate([last[:10], last[10:][::-1]])
    assert supported(keys, level, np.concatenate([early, last]), 2)[0] > 0.9


@pytest.mark.parametrize("sign", [1, 0])
def test_error_bars_of_early_losses_are_mapped_by_the_derivative(sign: int) -> None:
    losses, level = np.array([0.5, 2.0, 3.0, 4.0]), np.array([0, 1, 2, 0])
    location, scale = np.array([0.3, -0.1, 0.0]), np.array([1.7, 0.6, 1.0])

    def at(moved: float) -> FloatArray:
        return mapped(losses + moved, level, location, scale, sign)

    slopes = map_slopes(losses, at(0.0), level, scale, sign)
    np.testing.assert_allclose(slopes, (at(1e-6) - at(-1e-6)) / 2e-6, rtol=1e-6)


def test_a_last_value_with_an_error_bar_is_moved_by_its_neighbours() -> None:
    study = studied()
    study.add({"x": 0.52}, {"error": Reading(curve(0.52, 9) + 0.5, deviation=0.5), "joules": 1.0})
    history = study.history
    designs = history.space.designs([{"x": 0.5}, {"x": 0.52}])
    found = predictions(history, designs, study.predictor.models(history))
    assert found.sigma[0, 0] == 0.0
    assert found.sigma[1, 0] > 0.0
    assert found.mu[1, 0] < curve(0.52, 9) + 0.25
