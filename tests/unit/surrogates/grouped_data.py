"""Losses of designs with an option of two columns and two of one, and processes that know them."""

from __future__ import annotations

import numpy as np

from flexibo.surrogates import GaussianProcess, Hyperparameters

GROUPS = np.array([0, 0, 1, 2])


HYPERPARAMETERS = Hyperparameters(length_scales=(0.5, 1.0, 0.8), variance=1.3, noise=1e-4)


def data(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = np.hstack([np.eye(2)[rng.integers(2, size=rows)] / np.sqrt(2.0), rng.random((rows, 2))])
    return X, 7.0 + 3.0 * (np.sin(5.0 * X[:, 2]) + X[:, 3] * X[:, 0])


def conditioned(X, y, settings=None, given=HYPERPARAMETERS):
    return (settings or GaussianProcess()).condition(X, y, groups=GROUPS, hyperparameters=given)


def fit(settings, X, y, groups=GROUPS, seed=0):
    return settings.fit(X, y, groups=groups, rng=np.random.default_rng(seed))
