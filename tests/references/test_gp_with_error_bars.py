"""Gaussian processes whose losses have variances of their own, against a dense process with a diagonal noise matrix."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from tests.unit.surrogates.grouped_data import GROUPS, HYPERPARAMETERS, data

from flexibo.results.theorem import information_gain
from flexibo.surrogates import PAPER_RF, Averaged, GaussianProcess, Reach, Warped
from flexibo.surrogates._likelihood import Loss
from flexibo.surrogates.base import fitted_to, location_and_scale, takes_variances
from flexibo.surrogates.kernels import KERNELS, scaled, squared_distances
from flexibo.surrogates.level_process import LevelHyperparameters, LevelProcess
from flexibo.surrogates.warp import learned_warp

ROWS = 30
AVERAGED = Averaged((GaussianProcess(scatter=0.5, restarts=0), Warped(GaussianProcess(scatter=0.5, restarts=0))))
SURROGATES = {
    "plain": GaussianProcess(restarts=0),
    "warped": Warped(GaussianProcess(restarts=0)),
    "averaged": AVERAGED,
    "local": GaussianProcess(restarts=0, max_exact=12, reach=Reach(rows=20, anchors=8, nearest=4)),
    "rf": replace(PAPER_RF, trees=4),
}


def barred(rows=ROWS, seed=0):
    """Designs, losses with noise, and its variances, of which some are 0."""
    X, y = data(rows, seed)
    rng = np.random.default_rng(seed + 1)
    variances = np.where(np.arange(rows) % 5, rng.uniform(0.01, 2.0, rows), 0.0)
    return X, y + rng.standard_normal(rows) * np.sqrt(variances), variances


def covariance(X, others):
    """The prior covariance, in squared units of standardised losses."""
    lengths = np.array(HYPERPARAMETERS.length_scales)
    return HYPERPARAMETERS.variance * KERNELS["matern52"].correlation(
        squared_distances(scaled(X, lengths, GROUPS), scaled(others, lengths, GROUPS))
    )


def dense(X, y, variances, new):
    """Location and scale, the mean and deviation at new designs, and K: by the textbook, with inverses."""
    location, scale = location_and_scale(y, variances)
    K = covariance(X, X) + np.diag(HYPERPARAMETERS.noise + variances / scale**2)
    k, inverse = covariance(new, X), np.linalg.inv(K)
    mean = location + k @ inverse @ (y - location)
    spread = np.sqrt(HYPERPARAMETERS.variance - np.einsum("ms,st,mt->m", k, inverse, k))
    return mean, scale * spread, K, (y - location) / scale


def conditioned(X, y, variances, settings=SURROGATES["plain"]):
    return settings.condition(X, y, groups=GROUPS, hyperparameters=HYPERPARAMETERS, variances=variances)


def test_a_process_is_the_dense_one_with_a_diagonal_noise_matrix():
    X, y, variances = barred()
    new, _ = data(20, seed=9)
    mean, deviation, K, z = dense(X, y, variances, new)
    process = conditioned(X, y, variances)
    np.testing.assert_allclose(process.predict(new), (mean, deviation), rtol=1e-8, atol=1e-8)
    expected = multivariate_normal(np.zeros(ROWS), K).logpdf(z)
    assert process.log_marginal_likelihood == pytest.approx(expected, rel=1e-8)
    alpha, inverse = np.linalg.solve(K, z), np.linalg.inv(K)
    np.testing.assert_allclose(process.held_out(), alpha / np.sqrt(inverse.diagonal()), rtol=1e-8, atol=1e-8)
    noise = np.diag(K) - HYPERPARAMETERS.variance
    gain = 0.5 * np.linalg.slogdet(np.eye(ROWS) + (K - np.diag(noise)) / np.sqrt(np.outer(noise, noise)))[1]
    assert information_gain(process) == pytest.approx(gain, rel=1e-8)


@pytest.mark.parametrize("step", [1, 7, 300])
def test_rows_that_are_appended_keep_their_variances(step):
    X, y, variances = barred(ROWS + (0 if step < 300 else 280))
    new, _ = data(20, seed=9)
    process = conditioned(X[:10], y[:10], variances[:10])
    for row in range(10, len(y), step):
        more = slice(row, row + step)
        process = process.extend(X[more], y[more], variances=variances[more])
    location, scale = process.posterior.location, process.posterior.scale
    K = covariance(X, X) + np.diag(HYPERPARAMETERS.noise + variances / scale**2)
    mean = location + covariance(new, X) @ np.linalg.solve(K, y - location)
    np.testing.assert_allclose(process.predict(new)[0], mean, rtol=1e-8)


def test_a_local_process_with_enough_reach_is_the_dense_one():
    X, y, variances = barred()
    new, _ = data(20, seed=9)
    settings = GaussianProcess(max_exact=12, reach=Reach(rows=100, anchors=8, nearest=64))
    process = conditioned(X[:20], y[:20], variances[:20], settings).extend(X[20:], y[20:], variances=variances[20:])
    again = conditioned(X[:20], y[:20], variances[:20]).extend(X[20:], y[20:], variances=variances[20:])
    np.testing.assert_allclose(process.predict(new), again.predict(new), rtol=1e-8, atol=1e-8)


def test_draws_of_many_designs_know_the_variances(monkeypatch):
    monkeypatch.setattr("flexibo.surrogates.posterior.FEW_DESIGNS", 0)
    X, y, variances = barred()
    process = conditioned(X, y, variances)
    drawn = process.draws(X[1:5], 4000, np.random.default_rng(0))
    mean, deviation = process.predict(X[1:5])
    assert drawn.mean(axis=0) == pytest.approx(mean, abs=0.1)
    assert (drawn.std(axis=0) / deviation).mean() == pytest.approx(1.0, abs=0.2)


def test_the_likelihood_of_hyperparameters_has_the_slope_of_differences():
    X, y, variances = barred()
    location, scale = location_and_scale(y, variances)
    z, own = (y - location) / scale, variances / scale**2
    loss = Loss(X, z, groups=GROUPS, kernel="matern52", noise=None, prior=None, own=own)
    theta = np.log([*HYPERPARAMETERS.length_scales, HYPERPARAMETERS.variance, 0.05])
    value, slope = loss(theta)
    K = covariance(X, X) + np.diag(0.05 + own)
    assert value == pytest.approx(-multivariate_normal(np.zeros(ROWS), K).logpdf(z), rel=1e-8)
    steps = 1e-5 * np.eye(len(theta))
    differences = [(loss(theta + step)[0] - loss(theta - step)[0]) / 2e-5 for step in steps]
    np.testing.assert_allclose(slope, differences, rtol=1e-5, atol=1e-6)


def test_variances_of_warped_losses_are_multiplied_by_the_square_of_the_derivative():
    X, y, variances = barred()
    y = np.exp(y / 4.0)
    variances = variances * (0.1 * y) ** 2
    warp = learned_warp(y, variances)
    slope = (warp(y + 1e-6) - warp(y - 1e-6)) / 2e-6
    own = warp.variances(y, variances)
    np.testing.assert_allclose(own, variances * slope**2, rtol=1e-6)
    fitted = Warped(GaussianProcess(restarts=0)).fit(
        X, y, groups=GROUPS, rng=np.random.default_rng(0), variances=variances
    )
    inner = GaussianProcess(restarts=0).fit(X, warp(y), groups=GROUPS, rng=np.random.default_rng(0), variances=own)
    np.testing.assert_array_equal(fitted.predict(X)[0], warp.inverse(inner.predict(X)[0]))


def test_a_logarithm_is_learned_in_spite_of_much_noise_in_small_losses():
    rng = np.random.default_rng(3)
    truth = np.exp(rng.normal(0.0, 1.0, 200))
    bars = np.where(truth < 1.0, 0.3, 1e-3)
    y = np.abs(truth + bars * rng.standard_normal(200))
    assert learned_warp(y, bars**2).power < learned_warp(y).power


def test_readings_at_several_levels_are_the_dense_process_with_their_variances():
    X, y, variances = barred()
    level = np.arange(ROWS) % 2
    rows = np.hstack([X, level[:, None].astype(float)])
    given = LevelHyperparameters(np.array(HYPERPARAMETERS.length_scales), 1.3, np.array([0.2]), np.array([0.05, 1e-4]))
    process = LevelProcess(2).condition(rows, y, groups=GROUPS, hyperparameters=given, variances=variances)
    location, scale = location_and_scale(y, variances)
    across = np.exp(-0.2 * (level[:, None] != level))
    K = covariance(X, X) * across + np.diag(given.own[level] + variances / scale**2)
    new, _ = data(10, seed=9)
    k = covariance(new, X) * np.exp(-0.2 * (level != 1))
    mean = process.predict(np.hstack([new, np.ones((10, 1))]))[0]
    np.testing.assert_allclose(mean, location + k @ np.linalg.solve(K, y - location), rtol=1e-8)


def fit(settings, X, y, variances):
    return fitted_to(settings, X, y, variances, groups=GROUPS, rng=np.random.default_rng(0))


@pytest.mark.parametrize("name", SURROGATES)
def test_variances_of_zero_are_no_variances_to_the_last_digit(name):
    X, y, _ = barred()
    settings = SURROGATES[name]
    plain = settings.fit(X, y, groups=GROUPS, rng=np.random.default_rng(0)).extend(X[:3] + 0.01, y[:3])
    model = fit(settings, X, y, np.zeros(ROWS))
    if takes_variances(settings):
        model = settings.fit(X, y, groups=GROUPS, rng=np.random.default_rng(0), variances=np.zeros(ROWS))
        model = model.extend(X[:3] + 0.01, y[:3], variances=np.zeros(3))
    else:
        model = model.extend(X[:3] + 0.01, y[:3])
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("name", ["plain", "warped", "averaged"])
def test_a_row_with_an_endless_error_bar_changes_next_to_nothing(name):
    X, y, variances = barred()
    settings = SURROGATES[name]
    before = fit(settings, X, y, variances)
    after = fit(settings, np.vstack([X, X[:1]]), np.append(y, 3.0 * y.max()), np.append(variances, 1e30))
    (mean, deviation), (others, widths) = before.predict(X), after.predict(X)
    # The searches for hyperparameters stop at slightly different places.
    np.testing.assert_allclose(others, mean, atol=0.02 * y.std())
    np.testing.assert_allclose(widths, deviation, atol=0.02 * y.std())
    more = before.extend(X[:1], 3.0 * y[:1], variances=np.array([1e30]))
    np.testing.assert_allclose(more.predict(X), (mean, deviation), rtol=1e-8, atol=1e-8)


def test_the_common_noise_that_is_learned_is_what_error_bars_leave_unexplained():
    rng = np.random.default_rng(2)
    X, y = data(120, seed=4)
    bars = np.where(np.arange(120) % 2, 0.1, 1.0)
    y = y + bars * rng.standard_normal(120)
    told, untold = fit(SURROGATES["plain"], X, y, bars**2), fit(SURROGATES["plain"], X, y, None)
    common = math.sqrt(told.hyperparameters.noise) * told.posterior.scale
    assert common < 0.4 < math.sqrt(untold.hyperparameters.noise) * untold.posterior.scale
    new, truth = data(200, seed=5)
    densities = [norm.logpdf(truth, *model.predict(new)).mean() for model in (told, untold)]
    assert densities[0] > densities[1]
