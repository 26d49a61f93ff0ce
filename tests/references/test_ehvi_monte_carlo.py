"""The expected hypervolume improvement against averages over draws, with volumes counted on the grid of the front."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import qmc

from flexibo.belief.belief import Belief
from flexibo.belief.price_list import PriceList
from flexibo.methods.ehvi import expected_hypervolume_improvement, expected_improvements


def draws(mu, sigma, seed, log2_count=15):
    """Independent normal draws that fill space evenly (count, n)."""
    sobol = qmc.Sobol(len(mu), seed=seed).random_base2(log2_count)
    return mu + sigma * ndtri(sobol)


def added_volumes(Y, front, reference):
    """What each row adds to the front: the free cells of the grid of all coordinates, cut off at the row."""
    axes = [np.concatenate([[-1e9], np.sort(front[:, j]), reference[j : j + 1]]) for j in range(len(reference))]
    corners = np.stack(np.meshgrid(*[axis[:-1] for axis in axes], indexing="ij"), axis=-1)
    free = ~(front <= corners[..., None, :]).all(axis=-1).any(axis=-1)
    result = free.astype(float)[None]
    for j, axis in enumerate(axes):
        sizes = np.maximum(axis[1:] - np.maximum(axis[:-1], Y[:, j, None]), 0.0)
        # Axis 1 of what is left is axis j; it is summed out.
        result = np.einsum("na...,na->n...", np.broadcast_to(result, (len(Y), *result.shape[1:])), sizes)
    return result


def spherical_front(f, k, rng):
    front = np.abs(rng.normal(size=(f, k)))
    return front / np.linalg.norm(front, axis=1, keepdims=True)


@pytest.mark.parametrize(("k", "f"), [(1, 1), (2, 1), (2, 6), (3, 4)])
def test_the_expectation_is_the_average_over_draws(k, f):
    rng = np.random.default_rng(10 * k + f)
    front, reference = spherical_front(f, k, rng), np.full(k, 1.1)
    mu, sigma = rng.uniform(0.3, 0.9, (6, k)), rng.uniform(0.1, 0.4, (6, k))
    sigma[0, 0] = 0.0
    expected = expected_improvements(mu, sigma, front, reference)
    averages = [added_volumes(draws(mu[i], sigma[i], i), front, reference).mean() for i in range(len(mu))]
    assert expected == pytest.approx(averages, rel=1e-3)


def test_with_limits_the_expectation_is_the_average_over_feasible_draws():
    # Quantity 1 is a constraint, quantity 2 an objective with a limit below the reference.
    rng = np.random.default_rng(1)
    limits, reference, m = np.array([np.inf, 0.5, 0.9]), np.full(2, 1.1), 5
    front = np.array([[0.2, 0.85], [0.5, 0.6], [0.8, 0.3]])
    known_mu = np.column_stack([front[:, 0], np.zeros(3), front[:, 1]])
    mu, sigma = rng.uniform(0.2, 0.7, (m, 3)), rng.uniform(0.2, 0.4, (m, 3))
    all_mu, all_sigma = np.vstack([known_mu, mu]), np.vstack([np.zeros((3, 3)), sigma])
    ones = np.ones((m + 3, 1))
    belief = Belief(
        designs=None,
        mu=all_mu,
        sigma=all_sigma,
        lower=all_mu - all_sigma,
        upper=all_mu + all_sigma,
        keys=np.zeros((m + 3, 3), dtype=np.uint64),
        known=all_sigma == 0.0,
        optimised=(0, 2),
        limits=limits,
        reference=reference,
        tolerances=np.zeros(3),
        price_list=PriceList(((0, 1, 2),), ones, ones, ones > 0),
    )
    scores = expected_hypervolume_improvement(belief, rng)[3:, 0]
    averages = []
    for i in range(m):
        Y = draws(mu[i], sigma[i], i, 16)
        averages.append((added_volumes(Y[:, [0, 2]], front, reference) * (limits >= Y).all(axis=1)).mean())
    assert scores == pytest.approx(averages, rel=1e-3)
