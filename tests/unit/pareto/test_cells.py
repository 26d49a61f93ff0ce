import moocore
import numpy as np
import pytest

from flexibo.pareto.cells import non_dominated_cells


def boxes_of(front, reference):
    lower, upper = non_dominated_cells(np.array(front, dtype=float), np.array(reference, dtype=float))
    return sorted(zip(map(tuple, lower.tolist()), map(tuple, upper.tolist()), strict=True))


def spherical_front(f, k, rng):
    front = np.abs(rng.normal(size=(f, k)))
    return front / np.linalg.norm(front, axis=1, keepdims=True)


def times_covered(points, lower, upper):
    inside = (lower <= points[:, None]) & (points[:, None] < upper)
    return inside.all(axis=2).sum(axis=1)


def test_one_objective_leaves_everything_below_the_best_loss():
    assert boxes_of([[3], [2], [4]], [9]) == [((-np.inf,), (2,))]
    assert boxes_of([[3]], [1]) == [((-np.inf,), (1,))]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_without_a_front_everything_below_the_reference_is_one_cell(k):
    assert boxes_of(np.zeros((0, k)), [2] * k) == [((-np.inf,) * k, (2,) * k)]


def test_a_front_in_the_plane_leaves_strips():
    below = -np.inf
    strips = [((below, below), (1, 9)), ((1, below), (2, 5)), ((2, below), (4, 3)), ((4, below), (8, 0))]
    assert boxes_of([[4, 0], [1, 5], [2, 3]], [8, 9]) == strips


def test_a_single_row_leaves_one_cell_for_each_objective():
    below = -np.inf
    cells = [((below, below, 3), (1, 8, 7)), ((below, below, below), (9, 8, 3)), ((1, below, 3), (9, 2, 7))]
    assert boxes_of([[1, 2, 3]], [9, 8, 7]) == sorted(cells)


@pytest.mark.parametrize("useless", [[5, 5, 5], [1, 2, 3], [1, 2, 4], [0, 0, 7], [-5, 8, -5]])
def test_dominated_rows_copies_and_rows_beyond_the_reference_change_nothing_in_space(useless):
    front, reference = [[1, 2, 3], [3, 1, 2]], [9, 8, 7]
    assert boxes_of([*front, useless], reference) == boxes_of(front, reference)


@pytest.mark.parametrize("useless", [[5, 5], [1, 2], [1, 3], [3, 1], [4, 1], [0, 8], [9, -5]])
def test_dominated_rows_copies_and_rows_beyond_the_reference_change_nothing_in_the_plane(useless):
    front, reference = [[1, 2], [3, 1]], [9, 8]
    assert boxes_of([useless, *front], reference) == boxes_of(front, reference)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
def test_every_loss_below_the_reference_is_dominated_or_in_exactly_one_cell(k):
    # Small integers: most losses tie with the front and lie on the sides of cells.
    rng = np.random.default_rng(k)
    for f in (1, 2, 5, 12):
        front = rng.integers(0, 6, size=(f, k)).astype(float)
        lower, upper = non_dominated_cells(front, np.full(k, 5.0))
        points = rng.integers(-2, 6, size=(2000, k)).astype(float)
        free = ~(front <= points[:, None]).all(axis=2).any(axis=1) & (points < 5.0).all(axis=1)
        assert 0 < free.sum() < 2000
        assert times_covered(points, lower, upper).tolist() == free.astype(int).tolist()
        assert (lower < upper).all()


@pytest.mark.parametrize(("k", "f"), [(1, 1), (2, 40), (3, 40), (4, 20), (5, 12), (6, 10)])
def test_the_cells_and_what_the_front_dominates_fill_the_box(k, f):
    rng = np.random.default_rng(f)
    front, reference = spherical_front(f, k, rng), np.full(k, 1.1)
    lower, upper = non_dominated_cells(front, reference)
    free = (upper - np.maximum(lower, 0.0)).prod(axis=1).sum()
    dominated = 1.1 - 1.0 if k == 1 else moocore.hypervolume(front, ref=reference)
    assert free + dominated == pytest.approx(1.1**k, rel=1e-12)


def test_there_are_as_few_cells_as_possible_in_the_plane_and_in_space():
    for f in (1, 10, 60):
        for k, cells in (2, f + 1), (3, 2 * f + 1):
            front = spherical_front(f, k, np.random.default_rng(f))
            assert len(non_dominated_cells(front, np.full(k, 2.0))[0]) == cells


def test_cells_do_not_depend_on_units():
    rng = np.random.default_rng(0)
    front, scale = spherical_front(20, 4, rng), np.array([2.0**40, 1.0, 2.0**-40, 8.0])
    lower, upper = non_dominated_cells(front, np.full(4, 1.1))
    scaled_lower, scaled_upper = non_dominated_cells(front * scale, 1.1 * scale)
    assert (scaled_lower == lower * scale).all()
    assert (scaled_upper == upper * scale).all()


def test_the_input_is_left_as_it_was():
    front, reference = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]), np.array([5.0, 5.0, 5.0])
    non_dominated_cells(front, reference)
    assert front.tolist() == [[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]
    assert reference.tolist() == [5.0, 5.0, 5.0]
