import numpy as np
import pytest

from flexibo.errors import InvalidValueError
from flexibo.pareto.goals import Goals, goals_of_boxes

INF = np.inf


@pytest.mark.parametrize(
    ("optimised", "limits", "facts"),
    [
        ([0, 1], None, "Quantity 2 .*neither"),
        ([0, 1], np.array([INF, 1.0, INF]), "Quantity 2 .*neither"),
        ([0, 3], None, r"optimised quantities are \[0, 3\]"),
        ([0, -1], None, r"optimised quantities are \[0, -1\]"),
        ([0, 0], None, r"optimised quantities are \[0, 0\]"),
        ([], np.ones(3), r"optimised quantities are \[\]"),
        ([0, 1, 2], np.ones(2), r"limits are \[1.0, 1.0\].* 3 quantities"),
        ([0, 1, 2], np.array([1.0, np.nan, 1.0]), r"limits are \[1.0, nan, 1.0\]"),
    ],
)
def test_goals_that_do_not_fit_the_quantities_are_refused(optimised, limits, facts):
    with pytest.raises(InvalidValueError, match=facts):
        Goals.of(3, optimised, limits)


def test_by_default_every_quantity_is_an_objective_without_a_limit():
    goals = Goals.of(2, None, None)
    assert (goals.optimised, goals.limited) == ((0, 1), ())
    Y = np.array([[3.0, 4.0]])
    assert goals.corners(Y) is Y


def test_corners_have_the_objectives_in_their_order_and_infinity_where_a_limit_is_broken():
    goals = Goals.of(3, [2, 0], np.array([5.0, 1.0, INF]))
    assert goals.limited == (0, 1)
    Y = np.array([[5.0, 1.0, 9.0], [5.1, 1.0, 9.0], [5.0, 1.1, 9.0], [0.0, 0.0, INF]])
    assert goals.corners(Y).tolist() == [[9.0, 5.0], [INF, INF], [INF, INF], [INF, 0.0]]


def test_an_objective_is_undecided_while_its_interval_has_width_and_a_constraint_while_its_limit_is_inside():
    goals = Goals.of(3, [0, 1], np.array([INF, 1.0, 1.0]))  # quantity 1 is an objective with a limit
    lower, upper = np.array([[0.0, 2.0, 1.0], [0.0, 0.0, 0.0]]), np.array([[0.0, 3.0, 2.0], [1.0, 0.5, 1.0]])
    assert goals.undecided(lower, upper).tolist() == [[False, True, True], [True, True, False]]


def test_in_the_plane_the_new_objective_is_the_last_column():
    goals = Goals.of(2, [1], np.array([1.0, INF])).in_the_plane()
    assert (goals.optimised, goals.limits.tolist(), goals.limited) == ((1, 2), [1.0, INF, INF], (0,))
    assert goals.corners(np.array([[1.0, 7.0, 0.0], [2.0, 7.0, 0.0]])).tolist() == [[7.0, 0.0], [INF, INF]]


def test_boxes_and_reference_are_checked_against_the_goals():
    lower, upper = np.zeros((2, 3)), np.ones((2, 3))
    assert goals_of_boxes(lower, upper, np.ones(2), [0, 2], np.array([INF, 0.5, INF])).optimised == (0, 2)
    with pytest.raises(InvalidValueError, match=r"shape \(3,\).*2 objectives"):
        goals_of_boxes(lower, upper, np.ones(3), [0, 2], np.array([INF, 0.5, INF]))
    with pytest.raises(InvalidValueError, match="lower corner"):
        goals_of_boxes(upper, lower, np.ones(3), None, None)
