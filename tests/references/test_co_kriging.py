"""Co-kriging stop by stop against one dense process of the readings at all stops."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo._internal.arrays import FloatArray
from flexibo.surrogates import GaussianProcess, Hyperparameters
from flexibo.surrogates.co_kriging import OnTop
from flexibo.surrogates.kernels import KERNELS, scaled, squared_distances

GROUPS, SLOPE = np.array([0, 1]), -1.4
EARLY = Hyperparameters(length_scales=(0.6, 0.9), variance=1.3, noise=1e-9)
REST = Hyperparameters(length_scales=(1.1, 0.4), variance=0.8, noise=1e-9)


def kernel(given: Hyperparameters, A: FloatArray, B: FloatArray) -> FloatArray:
    Z, W = (scaled(some, np.array(given.length_scales), GROUPS) for some in (A, B))
    return np.asarray(given.variance * KERNELS["matern52"].correlation(squared_distances(Z, W)))


def standardised(y: FloatArray) -> FloatArray:
    return np.asarray((y - y.mean()) / y.std())


def data() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Designs, early readings of all of them, and rests of the first six; both have mean 0 and deviation 1."""
    X = np.random.default_rng(0).random((14, 2))
    early, rest = np.sin(5.0 * X[:, 0]) + X[:, 1], np.cos(4.0 * X[:6, 1]) * X[:6, 0]
    return X, standardised(early), standardised(rest)


def model(X: FloatArray, early: FloatArray, last: FloatArray) -> OnTop:
    settings = GaussianProcess(noise=1e-9)
    below = settings.condition(X, early, groups=GROUPS, hyperparameters=EARLY)
    mean, deviation = below.predict(X[:6])
    rest = settings.condition(
        X[:6],
        last - SLOPE * mean,
        groups=GROUPS,
        hyperparameters=REST,
        variances=(SLOPE * deviation) ** 2,
    )
    return OnTop(below, rest, SLOPE)


def test_means_and_deviations_are_those_of_a_dense_process_of_all_stops() -> None:
    """Kennedy and O'Hagan's process; the recursion is exact where designs are read at the stop below."""
    X, early, rest = data()
    last, new = SLOPE * early[:6] + rest, np.random.default_rng(7).random((9, 2))
    some = X[:6]
    K = np.block(
        [
            [kernel(EARLY, X, X), SLOPE * kernel(EARLY, X, some)],
            [SLOPE * kernel(EARLY, some, X), SLOPE**2 * kernel(EARLY, some, some) + kernel(REST, some, some)],
        ]
    )
    K += 1e-9 * np.eye(len(K))
    k = np.hstack([SLOPE * kernel(EARLY, new, X), SLOPE**2 * kernel(EARLY, new, some) + kernel(REST, new, some)])
    wanted = k @ np.linalg.solve(K, np.concatenate([early, last]))
    prior = SLOPE**2 * kernel(EARLY, new, new) + kernel(REST, new, new)
    covariance = prior - k @ np.linalg.solve(K, k.T)
    found = model(X, early, last)
    mean, deviation = found.predict(new)
    assert mean == pytest.approx(wanted, abs=1e-6)  # the readings have a noise of 1e-9
    assert deviation == pytest.approx(np.sqrt(covariance.diagonal()), abs=1e-6)
    assert found.covariance(new, new[:3]) == pytest.approx(covariance[:, :3], abs=1e-6)


def test_each_stop_is_a_dense_process_of_what_the_stop_below_leaves() -> None:
    X, early, rest = data()
    last, new = SLOPE * early[:6] + rest, np.random.default_rng(7).random((9, 2))
    found = model(X, early, last)
    inverse = np.linalg.inv(kernel(EARLY, X, X) + 1e-9 * np.eye(14))

    def below(A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
        left, right = kernel(EARLY, A, X), kernel(EARLY, B, X)
        return left @ inverse @ early, kernel(EARLY, A, B) - left @ inverse @ right.T

    mean, covariance = below(X[:6], X[:6])
    noise = 1e-9 + SLOPE**2 * covariance.diagonal()
    y = last - SLOPE * mean
    unit = y.std()
    K = np.linalg.inv(kernel(REST, X[:6], X[:6]) + np.diag(noise / unit**2))
    k = kernel(REST, new, X[:6])
    mean, covariance = below(new, new)
    wanted = SLOPE * mean + y.mean() + k @ K @ (y - y.mean())
    spread = SLOPE**2 * covariance.diagonal() + unit**2 * (REST.variance - np.einsum("ms,st,mt->m", k, K, k))
    assert found.predict(new)[0] == pytest.approx(wanted, abs=1e-8)
    assert found.predict(new)[1] == pytest.approx(np.sqrt(spread), abs=1e-8)
