from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from flexibo.belief.belief import Belief
from flexibo.belief.costs import TRANSFORMS
from flexibo.methods import METHODS, ScoringMethod
from flexibo.methods.base import Candidates
from flexibo.methods.flexibo import FLEXIBO_OF_THE_PAPER, region_gain
from flexibo.pareto import pareto_region
from flexibo.surrogates.table import SURROGATES

Make = Callable[..., Belief]


def gains(belief: Belief) -> np.ndarray:
    return region_gain(belief, np.random.default_rng(0))


def two_boxes(make_belief: Make, **fields: object) -> Belief:
    """Boxes of width 1 around (0.5, 2.5) and (2.5, 0.5), with the reference (4, 4)."""
    return make_belief(
        [[0.5, 2.5], [2.5, 0.5]],
        np.full((2, 2), 0.5),
        **({"reference": np.array([4.0, 4.0]), "bundles": ((0,), (1,), (0, 1))} | fields),
    )


def test_scores_are_the_areas_that_leave_the_region(make_belief: Make) -> None:
    # F_opt has the stairs (0, 2) and (2, 0), F_pess (1, 3) and (3, 1). Objective 0 of the first at 0.5: F_opt loses
    # 0.5 x 2, F_pess gets 0.5 x 1. Objective 1 of it at 2.5: F_opt loses 2 x 0.5, F_pess gets 2 x 0.5. Both: F_opt
    # keeps 1.5 x 1.5 of 2 x 2, F_pess has 2.5 x 1.5 instead of 2 x 1.
    scores = gains(two_boxes(make_belief))
    assert scores[:, :2] == pytest.approx(np.array([[1.0 + 0.5, 1.0 + 1.0], [2.0, 1.5]]))
    assert scores[:, 2] == pytest.approx([(4.0 - 2.25) + (3.75 - 2.0)] * 2)


def test_a_region_that_is_known_already_changes_nothing(make_belief: Make) -> None:
    belief = two_boxes(make_belief)
    region = pareto_region(belief.lower, belief.upper, belief.reference)
    assert gains(replace(belief, region=region)).tolist() == gains(belief).tolist()


def test_designs_that_agree_in_a_loss_are_pinned_together(make_belief: Make) -> None:
    belief = make_belief(
        [[0.5, 1.0], [0.5, 2.0]], [[0.5, 0.0], [0.5, 0.0]], reference=np.array([4.0, 4.0]), bundles=((0,),)
    )
    apart = gains(belief)[:, 0]
    keys = belief.keys.copy()
    keys[1, 0] = keys[0, 0]
    together = gains(replace(belief, keys=keys))[:, 0]
    # Apart, the second keeps 0.5 x 2 of the 0.5 x 3 that the first loses, and F_pess gets 0.5 x 3.
    assert apart.tolist() == [0.5 + 1.5, 0.0 + 1.0]
    assert together.tolist() == [1.5 + 1.5] * 2


def test_a_constraint_is_worth_the_design_that_it_lets_in(make_belief: Make) -> None:
    # The mean keeps the limit of 1, so F_pess, empty so far, gets 2 x 2.
    belief = make_belief(
        [[2.0, 2.0, 0.5]],
        [[0.0, 0.0, 1.0]],
        optimised=(0, 1),
        limits=np.array([np.inf, np.inf, 1.0]),
        reference=np.array([4.0, 4.0]),
        bundles=((0,), (2,)),
    )
    assert gains(belief).tolist() == [[0.0, 4.0]]


def test_the_papers_six_variants_are_two_models_with_three_costs_each() -> None:
    assert [method.name for method in FLEXIBO_OF_THE_PAPER] == [
        f"flexibo-{model}-{cost}" for model in ("gp", "rf") for cost in ("log", "ratio", "constant")
    ]
    assert {(method.surrogate, method.cost) for method in FLEXIBO_OF_THE_PAPER} == {
        (surrogate, cost) for surrogate in ("gp-paper", "rf") for cost in ("paper-log", "ratio", "constant")
    }
    for method in FLEXIBO_OF_THE_PAPER:
        assert METHODS[method.name] is method
        assert isinstance(method, ScoringMethod)
        assert method.surrogate in SURROGATES
        assert method.cost in TRANSFORMS
        assert (method.region, method.coupled, method.candidates) == (True, False, Candidates.UNIFORM)
