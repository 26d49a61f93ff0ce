from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from flexibo.belief.belief import Belief
from flexibo.methods.feasibility import doubtful_front, feasibility_scores

Make = Callable[..., Belief]
LIMITS = np.array([np.inf, 1.0, 1.0])
ONE_ABOVE = 0.15865525393145707  # the probability of a normal loss to be one deviation or more below its mean


def test_bundles_with_an_unknown_constraint_score_the_probability_that_all_hold(make_belief: Make) -> None:
    belief = make_belief(
        [[0.0, 2.0, 1.0]], [[1.0, 1.0, 1.0]], limits=LIMITS, optimised=(0,), bundles=((0,), (1,), (0, 2))
    )
    # One constraint is one deviation beyond its limit, the other on it.
    assert feasibility_scores(belief) == pytest.approx(np.array([[0.0, ONE_ABOVE / 2, ONE_ABOVE / 2]]))


def test_a_constraint_that_is_known_is_not_asked_for(make_belief: Make) -> None:
    belief = make_belief(
        [[0.0, 0.5, 1.0]], [[1.0, 0.0, 1.0]], limits=LIMITS, optimised=(0,), bundles=((0,), (1,), (2,))
    )
    assert feasibility_scores(belief) == pytest.approx(np.array([[0.0, 0.0, 0.5]]))


def test_a_design_that_breaks_a_known_constraint_scores_nothing(make_belief: Make) -> None:
    belief = make_belief([[0.0, 1.5, 1.0]], [[1.0, 0.0, 1.0]], limits=LIMITS, optimised=(0,), bundles=((1,), (2,)))
    assert feasibility_scores(belief).tolist() == [[0.0, 0.0]]


def test_what_is_unlikely_still_scores_more_than_nothing(make_belief: Make) -> None:
    belief = make_belief([[0.0, 1e6, 0.0]], [[1.0, 1.0, 0.0]], limits=LIMITS, optimised=(0,), bundles=((1,),))
    assert belief.feasible()[0] == 0.0
    assert 0.0 < feasibility_scores(belief)[0, 0] < 1e-300


def test_members_of_the_predicted_front_are_doubtful_until_they_are_sure_enough(make_belief: Make) -> None:
    # Losses of one objective, and a constraint that holds with 0.84, 0.98, 0.5 and 1; the last is not measured at all.
    belief = make_belief(
        [[1.0, 0.0], [2.0, -1.0], [0.5, 1.0], [3.0, 0.0], [0.1, 0.0]],
        [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0]],
        limits=np.array([np.inf, 1.0]),
        optimised=(0,),
    )
    # The third is as likely to break the limit as not, so the first is the front, and the others are worse than it.
    assert doubtful_front(belief, 0.95).tolist() == [True, False, False, False, False]
    assert doubtful_front(belief, 0.8).tolist() == [False] * 5


def test_without_likely_designs_nothing_is_doubtful(make_belief: Make) -> None:
    belief = make_belief([[1.0, 9.0]], [[0.0, 1.0]], limits=np.array([np.inf, 1.0]), optimised=(0,))
    assert doubtful_front(belief, 0.95).tolist() == [False]
