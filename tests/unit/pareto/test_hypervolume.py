import numpy as np
import pytest

from flexibo.pareto import hypervolume, hypervolumes


def test_the_volume_of_one_row_is_its_distance_to_the_reference_in_every_objective_multiplied():
    assert hypervolume(np.array([[1.0, 2.0, 3.0]]), np.array([2.0, 4.0, 6.0])) == pytest.approx(6.0)


def test_overlapping_areas_count_once():
    # 3 x 1 under the first row, 1 x 3 under the second, 1 x 1 of it in common
    assert hypervolume(np.array([[0.0, 2.0], [2.0, 0.0]]), np.array([3.0, 3.0])) == pytest.approx(5.0)


def test_dominated_rows_and_copies_add_nothing():
    Y = np.array([[0.0, 2.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    assert hypervolume(Y, np.array([3.0, 3.0])) == pytest.approx(5.0)


@pytest.mark.parametrize("row", [[3.0, 0.0], [0.0, 3.0], [4.0, -9.0], [9.0, 9.0]])
def test_rows_not_better_than_the_reference_add_nothing(row):
    reference = np.array([3.0, 3.0])
    assert hypervolume(np.array([row]), reference) == 0.0
    assert hypervolume(np.array([row, [1.0, 1.0]]), reference) == pytest.approx(4.0)


def test_no_rows_have_no_volume():
    assert hypervolume(np.zeros((0, 4)), np.ones(4)) == 0.0


def test_one_objective_has_a_length():
    assert hypervolume(np.array([[2.0], [1.0], [7.0]]), np.array([5.0])) == 4.0
    assert hypervolume(np.array([[7.0]]), np.array([5.0])) == 0.0


def test_the_input_is_left_as_it_was():
    Y, reference = np.array([[0.0, 2.0], [5.0, 0.0]]), np.array([3.0, 3.0])
    hypervolume(Y, reference)
    assert Y.tolist() == [[0.0, 2.0], [5.0, 0.0]]
    assert reference.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_volumes_of_many_sets_are_those_of_each(k):
    rng = np.random.default_rng(k)
    Y = rng.random((20, 7, k)).round(1)  # with equal losses among them, and some beyond the reference
    Y[3:6, 2] = np.inf
    Y[9] = np.inf
    reference = np.full(k, 0.8)
    assert hypervolumes(Y, reference) == pytest.approx([hypervolume(losses, reference) for losses in Y])
    assert hypervolumes(Y, reference)[9] == 0.0


def test_many_sets_without_designs_have_no_volume():
    assert hypervolumes(np.zeros((3, 0, 2)), np.ones(2)).tolist() == [0.0, 0.0, 0.0]
