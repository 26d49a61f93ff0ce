"""Whether models are supported by held-out readings, and how many readings that takes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from tests.unit.surrogates.grouped_data import GROUPS, HYPERPARAMETERS, conditioned, data

from flexibo import Objective, Space, Study
from flexibo.belief import trust
from flexibo.errors import InvalidTypeError
from flexibo.surrogates import Averaged, GaussianProcess, RandomForest, Warped, posterior

LINE = Space({"x": list(range(40))})


def study_of(losses: Any, count: int, **settings: Any) -> Study:
    """A study that knows two quantities of every second design, a constant trade-off apart from `losses`."""
    study = Study(LINE, ["a", "b"], seed=0, n_initial=1, **settings)
    for x in range(0, 2 * count, 2):
        study.add({"x": x}, {"a": float(losses(x)), "b": -float(x)})
    return study


def widening(study: Study) -> float:
    return trust.widening(study.history, study.predictor.models(study.history))


def test_a_held_out_residual_is_that_of_the_process_without_the_row() -> None:
    X, y = data(12)
    gp = conditioned(X, y)
    assert gp.posterior is not None
    location, scale = gp.posterior.location, gp.posterior.scale
    expected = []
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        without = posterior.condition(
            X[rest],
            y[rest],
            groups=GROUPS,
            location=location,
            scale=scale,
            kernel=gp.kernel,
            hyperparameters=HYPERPARAMETERS,
        )
        mean, deviation = without.predict(X[i : i + 1])
        noise = scale**2 * HYPERPARAMETERS.noise
        expected.append((y[i] - mean[0]) / np.sqrt(deviation[0] ** 2 + noise))
    np.testing.assert_allclose(gp.held_out(), expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(trust.held_out(gp, X, y, groups=GROUPS), gp.held_out())


def test_averaged_models_need_the_residual_of_the_best_of_them_and_none_between_two() -> None:
    class Fixed(GaussianProcess):
        def held_out(self) -> Any:
            return np.array(RESIDUALS[self.restarts])

    RESIDUALS = {0: [1.0, -3.0, 2.0, 0.0], 1: [4.0, -1.0, -2.0, 0.5]}
    models = Fixed(restarts=0), Fixed(restarts=1)
    averaged = Averaged(models, fitted=models, weights=(0.5, 0.5), seen=(0.0, 1.0))
    assert averaged.held_out().tolist() == [1.0, -1.0, 0.0, 0.0]
    assert Warped(models[1]).held_out().tolist() == RESIDUALS[1]


def test_a_model_without_residuals_cannot_be_averaged_or_warped_and_checked() -> None:
    with pytest.raises(InvalidTypeError, match="RandomForest"):
        Warped(RandomForest()).held_out()


def test_the_residuals_of_a_forest_are_those_of_forests_grown_without_the_rows() -> None:
    X, y = data(30)
    forest = RandomForest(trees=8).fit(X, y, groups=GROUPS, rng=np.random.default_rng(0))
    residuals = trust.held_out(forest, X, y, groups=GROUPS)
    inside = np.abs((y - forest.predict(X)[0]) / forest.predict(X)[1])
    assert residuals.shape == y.shape
    assert np.isfinite(residuals).all()
    assert np.abs(residuals).mean() > inside.mean()
    assert trust.held_out(forest, X[:1], y[:1], groups=GROUPS).tolist() == [0.0]


def test_smooth_readings_support_the_models_and_a_reading_that_stands_out_does_not() -> None:
    assert widening(study_of(lambda x: np.sin(x / 8), 12)) == 1.0
    odd = study_of(lambda x: np.sin(x / 8) - 4.0 * (x == 12), 12, surrogate="gp-plain")
    assert 1.0 < widening(odd) <= trust.MOST
    certificate = odd.certificate()
    assert not certificate.trusted
    assert certificate.widened == widening(odd)


def test_wider_boxes_have_a_larger_gap() -> None:
    study = study_of(lambda x: np.sin(x / 8), 12)
    narrow = study.certificate()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("flexibo.results.confidence.widening", lambda *_: 2.0)
        wide = study.certificate()
    assert wide.beta == pytest.approx(4.0 * narrow.beta)
    assert wide.relative > narrow.relative
    assert (wide.widened, narrow.widened, wide.trusted) == (2.0, 1.0, False)


@pytest.mark.parametrize(("hidden", "total", "measured"), [(1, 6, 2), (2, 6, 2), (3, 6, 2), (2, 5, 4), (1, 4, 4)])
def test_the_chance_of_missing_is_the_share_of_all_placements(hidden: int, total: int, measured: int) -> None:
    placements = list(itertools.combinations(range(total), hidden))
    missed = sum(min(places) >= measured for places in placements)
    assert trust.chance_of_missing(hidden, total, measured) == pytest.approx(missed / len(placements))


@pytest.mark.parametrize("total", [1, 2, 16, 17, 40, 96, 500])
def test_one_reading_less_than_needed_would_miss_too_often(total: int) -> None:
    hidden, needed = -(-total // 16), trust.readings_needed(total)
    assert trust.chance_of_missing(hidden, total, needed) <= trust.MISSED
    assert needed == 0 or trust.chance_of_missing(hidden, total, needed - 1) > trust.MISSED


def test_a_quantity_is_checked_over_the_options_it_depends_on() -> None:
    space = Space({"x": list(range(10)), "k": list(range(6))})
    study = Study(space, [Objective("a", options=["x"]), "b"], seed=0, n_initial=1)
    for x in range(9):
        study.add({"x": x, "k": 0}, {"a": float(x), "b": -float(x)})
    designs = study.predictor.pool(study.history)
    assert trust.readings_missing(study.history, designs).tolist() == [0, trust.readings_needed(60) - 9]
    assert trust.chance_of_stranger(study.history, designs) == pytest.approx(51 / 60)
    certificate = study.certificate()
    assert (certificate.unread, certificate.trusted) == (trust.readings_needed(60) - 9, False)
    assert certificate.stranger == pytest.approx(51 / 60)


def test_a_certified_study_measures_enough_designs_to_check_its_models() -> None:
    # Most designs are beyond the reference point, so the search alone would not measure enough of them.
    reference = {"a": 20.0, "b": 900.0}
    stop = {"certified_error": 0.2}
    study = Study(LINE, ["a", "b"], seed=0, n_initial=3, surrogate="gp-plain", reference=reference, stop=stop)
    while (evaluation := study.ask()) is not None:
        x = float(evaluation.design["x"])  # type: ignore[arg-type]
        study.tell(evaluation, x if evaluation.objective == "a" else (40 - x) ** 2, cost=1.0)
    needed = trust.readings_needed(40)
    assert all(len(study.history.known(j)) >= needed for j in range(2))
    assert study.certificate().unread == 0
    assert study.certificate().relative <= 0.2
    assert any("checks the models" in evaluation.why for evaluation in study.history.asked)
