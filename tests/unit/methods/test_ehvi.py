import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from flexibo.belief.belief import Belief
from flexibo.belief.price_list import PriceList
from flexibo.methods import ehvi
from flexibo.methods.ehvi import expected_hypervolume_improvement, expected_improvements
from flexibo.pareto import hypervolume


def believe(mu, sigma, known, *, reference, optimised=None, limits=None, bundles=None):
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
        price_list=PriceList(bundles, ones, ones, ones > 0),
    )


def scores_of(belief):
    return expected_hypervolume_improvement(belief, np.random.default_rng(0))


def below(u, mu, sigma):
    """E[(u - y)+] as textbooks write it."""
    z = (u - mu) / sigma
    return (u - mu) * ndtr(z) + sigma * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def spherical_front(f, k, rng):
    front = np.abs(rng.normal(size=(f, k)))
    return front / np.linalg.norm(front, axis=1, keepdims=True)


def random_case(m, f, k, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((m, k)), rng.uniform(0.05, 0.5, (m, k)), spherical_front(f, k, rng), np.full(k, 1.1)


def test_one_objective_has_the_expected_improvement_below_the_best_loss():
    mu, sigma = np.array([[1.0], [4.0]]), np.array([[0.5], [2.0]])
    improvements = expected_improvements(mu, sigma, np.array([[2.0], [3.0]]), np.array([9.0]))
    assert improvements == pytest.approx([below(2.0, 1.0, 0.5), below(2.0, 4.0, 2.0)], rel=1e-13)


def test_one_objective_whose_best_loss_is_beyond_the_reference_improves_on_the_reference():
    improvements = expected_improvements(np.array([[1.0]]), np.array([[0.5]]), np.array([[3.0]]), np.array([2.0]))
    assert improvements == pytest.approx([below(2.0, 1.0, 0.5)], rel=1e-13)


def test_without_a_front_the_improvements_below_the_reference_are_multiplied():
    improvements = expected_improvements(
        np.array([[1.0, 5.0]]), np.array([[0.5, 3.0]]), np.zeros((0, 2)), np.full(2, 2)
    )
    assert improvements == pytest.approx([below(2, 1.0, 0.5) * below(2, 5.0, 3.0)], rel=1e-13)


def test_a_front_of_one_design_leaves_two_strips():
    # Left of x = 1 everything below the reference counts, from there to 3 what lies below y = 2.
    left = below(1, 1.5, 0.7) * below(4, 2.5, 0.9)
    right = (below(3, 1.5, 0.7) - below(1, 1.5, 0.7)) * below(2, 2.5, 0.9)
    improvements = expected_improvements(
        np.array([[1.5, 2.5]]), np.array([[0.7, 0.9]]), np.array([[1.0, 2.0]]), np.array([3.0, 4.0])
    )
    assert improvements == pytest.approx([left + right], rel=1e-13)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
def test_known_losses_improve_by_what_they_add(k):
    mu, sigma, front, reference = random_case(50, 8, k)
    improvements = expected_improvements(mu, 0.0 * sigma, front, reference)
    before = hypervolume(front, reference)
    added = [hypervolume(np.vstack([front, row]), reference) - before for row in mu]
    assert improvements == pytest.approx(added, rel=1e-9, abs=1e-13)
    assert (improvements[np.array(added) == 0.0] == 0.0).all()


def test_a_loss_that_is_known_leaves_the_expectation_over_the_others():
    # At x = 1.5 the front allows y below 2, from x = 2 on below 1.
    front, reference = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([4.0, 3.0])
    improvements = expected_improvements(np.array([[1.5, 1.7]]), np.array([[0.0, 0.6]]), front, reference)
    assert improvements == pytest.approx([0.5 * below(2, 1.7, 0.6) + 2.0 * below(1, 1.7, 0.6)], rel=1e-13)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("tiny", [1e-6, 1e-12, 1e-200, 5e-324])
def test_tiny_deviations_are_almost_none(k, tiny):
    mu, sigma, front, reference = random_case(200, 10, k)
    mu[0] = front[0]  # on the front, where a deviation matters most
    sigma[:, 0] = 0.0
    exact = expected_improvements(mu, sigma, front, reference)
    sigma[:, 0] = tiny
    assert expected_improvements(mu, sigma, front, reference) == pytest.approx(exact, rel=1e-5, abs=2 * tiny)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("deviations", [5.0, 8.0, 11.0, 15.0])
def test_far_beyond_the_front_what_is_left_keeps_its_digits(k, deviations):
    # No row of the front, so that the integral of the probability of dominance factors; the integrand is all positive.
    side, _ = quad(ndtr, -deviations - 12.0, -deviations, epsabs=0.0, epsrel=1e-12)
    mu = np.full((1, k), deviations)
    improvements = expected_improvements(mu, np.ones((1, k)), np.zeros((0, k)), np.zeros(k))
    assert 0.0 < improvements[0] < 1e-6
    assert improvements == pytest.approx([side**k], rel=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_no_score_is_negative_or_not_a_number_however_far_away(k):
    rng = np.random.default_rng(k)
    front = spherical_front(10, k, rng)
    mu = rng.normal(size=(500, k)) * 10.0 ** rng.uniform(-3, 12, (500, 1))
    sigma = 10.0 ** rng.uniform(-300, 6, (500, k))
    improvements = expected_improvements(mu, sigma, front, np.full(k, 1.1))
    assert (improvements >= 0.0).all()
    assert np.isfinite(improvements).all()


def test_more_uncertainty_is_worth_more_and_so_is_a_better_mean():
    front, reference = spherical_front(20, 3, np.random.default_rng(0)), np.full(3, 1.1)
    mu, sigma = np.full((30, 3), 0.7), np.full((30, 3), 0.1)
    by_sigma = expected_improvements(mu, np.linspace(0.0, 0.5, 30)[:, None] * np.ones(3), front, reference)
    by_mu = expected_improvements(np.linspace(1.5, 0.0, 30)[:, None] * np.ones(3), sigma, front, reference)
    assert (np.diff(by_sigma) > 0).all()
    assert (np.diff(by_mu) > 0).all()


def test_units_multiply_every_score():
    mu, sigma, front, reference = random_case(100, 15, 3)
    scale = np.array([1e12, 1.0, 1e-12])
    plain = expected_improvements(mu, sigma, front, reference)
    scaled = expected_improvements(mu * scale, sigma * scale, front * scale, reference * scale)
    assert scaled == pytest.approx(plain * scale.prod(), rel=1e-9)


def test_many_candidates_are_scored_as_each_of_them_alone(monkeypatch):
    mu, sigma, front, reference = random_case(1000, 10, 3)
    together = expected_improvements(mu, sigma, front, reference)
    monkeypatch.setattr(ehvi, "_TABLE_SIZE", 64)
    alone = expected_improvements(mu, sigma, front, reference)
    assert together == pytest.approx(alone, rel=1e-12)
    assert len(expected_improvements(mu[:0], sigma[:0], front, reference)) == 0


def test_the_scores_improve_on_the_front_of_the_known_designs():
    mu, sigma = [[1.0, 2.0], [2.0, 1.0], [1.5, 1.7], [3.0, 3.0]], [[0, 0], [0, 0], [0.3, 0.6], [1.0, 1.0]]
    known = [[True, True], [True, True], [False, False], [False, False]]
    scores = scores_of(believe(mu, sigma, known, reference=[4, 4]))
    front, reference = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([4.0, 4.0])
    expected = expected_improvements(np.array(mu[2:]), np.array(sigma[2:]), front, reference)
    assert scores.shape == (4, 1)
    assert scores[2:, 0] == pytest.approx(expected, rel=1e-13)


def test_a_design_that_is_known_scores_nothing():
    scores = scores_of(believe([[1, 1], [9, 9]], [[0, 0], [0, 0]], [[True, True], [True, True]], reference=[4, 4]))
    assert scores.tolist() == [[0.0], [0.0]]


def test_every_bundle_with_something_to_measure_has_the_score_of_the_design():
    known = [[True, False, False], [False, True, True], [True, True, True]]
    belief = believe(np.ones((3, 3)), ~np.array(known) * 1.0, known, reference=[4, 4, 4], bundles=((0,), (1, 2)))
    scores = scores_of(belief)
    assert ((scores > 0) == [[False, True], [True, False], [False, False]]).all()
    whole = scores_of(believe(np.ones((3, 3)), ~np.array(known) * 1.0, known, reference=[4, 4, 4]))
    assert scores.max(axis=1) == pytest.approx(whole[:, 0], rel=1e-13)


def test_a_constraint_multiplies_by_the_probability_that_it_holds():
    mu, sigma, known = [[1.0, 5.0, 1.0], [1.0, 7.0, 1.0]], [[0.5, 2.0, 0.3]] * 2, [[False] * 3] * 2
    scores = scores_of(believe(mu, sigma, known, optimised=(0, 2), limits=[np.inf, 6.0, np.inf], reference=[2, 3]))
    free = below(2, 1.0, 0.5) * below(3, 1.0, 0.3)
    assert scores[:, 0] == pytest.approx([free * ndtr(0.5), free * ndtr(-0.5)], rel=1e-13)


def test_a_constraint_that_is_known_decides():
    mu, sigma, known = [[1.0, 5.0], [1.0, 6.0], [1.0, 7.0]], [[0.5, 0.0]] * 3, [[False, True]] * 3
    scores = scores_of(believe(mu, sigma, known, optimised=(0,), limits=[np.inf, 6.0], reference=[2]))
    assert scores[:, 0] == pytest.approx([below(2, 1.0, 0.5), below(2, 1.0, 0.5), 0.0], rel=1e-13)


def test_designs_beyond_a_limit_are_not_on_the_front_to_improve_on():
    mu, sigma, known = [[0.1, 7.0], [1.0, 5.0]], [[0.0, 0.0], [0.5, 0.0]], [[True, True], [False, True]]
    scores = scores_of(believe(mu, sigma, known, optimised=(0,), limits=[np.inf, 6.0], reference=[2]))
    assert scores[:, 0] == pytest.approx([0.0, below(2, 1.0, 0.5)], rel=1e-13)


def test_an_objective_with_a_limit_improves_only_where_it_is_within():
    # No front, reference 5, limit 2: E[(5 - y) where y <= 2] = E[(2 - y)+] + 3 P(y <= 2).
    belief = believe([[1.0], [2.5]], [[0.5], [1.0]], [[False]] * 2, limits=[2.0], reference=[5.0])
    expected = [below(2, 1.0, 0.5) + 3 * ndtr(2.0), below(2, 2.5, 1.0) + 3 * ndtr(-0.5)]
    assert scores_of(belief)[:, 0] == pytest.approx(expected, rel=1e-13)
    # A limit beyond the reference changes nothing, one that is known to be broken leaves nothing.
    belief = believe([[1.0]], [[0.5]], [[False]], limits=[7.0], reference=[5.0])
    assert scores_of(belief)[0, 0] == pytest.approx(below(5, 1.0, 0.5), rel=1e-13)
    mu, sigma = [[1.0, 3.0], [1.0, 1.5]], [[0.5, 0.0]] * 2
    belief = believe(mu, sigma, [[False, True]] * 2, limits=[np.inf, 2.0], reference=[5.0, 5.0])
    assert scores_of(belief)[:, 0] == pytest.approx([0.0, 3.5 * below(5, 1.0, 0.5)], rel=1e-13)


def test_nothing_is_gained_below_the_least_possible_loss():
    mu, sigma, front, reference = np.array([[0.5]]), np.array([[1.0]]), np.array([[2.0]]), np.array([9.0])
    found = expected_improvements(mu, sigma, front, reference, least=np.array([0.0]))
    assert found == pytest.approx([below(2.0, 0.5, 1.0) - below(0.0, 0.5, 1.0)], rel=1e-12)
    assert expected_improvements(mu, sigma, front, reference, least=np.array([3.0])).tolist() == [0.0]
    belief = believe([[1, 3], [3, 1], [0, 0]], [[0, 0], [0, 0], [5, 5]], [[1, 1], [1, 1], [0, 0]], reference=[4, 4])
    assert scores_of(belief)[2, 0] > 11.0 > scores_of(replace(belief, least=np.zeros(2)))[2, 0] > 0.0
