from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.stats import norm, truncnorm

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.belief import Belief, JointPrediction
from flexibo.methods import pesmo as module
from flexibo.methods._expectation_propagation import _falls, conditioned, conditioned_variances, dominating, replacement
from flexibo.methods.pesmo import NOISE, SETS, entropy_gains, likely_sets, pesmo, standardised
from flexibo.surrogates import GaussianProcess, Hyperparameters, Warped
from flexibo.surrogates.warp import Warp

MakeBelief = Callable[..., Belief]
PURE = np.array([[0.0, 0.0], [0.5, -0.3], [-1.2, 0.4], [2.0, 1.0], [-0.2, -3.0], [1.5, -2.5]])


@dataclass(frozen=True)
class Table:
    """A surrogate of the designs 0, 1, 2, ... whose losses have these means (u,) and covariances (u, u)."""

    mean: FloatArray
    matrix: FloatArray

    def fit(self, X: FloatArray, y: FloatArray, *, groups: IntArray, rng: np.random.Generator) -> Table:
        raise NotImplementedError

    def extend(self, X: FloatArray, y: FloatArray) -> Table:
        raise NotImplementedError

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        at = X[:, 0].astype(int)
        return self.mean[at], np.sqrt(self.matrix.diagonal()[at])

    def covariance(self, X: FloatArray, others: FloatArray) -> FloatArray:
        return self.matrix[np.ix_(X[:, 0].astype(int), others[:, 0].astype(int))]

    def draws(self, X: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        at = X[:, 0].astype(int)
        return rng.multivariate_normal(self.mean[at], self.matrix[np.ix_(at, at)], count, method="eigh")


def smooth(m: int, length: float = 0.2) -> FloatArray:
    """Covariances (m, m) of designs on a line."""
    x = np.arange(m) / m
    return np.exp(-0.5 * ((x[:, None] - x) / length) ** 2) + 1e-9 * np.eye(m)


def believed(
    make: MakeBelief, mean: npt.ArrayLike, matrices: list[FloatArray], known: npt.ArrayLike = (), **fields: object
) -> Belief:
    """A belief with means (m, n) and covariances (n, m, m); the known rows are known in every quantity."""
    mu = np.array(mean, dtype=float)
    m, n = mu.shape
    pinned = np.zeros((m, n), dtype=bool)
    pinned[np.array(known, dtype=int)] = True
    pinned = np.asarray(fields.pop("pinned", pinned))
    sigma = np.where(pinned, 0.0, np.sqrt([K.diagonal() for K in matrices]).T)
    X, at = np.arange(m, dtype=float)[:, None], np.arange(m)
    joints = tuple(JointPrediction(Table(mu[:, j], matrices[j]), X, at, mu[:, j], pinned[:, j]) for j in range(n))
    return make(mu, sigma, **({"joints": joints} | fields))


def line(make: MakeBelief, m: int = 30, n: int = 2, **fields: object) -> Belief:
    """Losses that pull apart along a line, with three known designs."""
    x = np.arange(m) / m
    mean = np.stack([1.5 * (x - j / max(n - 1, 1)) ** 2 for j in range(n)], axis=1)
    return believed(make, mean, [smooth(m, 0.15 + 0.05 * j) for j in range(n)], known=[3, 14, 25], **fields)


def gained(belief: Belief, sets: list[IntArray]) -> FloatArray:
    return entropy_gains(belief, standardised(belief), sets)


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


def test_a_problem_that_is_its_own_mirror_image_has_mirrored_scores(make_belief: MakeBelief) -> None:
    x = np.arange(21) / 20
    belief = believed(make_belief, np.stack([x, 1.0 - x], axis=1), [smooth(21)] * 2, known=[5, 15])
    scores = gained(belief, [np.array([0, 10, 20]), np.array([2, 18])])
    np.testing.assert_allclose(scores, scores[::-1, ::-1], rtol=1e-6, atol=1e-9)
    assert scores.max() > 0.1


def test_what_is_known_scores_nothing_and_all_else_something(make_belief: MakeBelief) -> None:
    belief = line(make_belief)
    scores = pesmo(belief, np.random.default_rng(0))
    assert (scores[[3, 14, 25]] == 0.0).all()
    assert (np.delete(scores, [3, 14, 25], axis=0) > 0.0).all()


def test_an_objective_that_is_known_scores_nothing_though_the_other_is_open(make_belief: MakeBelief) -> None:
    pinned = np.zeros((30, 2), dtype=bool)
    pinned[::3, 0] = True
    belief = line(make_belief, pinned=pinned, bundles=((0,), (1,)))
    scores = pesmo(belief, np.random.default_rng(0))
    assert (scores[::3, 0] == 0.0).all()
    assert (scores[::3, 1] > 0.0).all()


def test_where_everything_is_known_all_scores_are_zero(make_belief: MakeBelief) -> None:
    belief = believed(make_belief, [[0.0, 1.0], [1.0, 0.0]], [np.eye(2)] * 2, known=[0, 1])
    assert (pesmo(belief, np.random.default_rng(0)) == 0.0).all()


def test_a_single_candidate_tells_nothing_of_the_pareto_set(make_belief: MakeBelief) -> None:
    belief = believed(make_belief, [[0.0, 1.0]], [np.eye(1)] * 2)
    assert pesmo(belief, np.random.default_rng(0)).tolist() == [[0.0]]


def test_a_hopeless_design_scores_almost_nothing(make_belief: MakeBelief) -> None:
    mean = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5], [50.0, 50.0]])
    scores = pesmo(believed(make_belief, mean, [np.eye(4)] * 2), np.random.default_rng(0))
    assert scores[3] < 1e-3 * scores[:3].min()


def test_the_coupled_score_is_the_sum_of_the_decoupled_ones(make_belief: MakeBelief) -> None:
    coupled = pesmo(line(make_belief), np.random.default_rng(7))
    decoupled = pesmo(line(make_belief, bundles=((0,), (1,))), np.random.default_rng(7))
    np.testing.assert_allclose(coupled[:, 0], decoupled.sum(axis=1))


def test_one_objective_prefers_designs_that_may_be_the_best(make_belief: MakeBelief) -> None:
    scores = pesmo(line(make_belief, n=1), np.random.default_rng(0))[:, 0]
    assert np.argmax(scores) < 10
    assert scores[:10].mean() > 3.0 * scores[20:].mean()


@pytest.mark.parametrize("k", [3, 5])
def test_many_objectives_have_finite_scores(make_belief: MakeBelief, k: int) -> None:
    scores = pesmo(line(make_belief, n=k), np.random.default_rng(0))
    assert np.isfinite(scores).all()
    assert (scores >= 0.0).all()
    assert scores.max() > 0.0


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(-12.0, 12.0), min_size=2, max_size=2), st.floats(-100.0, 100.0))
def test_units_do_not_matter(exponents: list[float], shift: float) -> None:
    rng = np.random.default_rng(2)
    factor = 10.0 ** np.array(exponents)
    A = rng.standard_normal((2, 6, 6))
    K, mean = A @ A.swapaxes(1, 2) / 6.0, rng.standard_normal((6, 2))
    X, at, pinned = np.arange(6.0)[:, None], np.arange(6), np.arange(6) == 0

    def scores(factor: FloatArray, shift: float) -> FloatArray:
        mu = factor * (mean + shift)
        joints = tuple(
            JointPrediction(Table(mu[:, j], factor[j] ** 2 * K[j]), X, at, mu[:, j], pinned) for j in range(2)
        )
        known = np.stack([pinned, pinned], axis=1)
        return gained(_Bare(joints, known), [np.array([0, 2, 4]), np.array([1, 5])])  # type: ignore[arg-type]

    np.testing.assert_allclose(scores(factor, shift), scores(np.ones(2), 0.0), rtol=1e-6, atol=1e-9)


@dataclass(frozen=True)
class _Bare:
    """As much of a belief as the entropies need."""

    joints: tuple[JointPrediction, ...]
    known: npt.NDArray[np.bool_]
    optimised: tuple[int, ...] = (0, 1)

    def feasible(self) -> FloatArray:
        return np.ones(len(self.known))


def test_an_objective_that_is_known_everywhere_still_decides_who_dominates(make_belief: MakeBelief) -> None:
    pinned = np.zeros((4, 2), dtype=bool)
    pinned[:, 0] = True
    mean = np.array([[0.0, 0.5], [1e-9, 0.0], [2e-9, 0.0], [3e-9, 0.0]])  # a tiny unit
    belief = believed(make_belief, mean, [np.eye(4)] * 2, pinned=pinned, bundles=((0,), (1,)))
    scores = gained(belief, [np.array([0])])
    assert (scores[:, 0] == 0.0).all()
    # The others are worse than the member in the first loss, so nothing follows for the second.
    assert (scores[1:, 1] == 0.0).all()
    scores = gained(belief, [np.array([3])])
    assert (scores[:3, 1] > 0.05).all()


def test_a_measured_design_holds_members_back_unless_it_is_illegal(make_belief: MakeBelief) -> None:
    mean = np.array([[0.0, 0.0, 5.0], [0.3, 0.3, 0.0], [1.0, 1.0, 0.0]])
    belief = believed(make_belief, mean, [np.eye(3)] * 3, known=[0], optimised=(0, 1))
    sets = [np.array([1])]
    legal, illegal = (gained(replace(belief, limits=np.array([np.inf, np.inf, at])), sets) for at in (6.0, 4.0))
    assert legal[1].sum() > illegal[1].sum() + 0.02


def test_a_pure_constraint_is_scored_by_the_shared_rule(make_belief: MakeBelief) -> None:
    limits = np.array([np.inf, 0.4])
    belief = line(make_belief, optimised=(0,), limits=limits, bundles=((0,), (1,)))
    scores = pesmo(belief, np.random.default_rng(0))
    open_rows = np.setdiff1d(np.arange(30), [3, 14, 25])
    assert (scores[open_rows] > 0.0).all()
    assert (scores[:, 1] <= np.log(2.0) * max(scores[:, 0].max(), 1.0)).all()


def test_blocks_of_candidates_do_not_change_scores(make_belief: MakeBelief, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pesmo(line(make_belief), np.random.default_rng(1))
    monkeypatch.setattr(module, "BLOCK", 7)
    np.testing.assert_allclose(pesmo(line(make_belief), np.random.default_rng(1)), whole, rtol=1e-3, atol=1e-6)


def test_designs_that_share_a_loss_share_its_score(make_belief: MakeBelief) -> None:
    belief = line(make_belief)
    joints = tuple(replace(joint, place=joint.place // 2) for joint in belief.joints)
    pinned = np.stack([joint.pinned[joint.place] for joint in joints], axis=1)
    mu = np.stack([joint.mean[joint.place] for joint in joints], axis=1)
    belief = replace(belief, joints=joints, mu=mu, known=pinned, sigma=np.where(pinned, 0.0, 1.0))
    scores = gained(belief, [np.array([0, 10, 28]), np.array([2, 16])])
    np.testing.assert_allclose(scores[0::2], scores[1::2], rtol=1e-5, atol=1e-7)
    assert scores.max() > 0.0


def test_noisy_losses_that_were_measured_score_nothing_but_take_part(make_belief: MakeBelief) -> None:
    belief = line(make_belief)
    measured = belief.known.copy()
    measured[[8, 20], 0] = True  # in one objective only
    belief = replace(belief, known=measured)
    joints = tuple(replace(joint, pinned=np.zeros(30, dtype=bool)) for joint in belief.joints)
    belief = replace(belief, joints=joints, sigma=np.full((30, 2), 0.3))
    with_them = gained(belief, [np.array([0, 29])])
    without = gained(replace(belief, known=np.zeros((30, 2), dtype=bool)), [np.array([0, 29])])
    assert (with_them[measured] == 0.0).all()
    assert abs(with_them[~measured] - without[~measured]).max() > 0.01


def test_a_warp_does_not_change_what_is_learned(make_belief: MakeBelief) -> None:
    rng = np.random.default_rng(4)
    X, parameters = rng.random((8, 1)), Hyperparameters(length_scales=(0.3,), variance=1.0, noise=1e-6)
    designs = np.arange(20.0)[:, None] / 20
    warp = Warp(sign=1, location=0.0, scale=1.0, power=0.0)
    plain, warped = [], []
    for _ in range(2):
        z = rng.standard_normal(8)
        model = GaussianProcess().condition(X, z, groups=np.array([0]), hyperparameters=parameters)
        none = np.zeros(20, dtype=bool)
        plain.append(JointPrediction(model, designs, np.arange(20), model.predict(designs)[0], none))
        outer = Warped(model, warp)
        warped.append(JointPrediction(outer, designs, np.arange(20), outer.predict(designs)[0], none))
    beliefs = []
    for joints in (plain, warped):
        mu = np.stack([joint.mean for joint in joints], axis=1)
        beliefs.append(make_belief(mu, np.ones((20, 2)), joints=tuple(joints)))
    sets = [np.array([0, 7, 15]), np.array([3, 12])]
    assert standardised(beliefs[1]).mean == pytest.approx(standardised(beliefs[0]).mean)
    np.testing.assert_allclose(gained(beliefs[1], sets), gained(beliefs[0], sets), rtol=1e-6)


def test_what_varies_less_than_the_noise_scores_next_to_nothing(make_belief: MakeBelief) -> None:
    K = np.diag([1.0, 1.0, 0.1 * NOISE])
    belief = believed(make_belief, [[0.0], [0.1], [0.0]], [K], known=[0])
    scores = gained(belief, [np.array([0])])
    assert scores[1] > 0.2
    assert 0.0 < scores[2] < 0.05


def test_only_designs_that_may_be_optimal_are_drawn(make_belief: MakeBelief) -> None:
    x = np.arange(40) / 40
    mean = np.stack([x, 1.0 - x], axis=1)
    mean[::4] += 12.0  # hopeless
    belief = believed(make_belief, mean, [smooth(40, 0.05)] * 2, known=[5])
    drawn = likely_sets(belief, standardised(belief), np.random.default_rng(0))
    assert len(drawn) == SETS
    together = np.unique(np.concatenate(drawn))
    assert len(together) > 20
    assert not np.isin(together, np.arange(0, 40, 4)).any()
    asked: list[int] = []

    @dataclass(frozen=True)
    class Counting(Table):
        def draws(self, X: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
            asked.append(len(X))
            return super().draws(X, count, rng)

    joints = tuple(replace(one, model=Counting(one.model.mean, one.model.matrix)) for one in belief.joints)  # type: ignore[union-attr]
    likely_sets(replace(belief, joints=joints), standardised(belief), np.random.default_rng(0))
    assert asked == [29, 29]  # 30 are not hopeless, and one is known


def test_with_limits_members_are_legal_in_their_draw(make_belief: MakeBelief) -> None:
    x = np.arange(20) / 20
    mean = np.stack([x, 1.0 - x, np.where(x < 0.5, 5.0, 0.0)], axis=1)
    belief = believed(make_belief, mean, [0.01 * smooth(20)] * 3, optimised=(0, 1), limits=np.array([9.0, 9.0, 1.0]))
    drawn = likely_sets(belief, standardised(belief), np.random.default_rng(0))
    assert min(rows.min() for rows in drawn) >= 10


def test_the_score_is_the_mean_over_the_pareto_sets(make_belief: MakeBelief) -> None:
    belief = line(make_belief)
    sets = [np.array([0, 10]), np.array([5, 22, 29])]
    each = [gained(belief, [one]) for one in sets]
    np.testing.assert_allclose(gained(belief, sets), (each[0] + each[1]) / 2.0, rtol=1e-3, atol=1e-6)


def test_the_same_generator_gives_the_same_scores(make_belief: MakeBelief) -> None:
    belief = line(make_belief)
    one, two = (pesmo(belief, np.random.default_rng(11)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
