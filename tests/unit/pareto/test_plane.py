import numpy as np
import pytest
from tests.unit.pareto.open_boxes import boxes_of, pins_of

from flexibo.pareto._plane import plane_gains

FOUR = np.array([4.0, 4.0])


def gains(rows, reference=FOUR, keys=None, **goals):
    """The gains (questions, 2) of both objectives."""
    boxes = boxes_of(rows, **goals)
    parts = plane_gains(boxes, reference, [pins_of(boxes, j, keys) for j in boxes.goals.optimised])
    return [part.tolist() for part in parts]


def test_one_box_loses_the_strips_before_the_mean_and_behind_it():
    # F_opt is 4 x 4, F_pess 2 x 1. Objective 0 at 1: F_opt loses 1 x 4, F_pess gets 1 x 1 more.
    # Objective 1 at 2: F_opt loses 4 x 2, F_pess gets 2 x 1 more.
    assert gains([[(0, 1, 2), (0, 2, 3)]]) == [[4 + 1], [8 + 2]]


def test_a_stair_loses_no_more_than_up_to_the_next_one():
    # F_opt has the stairs (0, 2) and (1, 0). At 3, the first passes the second: what is lost is 1 x 2.
    rows = [[(0, 3, 9), (2, 2, 2)], [(1, 1, 1), (0, 0, 0)]]
    assert gains(rows)[0] == [2]
    # At 0.5, before the second, half of it is lost, and F_pess, which began at 1, gets the other half.
    assert gains([[(0, 0.5, 9), (2, 2, 2)], rows[1]])[0] == [1 + 1]


def test_a_hidden_corner_comes_up_when_the_stair_before_it_moves_away():
    # The strip of 2 x 4 is lost; (1, 1), hidden so far, keeps 1 x 3 of it; (1.5, 0.5) another 0.5 x 0.5.
    moving = [(0, 2, 2), (0, 0, 0)]
    assert gains([moving])[0] == [8]
    assert gains([moving, [(1, 1, 9), (1, 1, 9)]])[0][0] == 8 - 3
    assert gains([moving, [(1, 1, 9), (1, 1, 9)], [(1.5, 1.5, 9), (0.5, 0.5, 9)]])[0][0] == 8 - 3 - 0.25


def test_a_corner_straight_above_a_stair_is_the_roof_of_what_is_lost():
    # (0, 1) stands above the stair (0, 0): when that moves to 2, only 2 x 1 is lost.
    rows = [[(0, 2, 2), (0, 0, 0)], [(0, 0, 0), (1, 1, 1)]]
    assert gains(rows)[0] == [2]


def test_boxes_pinned_together_lose_what_none_of_them_keeps():
    rows = [[(0, 2, 4), (0, 0, 0)], [(0, 2, 4), (1, 1, 1)]]
    # Apart, the second box keeps 2 x 3 of the 2 x 4 that the first loses; F_pess gets 2 x 4 or 2 x 3.
    assert gains(rows)[0] == [2 + 8, 0 + 6]
    assert gains(rows, keys=[7, 7])[0] == [8 + 8]


def test_a_mean_that_breaks_the_limit_of_its_objective_removes_the_stair():
    rows = [[(0, 2.5, 3), (0, 0, 0)]]
    assert gains(rows, limits=[2.0, np.inf])[0] == [16]
    # A mean that keeps it: F_opt loses 1 x 4, F_pess, empty so far, gets 3 x 4.
    assert gains([[(0, 1, 3), (0, 0, 0)]], limits=[2.0, np.inf])[0] == [4 + 12]


def test_corners_beyond_the_reference_gain_nothing():
    assert gains([[(5, 6, 7), (0, 1, 2)]]) == [[0], [0]]
    # A mean beyond it loses all of the stair, and adds nothing to F_pess.
    assert gains([[(3, 5, 6), (3, 3, 3)]])[0] == [1]


def test_both_objectives_are_treated_alike():
    rng = np.random.default_rng(0)
    rows = np.sort(rng.random((30, 2, 3)), axis=2)
    one, other = gains(rows, reference=np.ones(2)), gains(rows[:, ::-1], reference=np.ones(2))
    assert one[0] == pytest.approx(other[1], abs=1e-12)
    assert one[1] == pytest.approx(other[0], abs=1e-12)
    assert max(one[0]) > 0
