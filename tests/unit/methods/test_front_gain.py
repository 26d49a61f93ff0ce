from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss

from flexibo.belief.belief import Belief, JointPrediction
from flexibo.belief.price_list import PriceList
from flexibo.methods import front_gain as module
from flexibo.methods.flexibo import region_gain
from flexibo.methods.front_gain import expected_gains, front_gain, surprises
from flexibo.pareto import hypervolume, pareto_region


class Tied:
    """A surrogate of which only the covariances are asked."""

    def __init__(self, covariance):
        self.matrix = np.array(covariance, dtype=float)

    def draws(self, X, count, rng):
        raise AssertionError("nothing is drawn")

    def covariance(self, X, others):
        return self.matrix[np.ix_(X[:, 0].astype(int), others[:, 0].astype(int))]


class Untied:
    """A surrogate that knows every design on its own."""


def believe(
    mu, sigma, known, *, models=None, reference=(4.0, 4.0), limits=None, optimised=None, bundles=None, left=math.inf
):
    """A belief about designs 0, 1, 2, ..., each of them different in every quantity; a model for each quantity."""
    mu, sigma, known = np.array(mu, dtype=float), np.array(sigma, dtype=float), np.array(known, dtype=bool)
    m, n = mu.shape
    models = [Untied()] * n if models is None else models
    bundles = tuple((j,) for j in range(n)) if bundles is None else bundles
    limits = np.full(n, np.inf) if limits is None else np.array(limits, dtype=float)
    optimised = tuple(range(n)) if optimised is None else optimised
    places = np.arange(m)
    ones = np.ones((m, len(bundles)))
    return Belief(
        designs=None,
        mu=mu,
        sigma=sigma,
        lower=mu - 2 * sigma,
        upper=mu + 2 * sigma,
        keys=np.arange(m * n, dtype=np.uint64).reshape(m, n),
        known=known,
        optimised=optimised,
        limits=limits,
        reference=np.array(reference, dtype=float),
        tolerances=np.zeros(n),
        price_list=PriceList(bundles, ones, ones, ones > 0, designs_left=left),
        joints=tuple(
            JointPrediction(model, places[:, None].astype(float), places, mu[:, j], sigma[:, j] == 0)
            for j, model in enumerate(models)
        ),
        region=pareto_region(
            mu - 2 * sigma, mu + 2 * sigma, np.array(reference, dtype=float), optimised=optimised, limits=limits
        ),
    )


ROOT = math.sqrt(3.0)


def test_surprises_have_the_moments_of_normal_variables():
    for k in (1, 2, 3, 5):
        nodes, weights = surprises(k)
        assert weights.sum() == pytest.approx(1.0)
        assert (weights >= 0.0).all()
        assert weights @ nodes == pytest.approx(np.zeros(k))
        assert (nodes * weights[:, None]).T @ nodes == pytest.approx(np.eye(k))


def test_one_surprise_has_three_nodes_of_gauss_and_hermite():
    nodes, weights = surprises(1)
    theirs, shares = hermegauss(3)
    order = np.argsort(nodes[:, 0])
    assert nodes[order, 0] == pytest.approx(theirs)
    assert weights[order] == pytest.approx(shares / shares.sum())


def test_a_new_design_is_worth_what_it_adds_to_the_front():
    # Known: (1, 3) and (3, 1), volume 5. The third is believed at (2, 2), one deviation of 0.5 in the second loss.
    belief = believe([[1, 3], [3, 1], [2, 2]], [[0, 0], [0, 0], [0, 0.5]], [[True, True], [True, True], [False, False]])
    outcomes = [2 - 0.5 * ROOT, 2.0, 2 + 0.5 * ROOT]
    after = [hypervolume(np.array([[1, 3], [3, 1], [2, y]]), belief.reference) for y in outcomes]
    assert expected_gains(belief, np.array([2]), (1,)) == pytest.approx([(after[0] + 4 * after[1] + after[2]) / 6 - 5])


def test_a_design_joins_the_front_whichever_of_its_losses_is_measured():
    # Nothing is unsure of the third, yet only a measurement makes it one that is reported.
    belief = believe([[1, 3], [3, 1], [2, 2]], np.zeros((3, 2)), [[True, True], [True, True], [False, False]])
    assert expected_gains(belief, np.array([2]), (0,)) == pytest.approx([1.0])
    assert expected_gains(belief, np.array([2]), (1,)) == pytest.approx([1.0])


def test_a_measurement_moves_the_predicted_members_that_the_model_ties_to_it():
    # Design 1 is reported with a predicted second loss, and moves as far as design 2 does if they are fully tied. That
    # is worth something because the worst outcome is cut short by what is known.
    mu, sigma = [[1, 3], [2, 2], [9, 9]], [[0, 0], [0, 1], [0, 1]]
    known = [[True, True], [True, False], [False, False]]
    free, tied = Tied(np.zeros((3, 3))), Tied([[0, 0, 0], [0, 1, 1], [0, 1, 1]])
    loose, firm = (believe(mu, sigma, known, models=[free, model]) for model in (free, tied))
    assert expected_gains(loose, np.array([2]), (1,)) == pytest.approx([0.0])
    after = [hypervolume(np.array([[1, 3], [2, y]]), firm.reference) for y in (2 - ROOT, 2, 2 + ROOT)]
    expected = (after[0] + 4 * after[1] + after[2]) / 6 - after[1]
    assert expected_gains(firm, np.array([2]), (1,)) == pytest.approx([expected])
    assert expected > 0.1


def test_confirming_a_predicted_member_is_worth_nothing_where_no_outcome_changes_the_front():
    # One design alone beats the reference: better or worse by as much is no gain on average.
    belief = believe([[1, 1]], [[0, 0.1]], [[True, False]])
    assert expected_gains(belief, np.array([0]), (1,)) == pytest.approx([0.0], abs=1e-12)


def test_confirming_a_predicted_member_is_worth_something_where_it_may_be_dominated():
    belief = believe([[1, 1], [2, 1.05]], [[0, 0.5], [0, 0]], [[True, False], [True, True]])
    after = [hypervolume(np.array([[1, y], [2, 1.05]]), belief.reference) for y in (1 - 0.5 * ROOT, 1, 1 + 0.5 * ROOT)]
    assert expected_gains(belief, np.array([0]), (1,)) == pytest.approx([(after[0] + 4 * after[1] + after[2]) / 6 - 9])
    assert expected_gains(belief, np.array([0]), (1,))[0] > 0.1


def test_to_know_a_constraint_is_worth_the_front_that_it_lets_in():
    # The second design is predicted to break the limit of 0 by half a deviation; legal it would add 2 * 1 to 3 * 1.
    belief = believe(
        [[1, 3, -1], [2, 1, 0.5]],
        [[0, 0, 0], [0, 0, 1.0]],
        [[True, True, True], [True, True, False]],
        optimised=(0, 1),
        limits=[math.inf, math.inf, 0.0],
    )
    assert expected_gains(belief, np.array([1]), (2,)) == pytest.approx([4.0 / 6.0])


def test_what_is_measured_together_is_gained_together():
    belief = believe(
        [[1, 3], [3, 1], [2, 2]],
        [[0, 0], [0, 0], [0.4, 0.5]],
        [[True, True], [True, True], [False, False]],
        bundles=((0, 1),),
    )
    nodes, weights = surprises(2)
    after = [hypervolume(np.array([[1, 3], [3, 1], [2 + 0.4 * a, 2 + 0.5 * b]]), belief.reference) for a, b in nodes]
    assert expected_gains(belief, np.array([2]), (0, 1)) == pytest.approx([weights @ after - 5.0])


def test_designs_that_share_a_loss_move_together_without_a_model_that_ties_them():
    belief = believe([[1, 1], [2, 1]], [[0, 0.5], [0, 0.5]], [[True, False], [False, False]])
    belief.keys[1, 1] = belief.keys[0, 1]
    assert expected_gains(belief, np.array([1]), (1,)) == pytest.approx([0.0], abs=1e-12)


def test_only_a_short_list_is_looked_at_and_the_rest_scores_its_share_of_the_region(monkeypatch):
    rng = np.random.default_rng(3)
    mu, sigma = rng.random((30, 2)), rng.uniform(0.05, 0.2, (30, 2))
    known = np.zeros((30, 2), dtype=bool)
    known[:5] = True
    sigma[:5] = 0.0
    belief = believe(mu, sigma, known, reference=(1.1, 1.1))
    region = region_gain(belief, rng)
    wide = front_gain(belief, rng) - module.CURIOSITY * region
    monkeypatch.setattr(module, "SHORT_LIST", 3)
    close = front_gain(belief, rng) - module.CURIOSITY * region
    for b in (0, 1):
        seen = np.flatnonzero(close[:, b] > 1e-15)
        assert len(seen) == 3
        # Nothing ties these designs together, so alone they are worth what they are worth.
        assert {*seen} == {*np.argsort(-wide[:, b])[:3]}
        assert close[seen, b] == pytest.approx(wide[seen, b])


def test_what_is_closed_is_not_looked_at():
    mu, sigma = [[1, 3], [3, 1], [2, 2]], [[0, 0], [0, 0], [0.3, 0.5]]
    belief = believe(mu, sigma, [[True, True], [True, True], [False, False]])
    belief.open[2, 0] = False
    region = region_gain(belief, np.random.default_rng(0))
    scores = front_gain(belief, np.random.default_rng(0))
    assert scores[2, 0] == module.CURIOSITY * region[2, 0]
    assert scores[2, 1] > module.CURIOSITY * region[2, 1]


def test_among_many_designs_the_few_that_lack_a_quantity_are_not_moved_by_others(monkeypatch):
    class Asked(Tied):
        """Counts how often covariances are asked."""

        count = 0

        def covariance(self, X, others):
            Asked.count += 1
            return super().covariance(X, others)

    m = 24
    mu = np.column_stack([np.linspace(0.0, 3.0, m), np.linspace(3.0, 0.0, m)])
    sigma, known = np.zeros((m, 2)), np.ones((m, 2), dtype=bool)
    sigma[:1, 0], known[:1, 0] = 0.5, False
    belief = believe(mu, sigma, known, models=[Asked(np.eye(m)), Untied()])
    expected_gains(belief, np.array([0]), (0,))
    assert Asked.count == 1
    monkeypatch.setattr(module, "MANY", 20)
    expected_gains(belief, np.array([0]), (0,))
    assert Asked.count == 1
    sigma[:2, 0], known[:2, 0] = 0.5, False
    expected_gains(believe(mu, sigma, known, models=[Asked(np.eye(m)), Untied()]), np.array([0]), (0,))
    assert Asked.count == 2


def test_what_is_not_measured_counts_as_worse_when_little_is_left():
    # With nothing left, the predicted loss of 2 +- 0.5 counts as 2.5 until it is measured.
    belief = believe([[1, 3], [3, 2]], [[0, 0], [0, 0.5]], [[True, True], [True, False]], left=0.0)
    before = hypervolume(np.array([[1, 3], [3, 2.5]]), belief.reference)
    after = [hypervolume(np.array([[1, 3], [3, y]]), belief.reference) for y in (2 - 0.5 * ROOT, 2, 2 + 0.5 * ROOT)]
    expected = (after[0] + 4 * after[1] + after[2]) / 6 - before
    assert expected_gains(belief, np.array([1]), (1,)) == pytest.approx([expected])
    assert expected > 0.4


def test_a_measurement_makes_the_predictions_that_are_tied_to_it_surer():
    mu, sigma = [[1, 3], [2, 2], [9, 9]], [[0, 0], [0, 1], [0, 1]]
    known = [[True, True], [True, False], [False, False]]
    half = Tied([[0, 0, 0], [0, 1, 0.6], [0, 0.6, 1]])
    belief = believe(mu, sigma, known, models=[Tied(np.zeros((3, 3))), half], left=0.0)
    before = hypervolume(np.array([[1, 3], [2, 3.0]]), belief.reference)
    # Design 1 moves by 0.6 for each deviation of design 2, and 0.8 of its own deviation is left.
    moved = [2 + 0.6 * z + 0.8 for z in (-ROOT, 0.0, ROOT)]
    after = [hypervolume(np.array([[1, 3], [2, y]]), belief.reference) for y in moved]
    assert expected_gains(belief, np.array([2]), (1,)) == pytest.approx(
        [(after[0] + 4 * after[1] + after[2]) / 6 - before]
    )


def test_models_that_see_nothing_to_gain_are_doubted():
    # Both designs are known; the third is believed to be far behind, and may be better by three deviations only.
    mu, sigma = [[1, 3], [3, 1], [2, 3.9]], [[0, 0], [0, 0], [0, 0.3]]
    known = [[True, True], [True, True], [True, False]]
    belief = believe(mu, sigma, known)
    assert region_gain(belief, np.random.default_rng(0)).max() == 0.0
    assert expected_gains(belief, np.array([2]), (1,)) == pytest.approx([0.0])
    scores = front_gain(belief, np.random.default_rng(0))
    assert np.argwhere(scores > 0.0).tolist() == [[2, 1]]


def test_a_design_that_seems_feasible_is_confirmed_before_all_others():
    # Nothing is known to keep the limit of 0. Design 1 seems to, and one quantity of it is missing; design 2 lacks two.
    belief = believe(
        [[1, 3, 5], [2, 2, -3], [3, 1, -3]],
        [[0, 0, 0], [0, 0, 1], [0, 1, 1]],
        [[True, True, True], [True, True, False], [True, False, False]],
        optimised=(0, 1),
        limits=[math.inf, math.inf, 0.0],
    )
    belief = replace(belief, price_list=replace(belief.price_list, open=~belief.known))
    scores = front_gain(belief, np.random.default_rng(0))
    assert np.argwhere(scores > 0.0).tolist() == [[1, 2]]
    assert scores[1, 2] == pytest.approx(belief.feasible()[1] * 4.0)  # its volume is (4 - 2) * (4 - 2)
    kept = replace(belief, mu=np.array([[1, 3, -5.0], [2, 2, -3], [3, 1, -3]]))
    assert (front_gain(kept, np.random.default_rng(0))[2] > 0.0).any()


def test_a_skewed_belief_moves_by_the_deviation_of_its_own_side():
    # One deviation is 0.2 towards better losses and 1.8 towards worse ones: no outcome is better than 1.5 - 0.2 * ROOT.
    belief = believe(
        [[1, 3], [3, 1], [2, 1.5]], [[0, 0], [0, 0], [0, 1.0]], [[True, True], [True, True], [False, False]]
    )
    lower, upper = belief.lower.copy(), belief.upper.copy()
    lower[2, 1], upper[2, 1] = 1.5 - 0.4, 1.5 + 3.6
    belief = replace(belief, lower=lower, upper=upper)
    outcomes = [1.5 - 0.2 * ROOT, 1.5, 1.5 + 1.8 * ROOT]
    after = [hypervolume(np.array([[1, 3], [3, 1], [2, y]]), belief.reference) for y in outcomes]
    assert expected_gains(belief, np.array([2]), (1,)) == pytest.approx([(after[0] + 4 * after[1] + after[2]) / 6 - 5])
