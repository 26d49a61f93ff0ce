"""What PAL and epsilon-PAL promise, on functions drawn from their own model and run to the end.

With beta_t = 2 log(n m pi^2 t^2 / (6 delta)) all of PAL's classes are right with probability 1 - delta. An
epsilon-accurate Pareto set comes within epsilon of every design, and no design is better than one of the set by more
than epsilon in every objective.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from flexibo.belief.belief import Belief, exploration
from flexibo.belief.price_list import PriceList
from flexibo.methods.epsilon_pal import epsilon_pal_step
from flexibo.methods.pal import OPEN, PARETO, pal_step, widest_region
from flexibo.pareto import non_dominated
from flexibo.surrogates import Hyperparameters
from flexibo.surrogates.kernels import KERNELS, squared_distances
from flexibo.surrogates.posterior import condition

DELTA = 0.1
FULL = 2.0
M, K, FIRST = 60, 2, 5
MODEL = Hyperparameters(length_scales=(0.3,), variance=1.0, noise=1e-8)


def drawn(seed):
    """Designs X (M, 2), losses Y (M, K) drawn from the model, and the rows measured first."""
    rng = np.random.default_rng(seed)
    X = rng.random((M, 2))
    Z = X / MODEL.length_scales[0]
    covariance = KERNELS["matern52"].correlation(squared_distances(Z, Z)) + 1e-8 * np.eye(M)
    Y = np.linalg.cholesky(covariance) @ rng.standard_normal((M, K))
    return X, Y, rng.choice(M, FIRST, replace=False).tolist()


def believed(X, Y, rows, *, factor, epsilon):
    """The belief of the model that the losses were drawn from, after the measurements of some rows."""
    half = math.sqrt(exploration(K, M, len(rows), DELTA, factor=factor))
    known = np.zeros((M, K), dtype=bool)
    known[rows] = True
    mu, sigma = Y.copy(), np.zeros((M, K))
    rest = ~known[:, 0]
    for j in range(K):
        posterior = condition(
            X[rows],
            Y[rows, j],
            groups=np.zeros(2, dtype=np.int64),
            location=0.0,
            scale=1.0,
            kernel="matern52",
            hyperparameters=MODEL,
        )
        mu[rest, j], sigma[rest, j] = posterior.predict(X[rest])
    return mu, sigma, mu - half * sigma, mu + half * sigma, known, np.asarray(epsilon)


def belief(mu, sigma, lower, upper, known, epsilon, kept=None):
    ones = np.ones((M, 1))
    return Belief(
        designs=None,
        mu=mu,
        sigma=sigma,
        lower=lower,
        upper=upper,
        keys=np.arange(M * K, dtype=np.uint64).reshape(M, K),
        known=known,
        optimised=(0, 1),
        limits=np.full(K, np.inf),
        reference=upper.max(axis=0),
        tolerances=epsilon,
        price_list=PriceList(((0, 1),), ones, ones, ~known[:, :1]),
        memory=kept,
    )


def run(step, X, Y, first, *, factor=FULL, epsilon=(0.0, 0.0)):
    """The classes at the end, and how many designs were measured for them."""
    rows, kept = list(first), None
    for _ in range(M + 1):
        thought = believed(X, Y, rows, factor=factor, epsilon=epsilon)
        kept = step(kept, belief(*thought))
        scores = widest_region(belief(*thought, kept=kept), np.random.default_rng(0))
        if not scores.any():
            return kept.status, len(rows)
        assert int(scores.argmax()) not in rows
        rows.append(int(scores.argmax()))
    raise AssertionError("it measures more designs than there are")


def wrong(status, Y):
    return bool(((status == PARETO) != non_dominated(Y)).any())


def is_accurate(status, Y, epsilon):
    chosen = Y[status == PARETO]
    covers = all((chosen <= y + epsilon).all(axis=1).any() for y in Y)
    return covers and not any((Y + epsilon < y).all(axis=1).any() for y in chosen)


@cache
def pal_run(seed):
    """Whether PAL was wrong about any design of this function, and how many it measured."""
    X, Y, first = drawn(seed)
    status, count = run(pal_step, X, Y, first)
    assert not (status == OPEN).any()
    return wrong(status, Y), count


@pytest.mark.parametrize("runs", [10, pytest.param(200, marks=pytest.mark.long)])
def test_pal_is_right_about_every_design_with_probability_one_minus_delta(runs):
    failures, measured = zip(*(pal_run(seed) for seed in range(runs)), strict=True)
    assert sum(failures) <= DELTA * runs
    assert np.mean(measured) < 0.75 * M


def test_pal_is_wrong_far_more_often_with_much_too_small_boxes():
    runs = 30
    failures = 0
    for seed in range(runs):
        X, Y, first = drawn(seed)
        status, _ = run(pal_step, X, Y, first, factor=0.002)
        assert not (status == OPEN).any()
        failures += wrong(status, Y)
    assert failures > 3 * DELTA * runs


@pytest.mark.parametrize("runs", [10, pytest.param(200, marks=pytest.mark.long)])
def test_epsilon_pal_finds_an_accurate_set_with_fewer_measurements_than_pal(runs):
    failures, measured = 0, []
    for seed in range(runs):
        X, Y, first = drawn(seed)
        epsilon = 0.1 * np.ptp(Y, axis=0)
        status, count = run(epsilon_pal_step, X, Y, first, epsilon=epsilon)
        assert not (status == OPEN).any()
        failures += not is_accurate(status, Y, epsilon)
        measured.append(count)
    assert failures <= DELTA * runs
    assert np.mean(measured) < np.mean([pal_run(seed)[1] for seed in range(runs)]) - 1.0


def test_epsilon_pal_is_inaccurate_with_much_too_small_boxes():
    runs = 30
    failures = 0
    for seed in range(runs):
        X, Y, first = drawn(seed)
        epsilon = 0.05 * np.ptp(Y, axis=0)
        status, _ = run(epsilon_pal_step, X, Y, first, factor=0.002, epsilon=epsilon)
        failures += not is_accurate(status, Y, epsilon)
    assert failures > 3 * DELTA * runs
