import numpy as np
import pytest

from flexibo.pareto.dominance import non_dominated, strictly_dominated


def test_rows_that_another_row_dominates_are_left_out():
    Y = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [3.0, 3.0], [2.0, 2.5]])
    assert non_dominated(Y).tolist() == [True, True, True, False, False]


def test_every_copy_of_a_duplicate_row_is_kept():
    for Y in (np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 2.0]]), np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 0.0], [2.0] * 3])):
        assert non_dominated(Y).tolist() == [True, True, False]


def test_equal_in_one_objective_and_worse_in_another_is_dominated():
    assert non_dominated(np.array([[1.0, 2.0], [1.0, 1.0], [0.0, 2.0]])).tolist() == [False, True, True]


def test_no_rows_have_an_empty_front():
    assert non_dominated(np.zeros((0, 3))).tolist() == []


def test_a_single_row_is_non_dominated():
    assert non_dominated(np.array([[5.0, 5.0]])).tolist() == [True]


def test_with_one_objective_the_smallest_losses_are_non_dominated():
    assert non_dominated(np.array([[2.0], [1.0], [1.0]])).tolist() == [False, True, True]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_large_sets_with_ties_agree_with_pairwise_comparison(n):
    Y = np.random.default_rng(n).integers(0, 9, size=(400, n)).astype(float)
    worse = (Y[:, None] >= Y).all(axis=2) & (Y[:, None] > Y).any(axis=2)
    assert non_dominated(Y).tolist() == (~worse.any(axis=1)).tolist()


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_strict_dominance_by_a_front_agrees_with_pairwise_comparison(n):
    rng = np.random.default_rng(n)
    Y = rng.integers(0, 7, size=(3000, n)).astype(float)
    front = rng.integers(2, 7, size=(300, n)).astype(float)
    front = front[non_dominated(front)]
    expected = ((Y[:, None] >= front).all(axis=2) & (Y[:, None] > front).any(axis=2)).any(axis=1)
    assert strictly_dominated(Y, front).tolist() == expected.tolist()


def test_a_row_that_equals_a_row_of_the_front_is_not_strictly_dominated():
    front = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])
    assert strictly_dominated(front, front).tolist() == [False, False, False]


def test_an_empty_front_dominates_nobody():
    assert strictly_dominated(np.array([[1.0, 1.0]]), np.zeros((0, 2))).tolist() == [False]
