"""The default rule: what completing a design is expected to add to the measured front, per cost of completing it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss

from flexibo.belief.belief import Belief
from flexibo.belief.price_list import PriceList
from flexibo.methods.completion_gain import (
    LATER,
    completion_gain,
    improvement_of_the_front,
    missing_parts,
    surprises,
)
from flexibo.methods.flexibo import region_gain
from flexibo.pareto import hypervolume, pareto_region

ROOT = math.sqrt(3.0)
KNOWN = [[True, True], [True, True]]


def believe(mu, sigma, known, *, reference=(4.0, 4.0), limits=None, optimised=None, bundles=None, costs=1.0, left=None):
    """A belief about designs 0, 1, 2, ..., each of them different in every quantity; all that is not known is open."""
    mu, sigma, known = np.array(mu, dtype=float), np.array(sigma, dtype=float), np.array(known, dtype=bool)
    m, n = mu.shape
    bundles = tuple((j,) for j in range(n)) if bundles is None else bundles
    limits = np.full(n, np.inf) if limits is None else np.array(limits, dtype=float)
    optimised = tuple(range(n)) if optimised is None else optimised
    reference = np.array(reference, dtype=float)
    prices = np.broadcast_to(costs, (m, len(bundles))).astype(float)
    is_open = np.stack([~known[:, bundle].all(axis=1) for bundle in bundles], axis=1)
    lower, upper = mu - 2 * sigma, mu + 2 * sigma
    return Belief(
        designs=None,
        mu=mu,
        sigma=sigma,
        lower=lower,
        upper=upper,
        keys=np.arange(m * n, dtype=np.uint64).reshape(m, n),
        known=known,
        optimised=optimised,
        limits=limits,
        reference=reference,
        tolerances=np.zeros(n),
        price_list=PriceList(
            bundles, prices, np.maximum(prices, 0.1), is_open, left=math.inf if left is None else left
        ),
        region=pareto_region(lower, upper, reference, optimised=optimised, limits=limits),
    )


def scores(belief):
    return completion_gain(belief, np.random.default_rng(0))


def rates(belief):
    """The scores as the loop compares them: divided by what each part costs."""
    return scores(belief) / belief.thetas


def added(belief, *losses):
    """What losses add to the front of (1, 3) and (3, 1)."""
    return hypervolume(np.array([[1, 3], [3, 1], *losses]), belief.reference) - 5.0


@pytest.mark.parametrize(("k", "n"), [(1, 2), (2, 2), (3, 3), (2, 4), (5, 5)])
def test_surprises_have_the_moments_of_normal_variables(k, n):
    nodes, weights = surprises(k, n)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights >= 0.0).all()
    assert weights @ nodes == pytest.approx(np.zeros(k))
    assert (nodes * weights[:, None]).T @ nodes == pytest.approx(np.eye(k))


def test_one_surprise_has_three_nodes_of_gauss_and_hermite_and_two_have_their_grid():
    theirs, shares = hermegauss(3)
    nodes, weights = surprises(1, 2)
    order = np.argsort(nodes[:, 0])
    assert nodes[order, 0] == pytest.approx(theirs)
    assert weights[order] == pytest.approx(shares / shares.sum())
    grid, products = surprises(2, 2)
    assert len(grid) == 9
    both = (np.abs(grid) > 1.0).all(axis=1)
    assert products[both] == pytest.approx(np.full(4, 1 / 36))


def test_a_design_is_worth_what_it_adds_to_the_front_in_each_outcome():
    belief = believe([[1, 3], [3, 1], [2, 2]], [[0, 0], [0, 0], [0, 0.5]], [*KNOWN, [True, False]])
    best, middle, worst = (added(belief, [2, y]) for y in (2 - 0.5 * ROOT, 2.0, 2 + 0.5 * ROOT))
    expected = best / 6 + 2 * middle / 3 + worst / 6
    assert improvement_of_the_front(belief, np.array([2])) == pytest.approx([expected])


def test_two_missing_losses_are_surprising_together():
    belief = believe([[1, 3], [3, 1], [2, 2]], [[0, 0], [0, 0], [0.4, 0.5]], [*KNOWN, [False, False]])
    nodes, weights = surprises(2, 2)
    expected = sum(w * added(belief, [2 + 0.4 * a, 2 + 0.5 * b]) for (a, b), w in zip(nodes, weights, strict=True))
    assert improvement_of_the_front(belief, np.array([2])) == pytest.approx([expected])


def test_only_complete_designs_are_on_the_front_that_is_improved():
    # Design 0 is better than everything, but its second loss is predicted: design 2 adds to (3, 1) alone.
    belief = believe([[0, 0], [3, 1], [1, 3]], [[0, 0], [0, 0], [0, 0]], [[True, False], [True, True], [True, False]])
    assert improvement_of_the_front(belief, np.array([2])) == pytest.approx([2.0])


def test_a_skewed_belief_moves_by_the_deviation_of_its_own_side():
    belief = believe([[1, 3], [3, 1], [2, 1.5]], [[0, 0], [0, 0], [0, 1.0]], [*KNOWN, [True, False]])
    lower, upper = belief.lower.copy(), belief.upper.copy()
    lower[2, 1], upper[2, 1] = 1.5 - 0.4, 1.5 + 3.6  # one deviation is 0.2 downwards and 1.8 upwards
    belief = replace(belief, lower=lower, upper=upper)
    outcomes = (1.5 - 0.2 * ROOT, 1.5, 1.5 + 1.8 * ROOT)
    expected = sum(w * added(belief, [2, y]) for w, y in zip((1 / 6, 2 / 3, 1 / 6), outcomes, strict=True))
    assert improvement_of_the_front(belief, np.array([2])) == pytest.approx([expected])


def test_the_gain_is_divided_by_what_all_missing_parts_cost():
    # Designs 2 and 3 add the same; a training of the second costs twice as much, a reading 1.
    mu = [[1, 3], [3, 1], [2, 2], [2, 2]]
    belief = believe(mu, np.zeros((4, 2)), [*KNOWN, [False, False], [False, False]], costs=[[9, 1]] * 3 + [[19, 1]])
    gain = added(belief, [2, 2])
    assert rates(belief)[2:].max(axis=1) == pytest.approx([gain / 10, gain / 20])


def first_part(sigma, costs):
    """The part that is measured first of a design that lacks two, predicted with these deviations."""
    belief = believe([[1, 3], [3, 1], [2, 2]], [[0, 0], [0, 0], sigma], [*KNOWN, [False, False]], costs=costs)
    found = rates(belief)[2]
    assert found.min() == pytest.approx(LATER * found.max())
    return int(found.argmax())


def test_the_part_that_decides_most_per_price_comes_first():
    assert first_part([0.3, 0.3], costs=[9, 1]) == 1
    assert first_part([0.3, 0.05], costs=[9, 1]) == 1
    assert first_part([0.3, 0.01], costs=[9, 1]) == 0
    assert first_part([0.3, 0.1], costs=[1, 1]) == 0
    assert first_part([0.1, 0.3], costs=[1, 1]) == 1


def test_a_reading_that_decides_nothing_comes_last_even_if_it_is_free():
    assert first_part([0.0, 0.0], costs=[9, 1]) == 0
    assert first_part([0.3, 0.0], costs=[9, 0]) == 0
    assert first_part([0.3, 0.1], costs=[9, 0]) == 1


def test_a_cheap_part_that_may_fail_comes_first():
    belief = believe([[1, 3], [3, 1], [2, 2]], [[0, 0], [0, 0], [0.3, 0]], [*KNOWN, [False, False]], costs=[9, 1])
    chances = np.ones((3, 2))
    chances[2, 1] = 0.5
    risky = replace(belief, price_list=replace(belief.price_list, chances=chances))
    assert rates(belief)[2].argmax() == 0
    assert rates(risky)[2].argmax() == 1


@pytest.mark.parametrize(
    ("price", "ahead", "is_left"), [(1.0, 0.02, False), (1.0, 0.1, True), (10.0, 0.02, True), (0.0, 0.02, True)]
)
def test_a_design_that_was_begun_is_not_left_for_a_nearly_free_reading(price, ahead, is_left):
    mu = [[1, 3], [3, 1], [2.0, 2.0], [2.0 - ahead, 2.0]]
    sigma, known = [[0, 0], [0, 0], [0.2, 0.0], [0.2, 0.1]], [*KNOWN, [False, True], [False, False]]
    belief = believe(mu, sigma, known, costs=[1000.0, price])
    gains = improvement_of_the_front(belief, np.array([2, 3]))
    assert 1.01 < gains[1] / gains[0] < (1.05 if ahead == 0.02 else 1.3)
    best = np.unravel_index(np.argmax(rates(belief)), belief.open.shape)
    assert best == ((3, 1) if is_left else (2, 0))


def test_a_part_that_was_bought_is_free():
    belief = believe([[1, 3], [3, 1], [2, 2]], np.zeros((3, 2)), [*KNOWN, [False, True]], costs=[9, 1])
    assert rates(belief)[2] == pytest.approx([added(belief, [2, 2]) / 9, 0.0])


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_design_is_worth_the_same_whether_a_value_is_known_or_predicted_exactly(n):
    # Otherwise the reading that is predicted exactly is bought of one design after the other, or never.
    mu = [[3.0] * n, [2.0] * n, [2.0] * n]
    sigma = [[0.0] * n, [0.5] * (n - 1) + [0.0], [0.5] * (n - 1) + [0.0]]
    known = [[True] * n, [False] * n, [False] * (n - 1) + [True]]
    fresh, begun = improvement_of_the_front(believe(mu, sigma, known, reference=[4.0] * n), np.array([1, 2]))
    assert fresh == pytest.approx(begun)
    assert begun > 0.0


def test_what_is_measured_together_is_one_part():
    belief = believe([[1, 3], [3, 1], [2, 2]], np.zeros((3, 2)), [*KNOWN, [False, False]], bundles=((0, 1),), costs=5)
    assert rates(belief) == pytest.approx(np.array([[0.0], [0.0], [added(belief, [2, 2]) / 5]]))


def test_a_design_that_cannot_be_completed_adds_nothing():
    mu, known = [[1, 3], [3, 1], [2, 2], [2.2, 2.2]], [*KNOWN, [False, False], [False, False]]
    belief = believe(mu, np.zeros((4, 2)), known, costs=[[9, 1]] * 3 + [[3, 1]])
    poor = replace(belief, price_list=replace(belief.price_list, left=5.0))
    assert np.flatnonzero(scores(poor).any(axis=1)).tolist() == [3]
    failed = belief.open.copy()
    failed[2, 0] = False  # it can never be measured
    closed = replace(belief, price_list=replace(belief.price_list, open=failed))
    assert missing_parts(closed)[2].tolist() == [False, True]
    assert np.flatnonzero(scores(closed).any(axis=1)).tolist() == [3]


def test_a_constraint_is_one_of_the_parts_and_decides_what_the_design_adds():
    # The second design is predicted to break the limit of 0 by half a deviation; legal, it adds 2 * 2 to 3 * 1.
    belief = believe(
        [[1, 3, -1], [2, 1, 0.5]],
        [[0, 0, 0], [0, 0, 1.0]],
        [[True, True, True], [True, True, False]],
        optimised=(0, 1),
        limits=[math.inf, math.inf, 0.0],
    )
    assert improvement_of_the_front(belief, np.array([1])) == pytest.approx([4.0 / 6.0])
    assert np.argwhere(scores(belief) > 0.0).tolist() == [[1, 2]]


def test_models_that_see_nothing_to_gain_are_doubted():
    # The third design is believed to be far behind, and would be better by three deviations only.
    belief = believe([[1, 3], [3, 1], [2, 3.9]], [[0, 0], [0, 0], [0, 0.3]], [*KNOWN, [True, False]])
    assert region_gain(belief, np.random.default_rng(0)).max() == 0.0
    assert improvement_of_the_front(belief, np.array([2])) == pytest.approx([0.0])
    assert np.argwhere(scores(belief) > 0.0).tolist() == [[2, 1]]


def test_doubted_models_do_not_buy_a_cheap_reading_that_they_predict_nearly_exactly():
    mu, sigma = [[1, 3], [3, 1], [2, 3.9], [2.5, 3.9]], [[0, 0], [0, 0], [1e-6, 0.3], [1e-6, 0.3]]
    belief = believe(mu, sigma, [*KNOWN, [False, False], [False, False]], costs=[0.01, 9])
    i, b = np.unravel_index(rates(belief).argmax(), (4, 2))
    assert (i, b) == (2, 1)


@pytest.mark.parametrize(("deviations", "width"), [(1.0, 1.0), (3.0, 2.0), (6.0, 4.0), (13.0, 8.0)])
def test_deviations_are_doubled_until_something_is_worth_its_price(deviations: float, width: float):
    # The second loss of the last design is better than 3, which the front has, by so many deviations only.
    belief = believe([[1, 3], [3, 1], [2, 3.0 + 0.1 * deviations]], [[0, 0], [0, 0], [0, 0.1]], [*KNOWN, [True, False]])
    wider = replace(belief, sigma=width * belief.sigma)
    assert scores(belief) == pytest.approx(scores(wider))
    assert scores(belief).max() > 0.0
    narrower = replace(belief, sigma=0.5 * width * belief.sigma)
    assert improvement_of_the_front(narrower, np.array([2]))[0] <= 1e-4 * 3.0 or width == 1.0


def test_deviations_are_doubled_also_while_nothing_that_was_measured_beats_the_reference_point():
    # There is no front yet. The last design beats the reference point of 4 by two and a half deviations only; its cheap
    # quantity is hardly known better by reading it.
    mu, sigma = [[1, 9], [2, 8], [2, 5]], [[0, 0], [0, 0], [0.01, 0.4]]
    belief = believe(mu, sigma, [*KNOWN, [False, False]], costs=[1, 10])
    assert improvement_of_the_front(belief, np.array([2])) == pytest.approx([0.0])
    found = rates(belief)
    assert np.argwhere(found == found.max()).tolist() == [[2, 1]]
    assert found.max() > 0.0


def test_a_design_that_seems_feasible_is_completed_before_all_others():
    # Nothing is known to keep the limit of 0. Design 1 seems to, and one quantity of it is missing; design 2 lacks two.
    belief = believe(
        [[1, 3, 5], [2, 2, -3], [3, 1, -3]],
        [[0, 0, 0], [0, 0, 1], [0, 1, 1]],
        [[True, True, True], [True, True, False], [True, False, False]],
        optimised=(0, 1),
        limits=[math.inf, math.inf, 0.0],
    )
    found = scores(belief)
    assert np.argwhere(found > 0.0).tolist() == [[1, 2]]
    assert found[1, 2] == pytest.approx(belief.feasible()[1] * 4.0)  # its volume is (4 - 2) * (4 - 2)
    kept = replace(belief, mu=np.array([[1, 3, -5.0], [2, 2, -3], [3, 1, -3]]))
    assert (scores(kept)[2] > 0.0).any()


def test_an_expensive_part_counts_as_often_as_the_cheaper_ones_can_be_measured():
    mu, known = [[1, 3], [3, 1], [2, 2]], [*KNOWN, [False, False]]
    belief = believe(mu, np.zeros((3, 2)), known, costs=[9, 1])
    chances = np.array([[1.0, 1.0], [1.0, 1.0], [0.25, 0.5]])
    risky = replace(belief, price_list=replace(belief.price_list, chances=chances, success=chances.prod(axis=1)))
    assert rates(risky)[2, 1] == pytest.approx(added(belief, [2, 2]) / (1 + 0.5 * 9))


def test_a_cheap_part_that_comes_last_counts_as_often_as_the_expensive_one_can_be_measured():
    # The cheap part is predicted exactly and never fails: it decides nothing, so the expensive one is measured first.
    belief = believe([[1, 3], [3, 1], [2, 2]], [[0, 0], [0, 0], [0.3, 0]], [*KNOWN, [False, False]], costs=[9, 1])
    chances = np.array([[1.0, 1.0], [1.0, 1.0], [0.5, 1.0]])
    risky = replace(belief, price_list=replace(belief.price_list, chances=chances, success=chances.prod(axis=1)))
    expected = float(improvement_of_the_front(belief, np.array([2]))[0])
    assert rates(risky)[2] == pytest.approx([expected / (9 + 0.5 * 1), LATER * expected / (9 + 0.5 * 1)])


def test_models_are_doubted_where_only_designs_that_fail_would_add_something():
    belief = believe([[1, 3], [3, 1], [2, 2.9], [2, 3.9]], [[0, 0]] * 3 + [[0, 0.3]], [*KNOWN, *[[True, False]] * 2])
    assert np.argwhere(scores(belief) > 0.0).tolist() == [[2, 1]]
    impossible = replace(belief, price_list=replace(belief.price_list, success=np.array([1.0, 1.0, 0.0, 1.0])))
    assert scores(impossible)[3, 1] > 0.0


def test_the_first_feasible_design_is_one_that_can_probably_be_measured():
    belief = believe(
        [[1, 3, 5], [2, 2, -3], [3, 1, -3]],
        [[0, 0, 0], [0, 0, 1], [0, 1, 1]],
        [[True, True, True], [True, True, False], [True, False, False]],
        optimised=(0, 1),
        limits=[math.inf, math.inf, 0.0],
    )
    risky = replace(belief, price_list=replace(belief.price_list, success=np.array([1.0, 0.2, 0.9])))
    assert np.flatnonzero(scores(risky).any(axis=1)).tolist() == [2]


def test_no_outcome_is_beyond_what_is_possible():
    # At sqrt(3) standard deviations the loss would be -0.73, and the gain that of a design beyond the best possible.
    belief = believe([[1, 3], [3, 1], [1.0, 2.0]], [[0, 0], [0, 0], [1.0, 0]], [*KNOWN, [False, True]])
    free = improvement_of_the_front(belief, np.array([2]))[0]
    bounded = replace(belief, least=np.array([0.5, 0.0]), most=np.array([1.5, np.inf]))
    outcomes = [[1.0, 2.0], [1.5, 2.0], [0.5, 2.0]]
    expected = np.array([2 / 3, 1 / 6, 1 / 6]) @ [added(belief, outcome) for outcome in outcomes]
    assert improvement_of_the_front(bounded, np.array([2]))[0] == pytest.approx(expected)
    assert free > expected


def test_doubted_boxes_are_not_wider_than_what_is_possible():
    belief = believe([[1, 3], [3, 1], [3.5, 3.5]], [[0, 0], [0, 0], [1e-3, 1e-3]], [*KNOWN, [False, False]])
    belief = replace(belief, lower=np.array([[1, 3], [3, 1], [1.0, 1.0]]), upper=np.array([[1, 3], [3, 1], [3.9, 3.9]]))
    belief = replace(belief, region=pareto_region(belief.lower, belief.upper, belief.reference))
    wide = belief.mu + 2.0 * (belief.upper - belief.mu)  # the lower corners cannot move
    region = pareto_region(belief.lower, wide, belief.reference)
    gains = region_gain(replace(belief, upper=wide, region=region), np.random.default_rng(0))
    expected = belief.region.volume / region.volume * gains
    assert scores(replace(belief, least=np.array([1.0, 1.0]))) == pytest.approx(expected)
    assert scores(belief) != pytest.approx(expected)
