import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from flexibo.belief.belief import Belief
from flexibo.belief.price_list import PriceList
from flexibo.methods import smsego
from flexibo.methods.smsego import optimism, optimistic_hypervolume_gain, penalties, slack, widths


def believe(mu, sigma, known, *, reference, optimised=None, limits=None, bundles=None, left=math.inf):
    """A belief of which only the losses matter."""
    mu, sigma, known = np.array(mu, dtype=float), np.array(sigma, dtype=float), np.array(known, dtype=bool)
    m, n = mu.shape
    bundles = (tuple(range(n)),) if bundles is None else bundles
    ones = np.ones((m, len(bundles)))
    return Belief(
        designs=None,
        mu=mu,
        sigma=sigma,
        lower=mu - sigma,
        upper=mu + sigma,
        keys=np.arange(m * n, dtype=np.uint64).reshape(m, n),
        known=known,
        optimised=tuple(range(n)) if optimised is None else optimised,
        limits=np.full(n, np.inf) if limits is None else np.array(limits, dtype=float),
        reference=np.array(reference, dtype=float),
        tolerances=np.zeros(n),
        price_list=PriceList(bundles, ones, ones, ones > 0, designs_left=left),
    )


def scores_of(belief):
    return optimistic_hypervolume_gain(belief, np.random.default_rng(0))


def scores_beside(front, potential, reference, left=math.inf):
    """The scores of designs whose optimistic estimates are given, beside known designs."""
    front, potential = np.array(front, dtype=float), np.array(potential, dtype=float)
    mu = np.vstack([front, potential + optimism(potential.shape[1])])
    sigma = np.vstack([0.0 * front, np.ones(potential.shape)])
    scores = scores_of(believe(mu, sigma, sigma == 0.0, reference=reference, left=left))
    assert (scores[: len(front)] == 0.0).all()
    return scores[len(front) :, 0]


# The front of the examples: range 4 in objective 0 and 2 in objective 1.
FRONT, REFERENCE = [[1, 3], [3, 2], [5, 1]], [8, 5]


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_all_losses_are_further_out_than_the_optimism_with_probability_one_half(k):
    assert (2.0 * ndtr(-optimism(k))) ** k == pytest.approx(0.5, rel=1e-12)


def test_the_slack_shrinks_with_the_front_and_with_what_is_left():
    front = np.array(FRONT, dtype=float)
    assert slack(front, 0.0).tolist() == [4 / 3, 2 / 3]
    assert slack(front, 12.0).tolist() == [4 / (3 + 0.75 * 12), 2 / (3 + 0.75 * 12)]
    assert slack(front, math.inf).tolist() == [0.0, 0.0]
    assert slack(front[:1], 5.0).tolist() == [0.0, 0.0]
    assert slack(front[:0], 5.0).tolist() == [0.0, 0.0]


def test_gains_are_what_the_optimistic_estimates_add():
    # (2, 2.5) adds 2..3 x 2.5..3; (0, 4) adds 0..1 x 4..5; (4, 0) adds 4..5 x 0..2 and 5..8 x 0..1.
    gains = scores_beside(FRONT, [[2, 2.5], [0, 4], [4, 0]], REFERENCE)
    assert gains == pytest.approx([1 * 0.5, 1 * 1, 1 * 2 + 3 * 1], rel=1e-12)


def test_without_a_front_the_gain_is_the_volume_below_the_reference():
    assert scores_beside(np.zeros((0, 2)), [[2, 3], [7, 4.5]], REFERENCE) == pytest.approx([6 * 2, 1 * 0.5], rel=1e-12)


def test_dominated_designs_share_half_of_the_smallest_gain_by_their_worst_penalty():
    # In units of 4 and 2: (5, 3) is beyond (1, 3) by (1, 0), beyond (3, 2) by (1/2, 1/2), beyond (5, 1) by (0, 1).
    # (7, 4) is beyond these by (3/2, 1/2), (1, 1) and (1/2, 3/2).
    scores = scores_beside(FRONT, [[2, 2.5], [5, 3], [7, 4]], REFERENCE)
    worst = [max(2, 1.5 * 1.5, 2) - 1, max(2.5 * 1.5, 2 * 2, 1.5 * 2.5) - 1]
    assert worst == [1.25, 3.0]
    assert scores == pytest.approx([0.5, 0.25 / (1 + 1.25), 0.25 / (1 + 3.0)], rel=1e-12)


def test_dominated_designs_share_the_unit_where_nobody_gains():
    assert scores_beside(FRONT, [[5, 3], [7, 4]], REFERENCE) == pytest.approx([1 / 2.25, 1 / 4], rel=1e-12)


def test_a_design_that_hardly_differs_from_the_front_is_penalised_while_evaluations_are_few():
    # With 12 left the slack is (1/3, 1/6): (3.2, 1.9) is within it of (3, 2) and worse by 0.2 of 4 in objective 0.
    close, clear = [3.2, 1.9], [4, 1.5]
    few = scores_beside(FRONT, [close, clear], REFERENCE, left=12.0)
    assert few == pytest.approx([0.25 / (1 + 0.2 / 4), 1 * 0.5], rel=1e-12)
    # Without slack it gains 3.2..5 x 1.9..2.
    assert scores_beside(FRONT, [close, clear], REFERENCE) == pytest.approx([1.8 * 0.1, 0.5], rel=1e-12)


def test_a_design_nowhere_worse_than_the_front_gains_however_little_it_differs():
    # (2.9, 1.9) adds 2.9..3 x 1.9..3 and 3..5 x 1.9..2, though it is within the slack of (3, 2).
    assert scores_beside(FRONT, [[2.9, 1.9]], REFERENCE, left=12.0) == pytest.approx([0.1 * 1.1 + 2 * 0.1], rel=1e-12)


def test_one_objective_gains_what_is_below_the_best_loss():
    assert scores_beside([[3]], [[1], [2.5], [5], [9]], [8]) == pytest.approx(
        [2, 0.5, 0.25 / (1 + 2 / 5), 0.25 / (1 + 6 / 5)], rel=1e-12
    )


def test_an_objective_without_a_range_is_measured_by_the_distance_to_the_reference():
    assert widths(np.array([[1.0, 3.0], [5.0, 3.0]]), np.array([8.0, 5.0])).tolist() == [4.0, 2.0]
    assert widths(np.array([[1.0, 5.0]]), np.array([8.0, 5.0])).tolist() == [7.0, 1.0]


def test_a_design_that_is_known_scores_nothing_and_one_that_is_not_something():
    scores = scores_of(
        believe([[1, 1], [9, 9], [9, 9]], [[0, 0], [0, 0], [1, 0]], [[1, 1], [1, 1], [0, 1]], reference=[4, 4])
    )
    assert scores[:2].tolist() == [[0.0], [0.0]]
    assert scores[2, 0] > 0.0


def test_every_bundle_with_something_to_measure_has_the_score_of_the_design():
    known = np.array([[True, False, False], [False, True, True], [True, True, True]])
    split = believe(np.ones((3, 3)), ~known * 1.0, known, reference=[4, 4, 4], bundles=((0,), (1, 2)))
    whole = believe(np.ones((3, 3)), ~known * 1.0, known, reference=[4, 4, 4])
    assert ((scores_of(split) > 0) == [[False, True], [True, False], [False, False]]).all()
    assert scores_of(split).max(axis=1).tolist() == scores_of(whole)[:, 0].tolist()


def test_a_gain_needs_constraints_that_may_hold_and_is_multiplied_by_the_probability_that_they_do():
    # The constraint is the middle column; at 6 + alpha it may just hold.
    alpha = optimism(2)
    mu = [[1, 5, 1], [1, 6 + 0.9 * alpha, 1], [1, 6 + 1.1 * alpha, 1]]
    sigma, known = [[0.0, 1.0, 0.0]] * 3, [[True, False, True]] * 3
    scores = scores_of(believe(mu, sigma, known, optimised=(0, 2), limits=[np.inf, 6, np.inf], reference=[3, 4]))[:, 0]
    gains = [6 * ndtr(1.0), 6 * ndtr(-0.9 * alpha)]
    assert scores == pytest.approx([*gains, 0.5 * min(gains) * ndtr(-1.1 * alpha)], rel=1e-12)


def test_an_objective_with_a_limit_has_to_be_within_it_at_best():
    mu, sigma, known = [[1, 1], [1, 3]], [[0, 0.1], [0, 0.1]], [[True, False]] * 2
    scores = scores_of(believe(mu, sigma, known, limits=[np.inf, 2], reference=[3, 4]))[:, 0]
    first = 2 * (4 - 1 + 0.1 * optimism(2)) * ndtr(10.0)
    assert scores == pytest.approx([first, 0.5 * first * ndtr(-10.0)], rel=1e-9)


def test_designs_beyond_a_limit_are_not_on_the_front():
    mu, sigma, known = [[0.5, 7], [1, 5]], [[0, 0], [1, 0]], [[True, True], [False, True]]
    scores = scores_of(believe(mu, sigma, known, optimised=(0,), limits=[np.inf, 6], reference=[2]))[:, 0]
    assert scores == pytest.approx([0.0, 2 - 1 + optimism(1)], rel=1e-12)


def test_units_multiply_gains_and_keep_the_order():
    rng = np.random.default_rng(0)
    mu, sigma = rng.random((300, 3)), rng.random((300, 3)) * 0.2
    known = np.repeat(np.arange(300) < 20, 3).reshape(300, 3)
    sigma[known] = 0.0
    scale = np.array([1e12, 1.0, 1e-9])
    plain = scores_of(believe(mu, sigma, known, reference=np.full(3, 1.1), left=30.0))
    scaled = scores_of(believe(mu * scale, sigma * scale, known, reference=1.1 * scale, left=30.0))
    potential = mu - optimism(3) * sigma
    assert (penalties(potential[20:], mu[:20], np.zeros(3), np.ones(3)) > 0).any()
    assert scaled == pytest.approx(plain * scale.prod(), rel=1e-7)


def test_scores_are_not_negative_and_those_without_a_gain_follow_their_penalties():
    rng = np.random.default_rng(1)
    front = np.sort(rng.random((15, 2)), axis=0)
    front[:, 1] = front[::-1, 1]
    potential = rng.random((400, 2)) * 1.5
    scores = scores_beside(front, potential, [1.1, 1.1], left=20.0)
    penalty = penalties(potential, front, slack(front, 20.0), widths(front, np.array([1.1, 1.1])))
    assert (scores > 0.0).all()
    dominated = penalty > 0.0
    assert 50 < dominated.sum() < 400
    assert scores[dominated].max() < scores[~dominated & (potential < 1.1).all(axis=1)].min()
    order = np.argsort(penalty[dominated])
    assert (np.diff(scores[dominated][order]) <= 0.0).all()


def test_many_candidates_are_penalised_as_each_of_them_alone(monkeypatch):
    rng = np.random.default_rng(2)
    front, potential = rng.random((7, 3)), rng.random((500, 3)) + 0.3
    together = penalties(potential, front, np.full(3, 0.1), np.ones(3))
    monkeypatch.setattr(smsego, "_TABLE_SIZE", 1)
    assert penalties(potential, front, np.full(3, 0.1), np.ones(3)).tolist() == together.tolist()
    assert together.max() > 0.0


def test_no_optimistic_estimate_is_below_what_is_possible():
    belief = believe([[1, 3], [3, 1], [0.5, 0.5]], [[0, 0], [0, 0], [9, 9]], [[1, 1], [1, 1], [0, 0]], reference=[4, 4])
    bounded = scores_of(replace(belief, least=np.zeros(2)))[2, 0]
    assert bounded == pytest.approx(16.0 - 5.0)
    assert scores_of(belief)[2, 0] > bounded
