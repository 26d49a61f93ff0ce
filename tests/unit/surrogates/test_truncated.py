"""Predictions within bounds: truncated normal ones, warped ones and averaged ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import truncnorm

from flexibo.errors import InvalidTypeError
from flexibo.surrogates import Averaged, GaussianProcess, RandomForest, Warped
from flexibo.surrogates.base import around, below, hull, interval, joint
from flexibo.surrogates.truncated import Truncated, chance, truncated_score, untruncated, within

GP = GaussianProcess(noise=1e-6, scatter=0.5, restarts=0)
INF = math.inf


@dataclass(frozen=True)
class Given:
    """A surrogate that predicts what it was given, for any designs."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    def fit(self, X: np.ndarray, y: np.ndarray, *, groups: object, rng: object) -> Given:
        return self

    def extend(self, X: np.ndarray, y: np.ndarray) -> Given:
        return self

    def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.mean), np.array(self.deviation)

    def held_out(self) -> np.ndarray:
        return np.zeros(len(self.mean))


def designs(rows: int) -> np.ndarray:
    return np.linspace(0.0, 1.0, rows)[:, None]


def valley(X: np.ndarray) -> np.ndarray:
    """A small error in a narrow valley, which a smooth model undershoots."""
    return 0.01 + 0.9 * (1.0 - np.exp(-(((X[:, 0] - 0.5) / 0.1) ** 2)))


@pytest.mark.parametrize(
    ("mean", "deviation", "least", "most"),
    [(0.5, 1.0, 0.0, INF), (-2.0, 1.0, 0.0, INF), (-9.0, 0.5, 0.0, INF), (3.0, 2.0, -INF, 1.0), (0.2, 5.0, 0.0, 1.0)],
)
def test_the_quantiles_and_probabilities_are_those_of_a_truncated_normal_loss(
    mean: float, deviation: float, least: float, most: float
) -> None:
    model = Truncated(Given((mean,), (deviation,)), least, most)
    expected = truncnorm((least - mean) / deviation, (most - mean) / deviation, loc=mean, scale=deviation)
    quantiles = expected.ppf([0.15865525393145707, 0.5, 0.8413447460685429])
    np.testing.assert_allclose([side[0] for side in model.interval(designs(1), 1.0)], quantiles, rtol=1e-6)
    limit = float(quantiles[1])
    assert model.below(designs(1), limit)[0] == pytest.approx(0.5, rel=1e-6)


def test_half_of_a_normal_loss_about_zero_has_its_median_where_three_quarters_of_the_whole_are() -> None:
    lower, median, upper = Truncated(Given((0.0,), (2.0,)), 0.0, INF).interval(designs(1), 0.0)
    assert lower[0] == median[0] == upper[0] == pytest.approx(2.0 * 0.67448975)


def test_predictions_far_from_the_bounds_do_not_change() -> None:
    model = Given((7.0, 50.0), (1.0, 2.0))
    bounded = within(model, 0.0, 100.0)
    np.testing.assert_array_equal(bounded.predict(designs(2)), model.predict(designs(2)))
    np.testing.assert_array_equal(hull(bounded, designs(2), 2.0), hull(model, designs(2), 2.0))
    assert below(bounded, designs(2), 8.0)[0] == below(model, designs(2), 8.0)[0]
    assert chance(bounded, designs(2)).tolist() == [1.0, 1.0]


def test_a_model_that_is_sure_of_the_impossible_says_the_nearest_possible_loss() -> None:
    bounded = Truncated(Given((-1e9, -3.0, 120.0, -5.0), (1.0, 0.0, 0.0, 1e-300)), 0.0, 100.0)
    for half in (0.0, 1.0, 40.0):
        lower, middle, upper = bounded.interval(designs(4), half)
        assert ((lower >= 0.0) & (lower <= middle) & (middle <= upper) & (upper <= 100.0)).all()
    np.testing.assert_allclose(bounded.predict(designs(4))[0], [0.0, 0.0, 100.0, 0.0], atol=1e-6)
    assert bounded.below(designs(4), 50.0).tolist() == [1.0, 1.0, 0.0, 1.0]


def test_beyond_a_bound_a_limit_is_surely_kept_or_broken() -> None:
    bounded = Truncated(Given((1.0,), (1.0,)), 0.0, 2.0)
    assert [float(bounded.below(designs(1), limit)[0]) for limit in (-1.0, 2.0, 5.0)] == [0.0, 1.0, 1.0]


def test_a_hull_contains_what_is_possible_of_the_models_own_interval() -> None:
    bounded = Truncated(Given((1.0, -1.0), (1.0, 1.0)), 0.0, INF)
    lower, middle, upper = bounded.hull(designs(2), 2.0)
    inner_lower, inner_middle, inner_upper = bounded.interval(designs(2), 2.0)
    assert lower.tolist() == [0.0, 0.0]
    assert (inner_lower > 0.0).all()
    np.testing.assert_array_equal(middle, inner_middle)
    assert (upper >= inner_upper).all()
    assert (upper > middle).all()


def test_draws_have_the_distributions_of_the_predictions() -> None:
    X = designs(9)
    fitted = GP.fit(X, valley(X) - 0.2, groups=np.array([0]), rng=np.random.default_rng(0))
    bounded, asked = within(fitted, 0.0, INF), np.array([[0.3], [0.44], [0.56]])
    drawn = joint(bounded).draws(asked, 4000, np.random.default_rng(1))
    assert drawn.min() >= 0.0
    for score, side in zip((-1.0, 0.0, 1.0), interval(bounded, asked, 1.0), strict=True):
        share = (drawn <= side).mean(axis=0)
        np.testing.assert_allclose(share, [0.1587, 0.5, 0.8413][int(score) + 1], atol=0.03)


def test_covariances_have_the_variances_of_the_predictions() -> None:
    X = designs(6)
    fitted = GP.fit(X, valley(X), groups=np.array([0]), rng=np.random.default_rng(0))
    bounded, asked = within(fitted, 0.0, INF), np.array([[0.5], [0.52], [0.9]])
    covariance = joint(bounded).covariance(asked, asked)
    np.testing.assert_allclose(covariance.diagonal(), bounded.predict(asked)[1] ** 2, rtol=1e-6)


def test_a_surrogate_without_bounds_is_left_alone_and_one_with_bounds_can_lose_them() -> None:
    model = Given((1.0,), (1.0,))
    assert within(model, -INF, INF) is model
    assert untruncated(within(model, 0.0, INF)) is model
    assert untruncated(model) is model


def test_bounds_stay_when_a_surrogate_learns_more() -> None:
    X = designs(7)
    bounded = Truncated(GP, 0.0, INF).fit(X, valley(X), groups=np.array([0]), rng=np.random.default_rng(0))
    longer = bounded.extend(np.array([[0.45]]), valley(np.array([[0.45]])))
    assert isinstance(longer, Truncated)
    assert longer.predict(designs(300))[0].min() >= 0.0
    assert isinstance(around(longer, X), Truncated)
    assert len(longer.held_out()) == 8


def test_what_the_surrogate_cannot_do_is_refused_with_bounds_too() -> None:
    bounded = Truncated(Given((1.0,), (1.0,)), 0.0, INF)
    with pytest.raises(InvalidTypeError, match="Given"):
        bounded.draws(designs(1), 1, np.random.default_rng(0))
    forest = RandomForest(trees=4).fit(designs(5), np.arange(5.0), groups=np.array([0]), rng=np.random.default_rng(0))
    with pytest.raises(InvalidTypeError, match="RandomForest"):
        Truncated(forest, 0.0, INF).held_out()


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("settings", [GP, Warped(GP), Averaged((GP, Warped(GP)))])
def test_errors_in_a_narrow_valley_are_positive_and_so_are_maximised_ones(settings: object, sign: float) -> None:
    X = designs(9)
    fitted = settings.fit(X, sign * valley(X), groups=np.array([0]), rng=np.random.default_rng(0))  # type: ignore[attr-defined]
    bounded = within(fitted, 0.0, INF) if sign > 0 else within(fitted, -INF, 0.0)
    asked = designs(201)
    for half in (1.0, 4.0):
        for box in (interval(bounded, asked, half), hull(bounded, asked, half)):
            assert (sign * np.array(box) >= 0.0).all()
            assert ((box[0] <= box[1]) & (box[1] <= box[2])).all()
    assert (sign * joint(bounded).draws(asked, 20, np.random.default_rng(0)) >= 0.0).all()


def test_warped_losses_are_truncated_where_the_warp_takes_the_bounds() -> None:
    X = designs(12)
    y = 5.0 + 4.0 * np.sin(7.0 * X[:, 0])
    fitted = Warped(GP).fit(X, y, groups=np.array([0]), rng=np.random.default_rng(0))
    bounded, asked = fitted.within(1.0, 9.0), designs(101)
    lower, _, upper = bounded.interval(asked, 3.0)
    assert lower.min() >= 1.0 - 1e-9
    assert upper.max() <= 9.0 + 1e-9
    drawn = fitted.draws(asked, 20, np.random.default_rng(0))
    assert not (drawn.min() >= 1.0 and drawn.max() <= 9.0)


def test_a_model_that_thinks_losses_impossible_loses_its_weight_there() -> None:
    models = (Given((-4.0, 9.0), (1.0, 1.0)), Given((0.5, 11.0), (0.1, 1.0)))
    average = Averaged(models, models, (0.9, 0.1), (0.1, 10.0))
    assert average.predict(designs(2))[0] == pytest.approx([-3.55, 9.2])
    bounded = average.within(0.0, INF)
    # Phi(-4) = 3.2e-5 leaves the first model almost no weight at the first design, and all of it at the second.
    assert bounded.predict(designs(2))[0] == pytest.approx([0.5, 9.2], abs=1e-3)
    assert bounded.below(designs(2), 0.5) == pytest.approx([0.5, 0.0], abs=1e-3)


def test_if_all_models_think_losses_impossible_their_weights_stay() -> None:
    models = (Given((-1e4,), (1.0,)), Given((-1e5,), (1.0,)))
    bounded = Averaged(models, models, (0.5, 0.5), (0.1, 10.0)).within(0.0, INF)
    assert bounded.predict(designs(1))[0] == pytest.approx([0.0], abs=1e-3)


def test_a_score_far_in_a_tail_keeps_its_accuracy() -> None:
    low = np.array([10.0, 30.0, 1e5])
    # Beyond a far bound the distance to it is nearly exponential with rate `low`.
    found = truncated_score(np.zeros(3), low, np.full(3, INF)) - low
    np.testing.assert_allclose(found[:2] * low[:2], math.log(2.0), rtol=0.02)
    assert found[2] == pytest.approx(0.0, abs=1e-3)
