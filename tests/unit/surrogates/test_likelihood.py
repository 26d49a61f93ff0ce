"""Learning hyperparameters: the likelihood, what is thought of them before there are data, and the search."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from tests.unit.surrogates.grouped_data import GROUPS, data

from flexibo.surrogates._likelihood import (
    COMMON_DEVIATION,
    VARIANCE,
    HierarchicalPrior,
    IndependentPrior,
    Loss,
    Prior,
    hyperparameters,
    minimum,
    parameters,
    starts,
)
from flexibo.surrogates.kernels import KERNELS

PENALTIES: dict[str, Prior] = {
    "independent": IndependentPrior.of(parameters(3, None)),
    "kindred": HierarchicalPrior.of(3, scatter=0.4, with_noise=True),
}


@pytest.mark.parametrize("name", PENALTIES)
def test_the_gradient_of_a_penalty_matches_finite_differences(name: str) -> None:
    theta, step = np.array([0.3, -0.2, 1.0, 0.4, -3.0]), 1e-6
    _, gradient = PENALTIES[name].penalised(theta, 0.0, np.zeros(5))
    for entry in range(5):
        shift = step * np.eye(5)[entry]
        above, below = (PENALTIES[name].penalised(theta + sign * shift, 0.0, np.zeros(5))[0] for sign in (1, -1))
        assert gradient[entry] == pytest.approx((above - below) / (2.0 * step), abs=1e-6)


@pytest.mark.parametrize("name", PENALTIES)
def test_nothing_is_more_likely_than_the_mode(name: str) -> None:
    prior = PENALTIES[name]
    best, gradient = prior.penalised(prior.mode(), 0.0, np.zeros(5))
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)
    for theta in np.random.default_rng(0).normal(prior.mode(), 1.0, size=(20, 5)):
        assert prior.penalised(theta, 0.0, np.zeros(5))[0] > best


def test_a_penalty_is_added_to_what_is_given() -> None:
    theta = np.zeros(5)
    alone, slope = PENALTIES["kindred"].penalised(theta, 0.0, np.zeros(5))
    value, gradient = PENALTIES["kindred"].penalised(theta, 7.0, np.full(5, 2.0))
    assert value == pytest.approx(alone + 7.0)
    np.testing.assert_allclose(gradient, slope + 2.0)


def test_kindred_length_scales_are_drawn_about_a_common_one() -> None:
    rng = np.random.default_rng(1)
    common = rng.normal(0.5 * np.log(3.0), COMMON_DEVIATION, size=(200_000, 1))
    drawn = common + 0.4 * rng.standard_normal((200_000, 3))
    prior = HierarchicalPrior.of(3, scatter=0.4, with_noise=True)
    np.testing.assert_allclose(prior.mean[:3], drawn.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(np.linalg.inv(prior.precision)[:3, :3], np.cov(drawn.T), atol=0.03)


PRIORS = {
    "none": lambda noise: None,
    "independent": lambda noise: IndependentPrior.of(parameters(3, noise)),
    "kindred": lambda noise: HierarchicalPrior.of(3, scatter=0.5, with_noise=noise is None),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("noise", [None, 1e-3])
@pytest.mark.parametrize("kind", ["none", "independent", "kindred"])
def test_the_gradient_of_the_loss_matches_finite_differences(kernel, noise, kind):
    X, y = data(20)
    loss = Loss(X, (y - y.mean()) / y.std(), groups=GROUPS, kernel=kernel, noise=noise, prior=PRIORS[kind](noise))
    theta = starts(parameters(3, noise), 1, np.random.default_rng(0))[1]
    gradient, step = loss(theta)[1], 1e-5
    for entry in range(len(theta)):
        shift = step * np.eye(len(theta))[entry]
        slope = (loss(theta + shift)[0] - loss(theta - shift)[0]) / (2.0 * step)
        assert gradient[entry] == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_a_search_from_more_places_is_never_worse():
    X, y = data(25)
    loss = Loss(X, (y - y.mean()) / y.std(), groups=GROUPS, kernel="matern52", noise=None, prior=None)
    begin = starts(parameters(3, None), 4, np.random.default_rng(0))
    assert loss(minimum(loss, begin))[0] <= min(loss(minimum(loss, row[None]))[0] for row in begin)


def test_the_loss_of_two_designs_is_the_density_of_a_normal_pair() -> None:
    X, z = np.array([[0.0], [0.6]]), np.array([1.0, -0.5])
    loss = Loss(X, z, groups=np.array([0]), kernel="squared-exponential", noise=0.25, prior=None)
    k = 2.0 * np.exp(-0.5 * 0.6**2 / 0.3**2)
    density = multivariate_normal(np.zeros(2), [[2.25, k], [k, 2.25]]).logpdf(z)
    assert loss(np.log([0.3, 2.0]))[0] == pytest.approx(-density)


def test_theta_is_the_logarithms_of_length_scales_variance_and_noise() -> None:
    theta = np.log([0.5, 2.0, 3.0, 0.1])
    learned, fixed = hyperparameters(theta, None), hyperparameters(theta[:3], 0.4)
    assert (*learned.length_scales, learned.variance, learned.noise) == pytest.approx((0.5, 2.0, 3.0, 0.1))
    assert (*fixed.length_scales, fixed.variance, fixed.noise) == pytest.approx((0.5, 2.0, 3.0, 0.4))
    assert (len(parameters(2, None)), len(parameters(2, 0.4))) == (4, 3)


def test_the_first_search_starts_at_a_fixed_place_and_the_others_within_their_spread_and_bounds() -> None:
    entries = parameters(2, None)
    begin = starts(entries, 200, np.random.default_rng(0))
    assert np.exp(begin[0]) == pytest.approx([entry.start for entry in entries])
    assert begin.shape == (201, 4)
    for entry, column in zip(entries, np.exp(begin).T, strict=True):
        low, high = max(entry.bounds[0], entry.start / entry.spread), min(entry.bounds[1], entry.start * entry.spread)
        assert (column >= low * (1 - 1e-12)).all()
        assert (column <= high * (1 + 1e-12)).all()
        assert column.max() > 0.5 * high


def test_a_search_stays_within_the_bounds() -> None:
    X, z = np.linspace(0.0, 1.0, 8)[:, None], np.zeros(8)  # equal losses: the likelihood wants no variance at all
    loss = Loss(X, z, groups=np.array([0]), kernel="matern52", noise=None, prior=None)
    found = np.exp(minimum(loss, starts(loss.parameters, 0, np.random.default_rng(0))))
    for value, entry in zip(found, loss.parameters, strict=True):
        assert entry.bounds[0] * (1 - 1e-9) <= value <= entry.bounds[1] * (1 + 1e-9)
    assert found[1] == pytest.approx(VARIANCE.bounds[0])
