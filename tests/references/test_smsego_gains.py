"""What losses add to a front against moocore, and the scores of SMS-EGO against its formulas, one by one."""

import math

import moocore
import numpy as np
import pytest
from scipy.stats import norm

from flexibo.belief.belief import Belief
from flexibo.belief.price_list import PriceList
from flexibo.methods.smsego import optimistic_hypervolume_gain
from flexibo.pareto import improvements


def volume(Y, reference):
    inside = Y[(reference > Y).all(axis=1)]
    if len(inside) == 0:
        return 0.0
    return float(reference[0] - inside.min()) if Y.shape[1] == 1 else moocore.hypervolume(inside, ref=reference)


def spherical_front(f, k, rng):
    front = np.abs(rng.normal(size=(f, k)))
    return front / np.linalg.norm(front, axis=1, keepdims=True)


@pytest.mark.parametrize(("k", "f"), [(1, 1), (2, 1), (2, 30), (3, 30), (4, 20), (5, 10), (6, 10), (2, 0), (3, 0)])
def test_losses_add_the_difference_of_two_volumes(k, f):
    rng = np.random.default_rng(10 * k + f)
    front, reference = spherical_front(f, k, rng), np.full(k, 1.05)
    front[: f // 10] += 0.3  # some beyond the reference
    Y = np.vstack([rng.uniform(-0.1, 1.2, (150, k)), front])
    added = np.array([volume(np.vstack([front, row]), reference) - volume(front, reference) for row in Y])
    assert (added > 0).any()
    assert improvements(Y, front, reference) == pytest.approx(added, rel=1e-9, abs=1e-12)
    assert (improvements(front, front, reference) == 0.0).all()


def test_on_a_grid_with_many_ties_losses_add_the_difference_of_two_volumes():
    rng = np.random.default_rng(0)
    for k in (2, 3, 4):
        for _ in range(20):
            front, Y = (rng.integers(0, 6, size=(size, k)).astype(float) for size in (6, 40))
            reference = np.full(k, 5.0)
            added = [volume(np.vstack([front, row]), reference) - volume(front, reference) for row in Y]
            assert improvements(Y, front, reference) == pytest.approx(added, abs=1e-9)


def criterion(mu, sigma, front, reference, left):
    """The criterion of one candidate, greater is better: gains above 0, penalties below."""
    k = len(mu)
    potential = mu + norm.ppf(0.5 * 0.5 ** (1 / k)) * sigma
    spread = front.max(axis=0) - front.min(axis=0)
    eps = spread / (len(front) + (1 - 1 / 2**k) * left)
    penalty = 0.0
    for member in front:
        if all(member[j] <= potential[j] + eps[j] for j in range(k)):
            excess = [max(0.0, potential[j] - member[j]) / spread[j] for j in range(k)]
            penalty = max(penalty, math.prod(1 + e for e in excess) - 1)
    if penalty > 0:
        return -penalty
    return volume(np.vstack([front, potential]), reference) - volume(front, reference)


@pytest.mark.parametrize("left", [0.0, 25.0, math.inf])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_scores_rank_designs_as_the_criterion_does(k, left):
    rng = np.random.default_rng(k)
    m, f = 200, 10
    front, reference = spherical_front(f, k, rng), np.full(k, 1.1)
    mu = np.vstack([front, rng.uniform(0.1, 1.0, (m, k))])
    sigma = np.vstack([np.zeros((f, k)), rng.uniform(0.0, 0.3, (m, k))])
    ones = np.ones((m + f, 1))
    belief = Belief(
        designs=None,
        mu=mu,
        sigma=sigma,
        lower=mu - sigma,
        upper=mu + sigma,
        keys=np.zeros((m + f, k), dtype=np.uint64),
        known=sigma == 0.0,
        optimised=tuple(range(k)),
        limits=np.full(k, np.inf),
        reference=reference,
        tolerances=np.zeros(k),
        price_list=PriceList((tuple(range(k)),), ones, ones, ones > 0, designs_left=left),
    )
    scores = optimistic_hypervolume_gain(belief, rng)[f:, 0]
    wanted = np.array([criterion(mu[f + i], sigma[f + i], front, reference, left) for i in range(m)])
    gains = wanted > 0
    assert 10 < gains.sum() < m - 10
    assert scores[gains] == pytest.approx(wanted[gains], rel=1e-9)
    assert scores[~gains] == pytest.approx(0.5 * wanted[gains].min() / (1 - wanted[~gains]), rel=1e-9)
