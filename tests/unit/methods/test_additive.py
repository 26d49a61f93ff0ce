from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from flexibo.belief.belief import Belief
from flexibo.methods._additive import bundled, with_constraints

Make = Callable[..., Belief]


def test_a_bundle_is_worth_the_sum_of_its_quantities() -> None:
    scores = np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])
    assert bundled(scores, ((2, 0), (1,))).tolist() == [[5.0, 2.0], [40.0, 16.0]]


LIMITED = np.array([np.inf, 1.0])


def test_a_constraint_scores_its_binary_entropy_times_the_objectives_scores(make_belief: Make) -> None:
    belief = make_belief(
        [[0.0, 1.0], [0.0, 1.5], [0.0, 9.0], [0.0, 0.5]],
        [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0.5, 0.0]],
        optimised=(0,),
        limits=LIMITED,
    )
    scores = with_constraints(np.array([[2.0, 7.0], [2.0, 7.0], [2.0, 7.0], [2.0, 7.0]]), belief)
    p = 0.15865525393145707
    assert scores[:, 0].tolist() == [2.0] * 4
    assert scores[0, 1] == pytest.approx(2.0)
    assert scores[1, 1] == pytest.approx(-2.0 * (p * np.log2(p) + (1 - p) * np.log2(1 - p)))
    assert scores[2, 1] < 1e-20
    assert scores[3, 1] == 0.0


def test_a_promising_design_with_known_objectives_still_has_its_constraint_measured(make_belief: Make) -> None:
    belief = make_belief(
        [[0.0, 1.0], [1.0, 0.5], [2.0, 1.0], [0.5, 1.0]],
        [[0.0, 0.5], [0.0, 0.0], [0.0, 0.5], [0.5, 0.5]],
        optimised=(0,),
        limits=LIMITED,
    )
    scores = with_constraints(np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [3.0, 0.0]]), belief)
    assert scores[0, 1] == pytest.approx(3.0)  # better than the known legal design
    assert scores[1, 1] == 0.0  # known
    assert scores[2, 1] == 0.0  # worse than the known legal design
    assert scores[3, 1] == pytest.approx(3.0)


def test_a_limited_objective_is_scored_as_an_objective(make_belief: Make) -> None:
    belief = make_belief([[0.0, 1.0]], [[0.5, 0.5]], limits=LIMITED)
    assert with_constraints(np.array([[2.0, 7.0]]), belief).tolist() == [[2.0, 7.0]]
