from dataclasses import replace

import numpy as np
import pytest
from tests.unit.methods.box_regions import boxes, covered

from flexibo.methods.epsilon_pal import epsilon_pal_step
from flexibo.methods.pal import (
    DISCARDED,
    OPEN,
    PARETO,
    classify,
    pal_step,
)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_without_tolerance_both_rules_agree(k, seed):
    lower, upper = boxes(80, k, seed, exact=0.3)
    assert covered(lower, upper, np.zeros(k)).tolist() == classify(lower, upper).tolist()


def test_a_design_within_the_tolerance_of_a_pareto_design_is_redundant():
    Y = np.array([[0.0, 2.0], [0.1, 1.9], [2.0, 0.0]])
    assert covered(Y, Y, [0.05, 0.05]).tolist() == [PARETO, PARETO, PARETO]
    assert covered(Y, Y, [0.2, 0.2]).tolist() == [PARETO, DISCARDED, PARETO]
    assert covered(Y, Y, [0.0, 0.2]).tolist() == [PARETO, DISCARDED, PARETO]
    assert covered(Y, Y, [0.2, 0.0]).tolist() == [PARETO, PARETO, PARETO]  # the first is not as good in both


def test_the_widest_of_two_that_cover_each_other_becomes_pareto():
    middle = np.array([[0.0, 2.0], [0.05, 1.95], [2.0, 0.0]])
    half = np.array([[0.01], [0.02], [0.01]])
    assert covered(middle - half, middle + half, [0.2, 0.2]).tolist() == [DISCARDED, PARETO, PARETO]
    assert covered(middle - half[::-1] / 2, middle + half / 2, [0.2, 0.2]).tolist() != [OPEN] * 3


def test_a_design_on_the_pessimistic_front_is_not_discarded_by_its_peers():
    lower = np.array([[0.0, 0.0], [0.05, -0.05]])
    upper = lower + 0.2
    assert covered(lower, upper, [0.22, 0.1]).tolist() != [DISCARDED, DISCARDED]
    rival = np.vstack([lower, [[-9.0, -9.0]]]), np.vstack([upper, [[9.0, 9.0]]])  # keeps both from being Pareto
    assert covered(*rival, [0.3, 0.3]).tolist() == [OPEN, OPEN, OPEN]


def test_a_discarded_design_is_open_again_when_nobody_left_covers_it():
    lower = np.array([[0.0, 0.0], [1.0, 1.0]])
    assert covered(lower, lower, [0.1, 0.1], [OPEN, DISCARDED]).tolist() == [PARETO, DISCARDED]
    apart = np.array([[0.0, 2.0], [2.0, 0.0]])
    assert covered(apart, apart, [0.1, 0.1], [PARETO, DISCARDED]).tolist() == [PARETO, PARETO]
    assert covered(apart - 0.5, apart + 2.0, [0.1, 0.1], [OPEN, DISCARDED]).tolist() == [OPEN, OPEN]


def test_tolerances_do_not_add_up_along_a_chain():
    # 2 is within the tolerance of 1, and 1 of 0, but 2 is not within the tolerance of 0.
    Y = np.array([[0.0, 3.0], [0.9, 2.1], [1.8, 1.2]])
    status = covered(Y, Y, [1.0, 1.0], [PARETO, OPEN, DISCARDED])
    assert status.tolist() == [PARETO, DISCARDED, PARETO]


def test_a_pareto_design_is_open_again_when_another_may_beat_it_after_all():
    lower, upper = np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([[1.0, 1.0], [2.0, 2.0]])
    for other in (OPEN, DISCARDED):
        assert covered(lower, upper, [0.1, 0.1], [PARETO, other]).tolist() == [OPEN, OPEN]
    assert covered(lower, upper, [1.1, 0.1], [PARETO, OPEN]).tolist()[0] == PARETO


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_all_pareto_designs_together_cover_what_was_discarded(k, seed):
    lower, upper = boxes(150, k, seed, width=0.1)
    epsilon = np.full(k, 0.1)
    status = covered(lower, upper, epsilon)
    left = upper[status != DISCARDED]
    for best in lower[status == DISCARDED]:
        assert (left <= best + epsilon).all(axis=1).any()
    assert 0 < (status == DISCARDED).sum() < 150


def test_a_pareto_design_keeps_its_class_when_another_would_do_as_well(make_belief):
    mu, tolerances = [[0.0, 2.0], [0.05, 1.95], [2.0, 0.0]], np.array([0.2, 0.2])
    first = epsilon_pal_step(None, make_belief(mu, [[0.03, 0.03], [0.02, 0.02], [0.02, 0.02]], tolerances=tolerances))
    assert first.status.tolist() == [PARETO, DISCARDED, PARETO]
    narrower = make_belief(mu, [[0.0, 0.0], [0.02, 0.02], [0.02, 0.02]], tolerances=tolerances)
    assert epsilon_pal_step(None, narrower).status.tolist() == [DISCARDED, PARETO, PARETO]
    assert epsilon_pal_step(first, narrower).status.tolist() == first.status.tolist()


def test_a_step_uses_the_tolerances_of_the_optimised_columns(make_belief):
    mu = [[0.0, 7.0, 2.0], [0.1, 7.0, 1.9]]
    belief = make_belief(mu, np.zeros((2, 3)), optimised=(0, 2), tolerances=np.array([0.2, 0.0, 0.2]))
    assert epsilon_pal_step(None, belief).status.tolist() == [PARETO, DISCARDED]
    assert pal_step(None, belief).status.tolist() == [PARETO, PARETO]
    assert epsilon_pal_step(None, replace(belief, tolerances=np.array([0.0, 0.2, 0.0]))).status.tolist() == [1, 1]
    assert epsilon_pal_step(None, belief).lower.shape == (2, 2)
