from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_ndtr

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.belief import Belief
from flexibo.methods._sampled_fronts import pareto_set
from flexibo.methods.mesmo import Normals, least_losses, max_value_scores, mesmo, normals, truncation_gain

Make = Callable[..., Belief]


@dataclass(frozen=True)
class Independent:
    """A joint belief in which no loss tells anything of another."""

    mu: FloatArray
    sigma: FloatArray

    def draws(self, count: int, rng: np.random.Generator, *, rows: IntArray | None = None) -> FloatArray:
        drawn = self.mu + self.sigma * rng.standard_normal((count, len(self.mu)))
        return drawn if rows is None else drawn[:, rows]


@pytest.fixture
def believe(make_belief: Make) -> Make:
    def make(mu: object, sigma: object, **fields: object) -> Belief:
        belief = make_belief(mu, sigma, **fields)
        columns = range(belief.mu.shape[1])
        return replace(belief, joints=tuple(Independent(belief.mu[:, j], belief.sigma[:, j]) for j in columns))  # type: ignore[misc]

    return make


def score(belief: Belief, seed: int = 0) -> FloatArray:
    return mesmo(belief, np.random.default_rng(seed))


def plain(mu: FloatArray, sigma: FloatArray) -> Normals:
    return Normals(mu, sigma, np.zeros_like(mu))


@pytest.mark.parametrize("gamma", [-40.0, -10.0, -3.0, -1.0, 0.0, 0.5, 2.0, 5.0])
def test_the_closed_form_is_the_entropy_lost_by_truncation(gamma: float) -> None:
    """Against quadrature: z > -gamma, z standard normal."""

    def density(z: float) -> float:
        return float(np.exp(-0.5 * z * z - 0.5 * np.log(2 * np.pi) - log_ndtr(gamma)))

    def surprise(z: float) -> float:
        return density(z) * float(0.5 * z * z + 0.5 * np.log(2 * np.pi) + log_ndtr(gamma))

    width = 40.0 / max(1.0, -gamma)
    entropy, _ = quad(surprise, -gamma, -gamma + width, epsabs=1e-13, epsrel=1e-11, limit=500)
    assert truncation_gain(np.array([gamma]))[0] == pytest.approx(0.5 * np.log(2 * np.pi * np.e) - entropy, abs=1e-9)


def test_the_gain_falls_from_forty_deviations_beyond_to_forty_within() -> None:
    gains = truncation_gain(np.linspace(-40.0, 40.0, 100_001))
    assert (np.diff(gains) <= 0).all()
    assert gains.min() == 0.0
    assert (np.diff(gains)[: 100_000 * 75 // 80] < 0).all()  # strictly, until it underflows


def test_extreme_distances_have_finite_gains() -> None:
    gains = truncation_gain(np.array([-np.inf, -1e300, -1e3 - 1e-6, -1e3 + 1e-6, -0.0, 1e300, np.inf]))
    assert np.isfinite(gains).all()
    assert (np.diff(gains) <= 0).all()
    assert gains[2] == pytest.approx(gains[3], abs=2e-9)


def test_a_known_loss_scores_nothing(believe: Make) -> None:
    belief = believe([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]], [[0.0, 0.0], [0.3, 0.0], [0.3, 0.3]], bundles=((0,), (1,)))
    scores = score(belief)
    assert scores[0].tolist() == [0.0, 0.0]
    assert scores[1, 1] == 0.0
    assert (scores[[1, 2, 2], [0, 0, 1]] > 0).all()


def test_the_coupled_score_is_the_sum_of_the_decoupled_ones(believe: Make) -> None:
    rng = np.random.default_rng(0)
    mu, sigma = rng.random((20, 3)), rng.random((20, 3))
    coupled = score(believe(mu, sigma))
    apart = score(believe(mu, sigma, bundles=((0,), (1,), (2,))))
    pairs = score(believe(mu, sigma, bundles=((0, 2), (1,))))
    assert np.allclose(coupled[:, 0], apart.sum(axis=1), rtol=1e-12)
    assert np.allclose(pairs, np.stack([apart[:, 0] + apart[:, 2], apart[:, 1]], axis=1), rtol=1e-12)


def test_what_may_be_the_best_scores_more_than_what_cannot(believe: Make) -> None:
    belief = believe([[0.0, 9.0], [1.0, 9.0], [9.0, 0.0]], [[0.0, 0.0], [0.5, 0.5], [0.5, 0.0]], bundles=((0,), (1,)))
    scores = score(belief)
    assert scores[1, 0] > 0.01
    assert scores[2, 0] < 1e-30  # eighteen deviations from the best
    assert scores[1, 1] < 1e-30


def test_of_two_equal_means_the_less_certain_one_scores_more(believe: Make) -> None:
    scores = score(believe([[0.0], [1.0], [1.0]], [[0.0], [0.3], [0.6]]))
    assert scores[2, 0] > scores[1, 0] > 0


@given(st.integers(0, 2**32 - 1), st.integers(-40, 40), st.integers(-40, 40))
def test_units_do_not_matter(seed: int, first: int, second: int) -> None:
    rng = np.random.default_rng(seed)
    mu, sigma, bounds = rng.normal(size=(8, 2)), rng.random((8, 2)), rng.normal(size=(3, 2))
    units = np.array([2.0**first, 2.0**second])
    scores = max_value_scores(plain(mu, sigma), bounds)
    assert np.array_equal(max_value_scores(plain(mu * units, sigma * units), bounds * units), scores)


@pytest.mark.parametrize("seed", range(5))
def test_the_least_loss_of_a_draw_is_the_least_in_its_front(seed: int) -> None:
    Y = np.random.default_rng(seed).random((4, 50, 3))
    for limits in (np.full(3, np.inf), np.array([np.inf, np.inf, 0.3])):
        fronts = [losses[pareto_set(losses, (0, 1), limits)].min(axis=0)[:2] for losses in Y]
        assert np.array_equal(least_losses(Y, limits)[:, :2], fronts)


def test_designs_that_break_a_limit_bound_nothing_unless_all_do() -> None:
    Y = np.array([[[0.0, 9.0], [1.0, 2.0], [2.0, 1.0]], [[0.0, 9.0], [1.0, 8.0], [2.0, 7.0]]])
    assert least_losses(Y, np.array([np.inf, 5.0])).tolist() == [[1.0, 1.0], [0.0, 7.0]]


def test_scores_are_averages_over_draws() -> None:
    losses, bounds = plain(np.ones((1, 1)), np.ones((1, 1))), np.array([[0.0], [-1.0], [0.5]])
    expected = truncation_gain(np.array([1.0, 2.0, 0.5])).mean()
    assert max_value_scores(losses, bounds)[0, 0] == pytest.approx(expected, rel=1e-12)


def test_a_warp_of_the_losses_changes_no_score(make_belief: Make) -> None:
    """What a bound tells is the same whether a loss or its logarithm is modelled."""
    rng = np.random.default_rng(0)
    z, sigma, half = rng.normal(size=(40, 2)), 2.0 * rng.random((40, 2)) + 0.1, 1.9
    sigma[:5] = 0.0
    bounds = z.min(axis=0) - rng.random((6, 2))
    low, high = np.exp(z - half * sigma), np.exp(z + half * sigma)
    belief = make_belief(np.exp(z), (high - low) / (2 * half), lower=low, upper=high)
    warped = max_value_scores(normals(belief, np.arange(2)), np.exp(bounds))
    straight = max_value_scores(plain(z, sigma), bounds)
    assert np.allclose(warped, straight, rtol=1e-6, atol=1e-300)
    naive = max_value_scores(plain(belief.mu, belief.sigma), np.exp(bounds))
    assert not np.allclose(naive, straight, rtol=0.5)


def test_a_symmetric_box_is_that_of_a_normal_loss(make_belief: Make) -> None:
    rng = np.random.default_rng(0)
    mu, sigma = rng.normal(size=(40, 2)), rng.random((40, 2))
    losses = normals(make_belief(mu, sigma, lower=mu - 1.7 * sigma, upper=mu + 1.7 * sigma), np.arange(2))
    assert np.array_equal(losses.slope, sigma)
    assert not losses.curve.any()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_bound_outside_of_what_a_curve_allows_is_far_or_close_to_the_edge(sign: float) -> None:
    losses = Normals(np.zeros((1, 1)), np.ones((1, 1)), np.full((1, 1), sign))  # from -1 up, or up to 1
    assert losses.above(np.array([-sign * 2.0]))[0, 0] == (40.0 if sign > 0 else -5.0)


def test_tiny_and_huge_deviations_give_finite_scores(believe: Make) -> None:
    belief = believe([[0.0, 1e12], [1e-9, 2e12], [1.0, -1e12]], [[5e-324, 1e300], [1e-12, 1e-3], [1e9, 1e-300]])
    scores = score(belief)
    assert np.isfinite(scores).all()
    assert (scores >= 0).all()


def test_a_single_candidate_can_be_scored(believe: Make) -> None:
    assert score(believe([[1.0, 2.0]], [[0.5, 0.5]])).shape == (1, 1)
    assert score(believe([[1.0, 2.0]], [[0.0, 0.0]])).tolist() == [[0.0]]


def test_the_same_generator_gives_the_same_scores_and_another_gives_others(believe: Make) -> None:
    belief = believe([[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]])
    assert np.array_equal(score(belief, 1), score(belief, 1))
    assert not np.array_equal(score(belief, 1), score(belief, 2))


LIMITED = np.array([np.inf, 1.0])


def test_one_objective_and_one_constraint_are_a_legal_study(believe: Make) -> None:
    rng = np.random.default_rng(0)
    belief = believe(rng.random((9, 2)), rng.random((9, 2)), optimised=(0,), limits=LIMITED, bundles=((0,), (1,)))
    scores = score(belief)
    assert scores.shape == (9, 2)
    assert (scores > 0).all()
