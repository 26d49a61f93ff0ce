from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm, truncnorm

from flexibo._internal.arrays import FloatArray
from flexibo.methods._expectation_propagation import _falls, conditioned, conditioned_variances, dominating, replacement


def covariance_of(members: FloatArray) -> FloatArray:
    """The covariances (k, p, p) of losses with these coordinates (k, p, u)."""
    return members @ members.swapaxes(1, 2)


def tilted_moments(mean: float, variance: float, others: float) -> tuple[float, float]:
    """Mean and variance of a normal g whose density is multiplied by 1 - others where g is negative."""
    below, above = np.linspace(-12.0, 0.0, 20_001), np.linspace(0.0, 12.0, 20_001)

    def moment(power: int) -> float:
        parts = (trapezoid(g**power * norm.pdf(g, mean, np.sqrt(variance)), g) for g in (below, above))
        return float(sum(weight * part for weight, part in zip((1.0 - others, 1.0), parts, strict=True)))

    centre = moment(1) / moment(0)
    return centre, moment(2) / moment(0) - centre**2


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_replaced_factor_leaves_the_mean_and_variance_that_quadrature_finds(k: int) -> None:
    rng = np.random.default_rng(k)
    replaced = 0
    for mean in 1.5 * rng.standard_normal((12, k)):
        variance = 0.2 + rng.random(k)
        precision, shift = replacement(mean, variance)
        better = norm.cdf(-mean / np.sqrt(variance))
        for j in range(k):
            centre, spread = tilted_moments(mean[j], variance[j], np.delete(better, j).prod())
            if spread > variance[j]:
                assert precision[j] == shift[j] == 0.0
                continue
            replaced += 1
            left = 1.0 / (1.0 / variance[j] + precision[j])
            assert left == pytest.approx(spread, rel=1e-6)
            assert left * (mean[j] / variance[j] + shift[j]) == pytest.approx(centre, rel=1e-6, abs=1e-8)
    assert replaced >= 6


def test_a_replaced_factor_changes_both_losses_and_their_covariance_as_rejection_sampling_does() -> None:
    rng = np.random.default_rng(0)
    mean = np.array([[0.3, 0.0], [0.4, 0.2]])
    K = np.array([[[1.0, 0.5], [0.5, 0.8]], [[0.6, -0.2], [-0.2, 1.0]]])
    given_set = conditioned(mean, K, np.array([1]), np.array([0]))
    f = np.stack([rng.multivariate_normal(mean[j], K[j], 400_000) for j in range(2)])
    f = f[:, (f[:, :, 0] > f[:, :, 1]).any(axis=0)]
    np.testing.assert_allclose(given_set.mean[:, 0], f[:, :, 1].mean(axis=1), atol=1e-2)
    np.testing.assert_allclose(covariance_of(given_set.members)[:, 0, 0], f[:, :, 1].var(axis=1), atol=1e-2)
    before = K[:, :1][:, :, given_set.rows] @ given_set.whiten
    lifted = mean[:, 0] + (before @ given_set.lift[:, :, None])[:, 0, 0]
    np.testing.assert_allclose(lifted, f[:, :, 0].mean(axis=1), atol=1e-2)
    shared = before @ given_set.settle @ given_set.members.swapaxes(1, 2)
    np.testing.assert_allclose(shared[:, 0, 0], [np.cov(f[j].T)[0, 1] for j in range(2)], atol=1e-2)


def test_a_factor_that_would_widen_the_belief_is_left_out() -> None:
    precision, shift = replacement(np.array([-3.0, 0.5]), np.array([1.0, 1.0]))
    assert precision[0] == shift[0] == 0.0
    assert precision[1] > 0.0


@pytest.mark.parametrize("far", [-1e3, -60.0, 60.0, 1e3])
def test_contradictions_and_certainties_give_finite_factors(far: float) -> None:
    for mean in ([far], [far, far], [far, 0.0], [0.0, far]):
        precision, shift = replacement(np.array(mean), np.ones(len(mean)))
        assert np.isfinite(precision).all()
        assert np.isfinite(shift).all()
        assert (precision >= 0.0).all()


def test_a_design_that_is_equal_in_one_loss_must_be_worse_in_the_other() -> None:
    both, _ = replacement(np.array([0.0, 0.3]), np.array([0.0, 1.0]))
    alone, _ = replacement(np.array([0.3]), np.array([1.0]))
    assert both[0] == 0.0
    assert both[1] == pytest.approx(alone[0])
    worse, _ = replacement(np.array([0.1, 0.3]), np.array([0.0, 1.0]))
    assert (worse == 0.0).all()
    assert dominating(np.array([0.0, 0.0]), np.array([0.0, 1.0])) == pytest.approx(0.5)


def test_without_other_designs_nothing_is_learned() -> None:
    mean, K = np.array([[0.5], [1.0]]), np.ones((2, 1, 1))
    given_set = conditioned(mean, K, np.array([0]), np.zeros(0, dtype=int))
    np.testing.assert_array_equal(given_set.mean, mean)
    np.testing.assert_allclose(covariance_of(given_set.members), K)


def test_one_objective_and_a_known_best_loss_is_a_truncated_normal() -> None:
    best, mean, deviation = 1.0, np.array([0.4, 1.0, 2.5]), np.array([1.0, 0.5, 0.9])
    nothing = np.zeros((1, 1, 1))
    given_set = conditioned(np.array([[best]]), nothing, np.array([0]), np.zeros(0, dtype=int))
    left = conditioned_variances(given_set, mean[None], deviation[None] ** 2, np.zeros((1, 3, 1)))
    exact = truncnorm((best - mean) / deviation, np.inf, mean, deviation).var()
    np.testing.assert_allclose(left[0], exact, rtol=2e-4)


def test_a_known_design_cuts_a_member_of_one_objective_off_from_above() -> None:
    mean, K = np.array([[0.2, 0.5]]), np.array([[[1.0, 0.0], [0.0, 0.0]]])
    given_set = conditioned(mean, K, np.array([0]), np.array([1]))
    exact = truncnorm(-np.inf, 0.3, 0.2, 1.0)
    assert given_set.mean[0, 0] == pytest.approx(exact.mean(), abs=2e-3)
    assert covariance_of(given_set.members)[0, 0, 0] == pytest.approx(exact.var(), abs=2e-3)


def test_many_candidates_at_once_agree_with_one_inverse_each() -> None:
    rng = np.random.default_rng(3)
    k, u, p, c = 2, 30, 20, 20
    A = rng.standard_normal((k, u + c, u + c)) + 2.0 * rng.standard_normal((k, 1, u + c))
    K = A @ A.swapaxes(1, 2) / (u + c)
    mean = 0.3 * rng.standard_normal((k, u + c))
    rows, candidates = np.arange(u), np.arange(u, u + c)
    given_set = conditioned(mean[:, :u], K[:, :u, :u], rows[:p], rows[p:])
    variance = K[:, candidates, candidates]
    cross = K[:, candidates[:, None], given_set.rows]
    left = conditioned_variances(given_set, mean[:, candidates], variance, cross)

    assert len(given_set.rows) > p
    before = cross @ given_set.whiten
    after = before @ given_set.settle
    rest = variance - (before**2).sum(axis=2)
    centre = mean[:, candidates] + (before @ given_set.lift[:, :, None])[:, :, 0]
    for i in range(c):
        coordinates = np.concatenate([after[:, i : i + 1], given_set.members], axis=1)
        both = covariance_of(coordinates)
        both[:, 0, 0] += rest[:, i]
        Q = np.linalg.inv(both)
        for member in range(p):
            difference = np.zeros(p + 1)
            difference[0], difference[member + 1] = 1.0, -1.0
            precision, _ = replacement(centre[:, i] - given_set.mean[:, member], difference @ both @ difference)
            Q += precision[:, None, None] * np.outer(difference, difference)
        np.testing.assert_allclose(left[:, i], np.linalg.inv(Q)[:, 0, 0], rtol=3e-4)


def test_conjugate_gradients_solve_what_is_badly_conditioned() -> None:
    rng = np.random.default_rng(0)
    p, c = 25, 6
    A = rng.standard_normal((p + c, 8))
    K = A @ A.T + 1e-3 * np.eye(p + c)
    variance, cross, own = K.diagonal()[p:], K[p:, :p], K[:p, :p]
    weight = 10.0 ** rng.uniform(-1.0, 1.5, (c, p))
    falls = _falls(weight[None], variance[None], cross[None], own[None])[0]
    for i in range(c):
        G = own - cross[i, :, None] - cross[i] + variance[i]
        v = weight[i] * (variance[i] - cross[i])
        exact = v @ np.linalg.solve(np.eye(p) + weight[i][:, None] * G * weight[i], v)
        assert variance[i] - falls[i] == pytest.approx(variance[i] - exact, rel=1e-3)


def test_designs_that_are_almost_equal_are_no_trouble() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([np.linspace(0.0, 1.0, 20), np.linspace(0.0, 1.0, 20) + 1e-4])
    K = np.tile(np.exp(-0.5 * (x[:, None] - x) ** 2 / 0.3**2), (2, 1, 1))
    mean = np.stack([x, 1.0 - x])
    members = np.array([2, 22, 9, 29, 17, 37])
    given_set = conditioned(mean, K, members, np.array([5, 25, 13]))
    variance = K[:, np.arange(40), np.arange(40)]
    left = conditioned_variances(given_set, mean, variance, K[:, :, given_set.rows])
    assert (left > 0.0).all()
    assert (left <= 1.0 + 1e-9).all()
    # What holds for a design holds for the one beside it, and a member's variance is the member's.
    np.testing.assert_allclose(left[:, :20], left[:, 20:], rtol=0.05)
    shuffled = rng.permutation(6)
    again = conditioned(mean, K, members[shuffled], np.array([25, 13, 5]))
    same = conditioned_variances(again, mean, variance, K[:, :, again.rows])
    np.testing.assert_allclose(same, left, rtol=1e-3)


def test_rounding_in_a_covariance_is_not_taken_for_a_common_cause() -> None:
    K = np.array([np.diag([1.0, 1e-36]), np.eye(2)])
    given_set = conditioned(np.zeros((2, 2)), K, np.array([0, 1]), np.zeros(0, dtype=int))
    exact, rounded = (
        conditioned_variances(given_set, np.ones((2, 1)), np.ones((2, 1)), np.array([[[0.5, tiny]], [[0.5, 0.5]]]))
        for tiny in (0.0, 3e-16)
    )
    np.testing.assert_allclose(rounded, exact, rtol=1e-6)


def test_the_order_of_members_and_of_objectives_does_not_matter() -> None:
    rng = np.random.default_rng(5)
    A = rng.standard_normal((2, 6, 6))
    K, mean = A @ A.swapaxes(1, 2) / 6.0, rng.standard_normal((2, 6))
    one = conditioned(mean, K, np.array([0, 1, 2]), np.array([3, 4, 5]))
    other = conditioned(mean[::-1], K[::-1], np.array([2, 0, 1]), np.array([5, 3, 4]))
    np.testing.assert_allclose(one.mean, other.mean[::-1][:, [1, 2, 0]], atol=1e-9)
    mirrored = covariance_of(other.members[::-1][:, [1, 2, 0]])
    np.testing.assert_allclose(covariance_of(one.members), mirrored, atol=1e-9)
