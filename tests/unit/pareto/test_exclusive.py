import numpy as np
import pytest

from flexibo.pareto import _exclusive
from flexibo.pareto._exclusive import exclusive_volumes, surroundings
from flexibo.pareto.hypervolume import hypervolume

NOBODY = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def around(corner, points, reference, absent=NOBODY):
    n = len(reference)
    points = np.array(points, dtype=float).reshape(-1, n)
    return surroundings(np.array(corner, dtype=float), points, np.array(reference, dtype=float), absent)


def volumes(corner, points, reference, absent=NOBODY, tops=None, extra=()):
    """The exclusive volume of each corner; extra points are pairs (index of a corner, point)."""
    found = around(corner, points, reference, absent)
    tops = np.tile(np.array(reference, dtype=float), (len(corner), 1)) if tops is None else np.array(tops, dtype=float)
    at = np.array([box for box, _ in extra], dtype=np.int64)
    others = np.array([point for _, point in extra], dtype=float).reshape(-1, len(reference))
    return exclusive_volumes(found, np.arange(len(corner)), tops, (at, others)).tolist()


def test_alone_a_corner_has_the_whole_box_below_the_reference():
    assert volumes([[1, 1, 1]], [], [4, 3, 2]) == [3 * 2 * 1]


def test_a_point_that_dominates_or_equals_a_corner_leaves_it_nothing():
    found = around([[1, 1], [2, 2], [1, 2]], [[2, 2]], [4, 4])
    assert found.free.tolist() == [True, False, True]
    assert volumes([[2, 2], [3, 2]], [[2, 2]], [4, 4]) == [0, 0]


def test_a_point_that_exceeds_a_corner_along_one_axis_lowers_its_top():
    found = around([[1, 1]], [[0, 3], [2, 0]], [4, 4])
    assert found.top.tolist() == [[2, 3]]
    assert found.count.tolist() == [0]
    assert volumes([[1, 1]], [[0, 3], [2, 0]], [4, 4]) == [1 * 2]


def test_a_point_inside_the_box_takes_its_part():
    found = around([[0, 0]], [[1, 2], [9, 9]], [4, 4])
    assert found.neighbour.tolist() == [[1, 2]]
    assert volumes([[0, 0]], [[1, 2], [9, 9]], [4, 4]) == [16 - 3 * 2]


def test_an_absent_point_does_not_count_for_its_corner_only():
    corner, points = [[0, 0], [0, 0]], [[0, 0], [1, 2]]
    absent = np.array([0, 1, 1]), np.array([0, 0, 1])
    assert volumes(corner, points, [4, 4], absent) == [16 - 6, 16]
    assert volumes(corner, points, [4, 4]) == [0, 0]


def test_a_lower_top_and_extra_points_make_a_box_smaller():
    assert volumes([[0, 0]], [], [4, 4], tops=[[1, 4]]) == [4]
    assert volumes([[0, 0], [0, 0]], [], [4, 4], extra=[(1, [2, 2]), (1, [3, 1])]) == [16, 16 - (2 * 2 + 1 * 1)]
    assert volumes([[0, 0]], [], [4, 4], extra=[(0, [-1, 2])]) == [4 * 2]
    assert volumes([[0, 0]], [], [4, 4], tops=[[0, 4]]) == [0]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_many_points_leave_what_the_hypervolume_says(monkeypatch, n):
    rng = np.random.default_rng(n)
    points, corner, reference = rng.random((60, n)), 0.5 * rng.random((20, n)), np.ones(n)
    whole = hypervolume(points, reference)
    expected = [hypervolume(np.vstack([points, one]), reference) - whole for one in corner]
    assert volumes(corner, points, reference) == pytest.approx(expected, abs=1e-12)
    assert max(expected) > 0
    monkeypatch.setattr(_exclusive, "_TABLE_SIZE", 7)
    monkeypatch.setattr(_exclusive, "_BATCH", 3)
    assert volumes(corner, points, reference) == pytest.approx(expected, abs=1e-12)
