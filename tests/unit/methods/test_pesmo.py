from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.belief import Belief, JointPrediction
from flexibo.methods import pesmo as module
from flexibo.methods.pesmo import NOISE, SETS, entropy_gains, likely_sets, pesmo, standardised
from flexibo.surrogates import GaussianProcess, Hyperparameters, Warped
from flexibo.surrogates.warp import Warp

MakeBelief = Callable[..., Belief]


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
