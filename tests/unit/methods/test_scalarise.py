from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexibo.methods._scalarise import augmented_chebyshev, expected_improvement, lattice, normalised


@pytest.mark.parametrize(("k", "divisions", "count"), [(1, 1, 1), (2, 10, 11), (3, 4, 15), (4, 3, 20), (6, 3, 56)])
def test_the_lattice_has_as_many_vectors_as_the_formula_says(k: int, divisions: int, count: int) -> None:
    vectors = lattice(k, divisions)
    assert count == comb(divisions + k - 1, k - 1)
    assert vectors.shape == (count, k)
    assert len(np.unique(vectors, axis=0)) == count
    np.testing.assert_allclose(vectors.sum(axis=1), 1.0, rtol=1e-14)
    assert vectors.min() >= 0
    np.testing.assert_allclose(vectors * divisions, np.rint(vectors * divisions), atol=1e-12)


def test_the_lattice_of_two_is_evenly_spread() -> None:
    np.testing.assert_allclose(lattice(2, 10)[:, 0], np.arange(11) / 10)


def test_scalarised_losses_worked_by_hand() -> None:
    Y = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
    # 0.7 + 0.05 * 0.7; 0.35 + 0.05 * 0.5; 0.3 + 0.05 * 0.3
    np.testing.assert_allclose(augmented_chebyshev(Y, np.array([0.3, 0.7])), [0.735, 0.375, 0.315], rtol=1e-14)


def test_the_sum_separates_designs_that_tie_in_the_worst_objective() -> None:
    first, second = augmented_chebyshev(np.array([[0.5, 0.5], [0.5, 0.1]]), np.array([0.5, 0.5]))
    assert second < first


def test_losses_are_normalised_over_the_measured_ones() -> None:
    Y = np.array([[10.0, -3.0], [30.0, -1.0], [40.0, -5.0]])
    np.testing.assert_allclose(normalised(Y, Y[:2]), [[0.0, 0.0], [1.0, 1.0], [1.5, -1.0]])


def test_a_loss_without_a_range_counts_for_nothing() -> None:
    Y = np.array([[1e12, 1.0], [1e12 + 0.01, 2.0], [7.0, 3.0]])
    np.testing.assert_allclose(normalised(Y, Y[:2]), [[0.0, 0.0], [0.0, 1.0], [0.0, 2.0]])


def test_the_improvement_at_the_best_is_the_density_at_zero() -> None:
    improvement = expected_improvement(np.array([3.0]), np.array([2.0]), 3.0)
    np.testing.assert_allclose(improvement, 2.0 / np.sqrt(2 * np.pi), rtol=1e-14)


def test_without_doubt_the_improvement_is_the_difference() -> None:
    improvement = expected_improvement(np.array([1.0, 3.0, 5.0]), np.zeros(3), 3.0)
    np.testing.assert_array_equal(improvement, [2.0, 0.0, 0.0])


def test_almost_without_doubt_the_improvement_is_the_difference() -> None:
    improvement = expected_improvement(np.array([1.0, 3.0, 5.0]), np.full(3, 5e-324), 3.0)
    np.testing.assert_allclose(improvement, [2.0, 0.0, 0.0], atol=1e-300)


def test_the_improvement_still_ranks_hopeless_candidates() -> None:
    mean = np.linspace(0.0, 37.0, 500)
    improvement = expected_improvement(mean, np.ones(500), 0.0)
    assert (improvement > 0).all()
    assert (np.diff(improvement) < 0).all()


number = st.floats(-1e12, 1e12)


@given(number, st.floats(0.0, 1e12), number)
def test_the_improvement_is_never_negative_and_never_less_than_the_difference(
    mean: float, deviation: float, best: float
) -> None:
    improvement = expected_improvement(np.array([mean]), np.array([deviation]), best)[0]
    assert np.isfinite(improvement)
    assert improvement >= 0
    assert improvement >= (best - mean) * (1 - 1e-12)


@given(st.floats(-30.0, 30.0), st.integers(-300, 300))
def test_the_improvement_follows_the_unit(mean: float, exponent: int) -> None:
    unit = 2.0**exponent
    once = expected_improvement(np.array([mean]), np.array([1.0]), 0.0)
    np.testing.assert_allclose(expected_improvement(np.array([mean * unit]), np.array([unit]), 0.0), once * unit)
