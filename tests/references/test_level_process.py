"""The Gaussian process over levels against a dense one that is written down from its definition."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.levels import with_levels
from flexibo.surrogates import GaussianProcess
from flexibo.surrogates.level_process import LevelHyperparameters, LevelProcess, _LevelLoss, _LevelPrior

LEVELS = 4
GROUPS = np.array([0, 1, 1])
GIVEN = LevelHyperparameters(
    np.array([0.7, 1.3]), 1.7, gaps=np.array([0.3, 0.1, 0.05]), own=np.array([0.2, 0.1, 0.02, 1e-6])
)


def data(seed: int = 0) -> tuple[FloatArray, FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    designs, level = np.repeat(rng.random((9, 3)), 3, axis=0), np.tile([0, 1, 3], 9)
    y = np.sin(3.0 * designs[:, 0]) + designs[:, 1] + 0.1 * (3 - level) * rng.standard_normal(27)
    return with_levels(designs, level, LEVELS), y, level


def covariance(A: FloatArray, B: FloatArray) -> FloatArray:
    """Entry by entry, as the module's formula says."""
    K = np.zeros((len(A), len(B)))
    for i, a in enumerate(A):
        for k, b in enumerate(B):
            r2 = (a[0] - b[0]) ** 2 / 0.7**2 + ((a[1:3] - b[1:3]) ** 2).sum() / 1.3**2
            t = np.sqrt(5.0 * r2)
            levels = sorted((int(a[3:].sum()), int(b[3:].sum())))
            K[i, k] = 1.7 * (1 + t + t**2 / 3) * np.exp(-t) * np.exp(-GIVEN.gaps[levels[0] : levels[1]].sum())
    return K


def test_means_deviations_and_covariances_are_those_of_a_dense_process() -> None:
    X, y, level = data()
    model = LevelProcess(LEVELS).condition(X, y, groups=GROUPS, hyperparameters=GIVEN)
    rng = np.random.default_rng(5)
    new = with_levels(rng.random((6, 3)), np.array([3, 3, 3, 0, 1, 2]), LEVELS)
    K = covariance(X, X) + np.diag(GIVEN.own[level])
    inverse, k = np.linalg.inv(K), covariance(new, X)
    last = y[level == LEVELS - 1]  # the latest reading of each design
    y0, unit = last.mean(), last.std()
    z = (y - y0) / unit
    rest = covariance(new, new) - k @ inverse @ k.T
    own = np.array([0.0, 0.0, 0.0, *GIVEN.own[:3]])  # what a reading of an early level would have of its own
    mean, deviation = model.predict(new)
    assert mean == pytest.approx(y0 + unit * (k @ inverse @ z), abs=1e-8)
    assert deviation == pytest.approx(unit * np.sqrt(rest.diagonal() + own), abs=1e-8)
    assert model.covariance(new, new[:2]) == pytest.approx(unit**2 * rest[:, :2], abs=1e-8)
    sign, log_determinant = np.linalg.slogdet(K)
    assert sign == 1.0
    evidence = -0.5 * (z @ inverse @ z + log_determinant + len(y) * np.log(2.0 * np.pi)) - len(y) * np.log(unit)
    assert model.log_evidence == pytest.approx(evidence, abs=1e-8)


def test_appended_readings_are_as_if_they_had_been_there() -> None:
    X, y, _ = data()
    whole = LevelProcess(LEVELS).condition(X, y, groups=GROUPS, hyperparameters=GIVEN)
    # The losses are standardised by those of the fit.
    half = LevelProcess(LEVELS).condition(X[:20], y[:20], groups=GROUPS, hyperparameters=GIVEN).extend(X[20:], y[20:])
    assert half.posterior is not None
    assert whole.posterior is not None
    assert half.posterior.factor == pytest.approx(whole.posterior.factor, abs=1e-12)
    assert half.posterior.location != whole.posterior.location


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("bar", [0.0, 0.3])
def test_the_slopes_of_the_likelihood_are_its_differences(noisy: bool, bar: float) -> None:
    X, y, _ = data()
    variances = np.linspace(0.0, bar, len(y)) ** 2
    prior = _LevelPrior.of(LEVELS, noisy=noisy)
    last = with_levels(X[:, :3], np.full(len(X), LEVELS - 1), LEVELS)  # the covariance of the designs alone
    loss = _LevelLoss(covariance(last, last), X[:, 3:], y, variances, prior)
    theta = prior.mean + np.random.default_rng(1).normal(0.0, 0.3, len(prior.mean))
    found = loss(theta)[1]
    steps = 1e-5 * np.eye(len(theta))
    differences = [(loss(theta + step)[0] - loss(theta - step)[0]) / 2e-5 for step in steps]
    assert found == pytest.approx(differences, rel=1e-4, abs=1e-4)


def test_readings_of_the_last_level_alone_are_modelled_as_without_levels() -> None:
    X, y, level = data()
    whole = level == LEVELS - 1
    rng = np.random.default_rng(3)
    model = LevelProcess(LEVELS).fit(X[whole], y[whole], groups=np.array([0, 1, 1, 2, 3, 4]), rng=rng)
    plain = GaussianProcess(noise=1e-6, scatter=1.0, restarts=0)
    plain = plain.fit(X[whole, :3], y[whole], groups=GROUPS, rng=np.random.default_rng(3))
    new = rng.random((5, 3))
    for found, wanted in zip(
        model.predict(with_levels(new, np.full(5, LEVELS - 1), LEVELS)), plain.predict(new), strict=True
    ):
        assert found == pytest.approx(wanted, abs=1e-8)


def tree_covariance(A: FloatArray, B: FloatArray, gaps: FloatArray) -> FloatArray:
    """Two proxies and two stops, entry by entry: each proxy is its own gap away from the last level."""
    far = {(0, 1): gaps[0] + gaps[1], (0, 2): gaps[0] + gaps[2], (0, 3): gaps[0]}
    far |= {(1, 2): gaps[1] + gaps[2], (1, 3): gaps[1], (2, 3): gaps[2]}
    K = np.zeros((len(A), len(B)))
    for i, a in enumerate(A):
        for k, b in enumerate(B):
            r2 = (a[0] - b[0]) ** 2 / 0.7**2 + ((a[1:3] - b[1:3]) ** 2).sum() / 1.3**2
            t = np.sqrt(5.0 * r2)
            levels = (int(a[3:].sum()), int(b[3:].sum()))
            away = 0.0 if levels[0] == levels[1] else far[min(levels), max(levels)]
            K[i, k] = 1.7 * (1 + t + t**2 / 3) * np.exp(-t) * np.exp(-away)
    return K


def test_means_and_deviations_with_proxies_are_those_of_a_dense_process() -> None:
    X, y, level = data()
    model = LevelProcess(LEVELS, proxies=2).condition(X, y, groups=GROUPS, hyperparameters=GIVEN)
    rng = np.random.default_rng(5)
    new = with_levels(rng.random((6, 3)), np.array([3, 3, 3, 0, 1, 2]), LEVELS)
    K = tree_covariance(X, X, GIVEN.gaps) + np.diag(GIVEN.own[level])
    inverse, k = np.linalg.inv(K), tree_covariance(new, X, GIVEN.gaps)
    last = y[level == LEVELS - 1]
    y0, unit = last.mean(), last.std()
    rest = tree_covariance(new, new, GIVEN.gaps) - k @ inverse @ k.T
    own = np.array([0.0, 0.0, 0.0, *GIVEN.own[:3]])
    mean, deviation = model.predict(new)
    assert mean == pytest.approx(y0 + unit * (k @ inverse @ ((y - y0) / unit)), abs=1e-8)
    assert deviation == pytest.approx(unit * np.sqrt(rest.diagonal() + own), abs=1e-8)
    assert model.covariance(new, new[:2]) == pytest.approx(unit**2 * rest[:, :2], abs=1e-8)


@pytest.mark.parametrize("noisy", [False, True])
def test_the_slopes_of_the_likelihood_with_proxies_are_its_differences(noisy: bool) -> None:
    X, y, _ = data()
    prior = _LevelPrior.of(LEVELS, noisy=noisy, proxies=2)
    last = with_levels(X[:, :3], np.full(len(X), LEVELS - 1), LEVELS)
    loss = _LevelLoss(covariance(last, last), X[:, 3:], y, np.zeros(len(y)), prior, proxies=2)
    theta = prior.mean + np.random.default_rng(1).normal(0.0, 0.3, len(prior.mean))
    differences = [(loss(theta + step)[0] - loss(theta - step)[0]) / 2e-5 for step in 1e-5 * np.eye(len(theta))]
    assert loss(theta)[1] == pytest.approx(differences, rel=1e-4, abs=1e-4)
