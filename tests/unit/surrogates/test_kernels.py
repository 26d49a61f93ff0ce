from __future__ import annotations

import numpy as np
import pytest
from tests.unit.surrogates.grouped_data import GROUPS, data

from flexibo.surrogates.kernels import KERNELS, grouped_distances, scaled, squared_distances


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_is_1_at_distance_0_and_its_slope_is_its_derivative(kernel):
    r2 = np.array([0.0, 0.01, 0.5, 2.0, 9.0])
    k, slope = KERNELS[kernel].with_slope(r2.copy())
    assert k[0] == 1.0
    np.testing.assert_array_equal(KERNELS[kernel].correlation(r2.copy()), k)
    step = 1e-6
    above, below = KERNELS[kernel].correlation(r2[1:] + step), KERNELS[kernel].correlation(r2[1:] - step)
    np.testing.assert_allclose(slope[1:], (above - below) / (2.0 * step), rtol=1e-6)


def test_squared_distances_are_sums_of_squared_differences():
    A, B = np.random.default_rng(0).random((7, 4)), np.random.default_rng(1).random((5, 4))
    expected = ((A[:, None] - B) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_distances(A, B), expected, atol=1e-14)
    assert (squared_distances(A, A) >= 0.0).all()


def test_grouped_distances_add_up_the_columns_of_each_option():
    X, _ = data(5)
    distances = grouped_distances(X, GROUPS, np.array([0 * 5 + 3, 1 * 5 + 4]))
    squares = (X[[0, 1]] - X[[3, 4]]) ** 2
    np.testing.assert_allclose(distances, [squares[:, :2].sum(axis=1), squares[:, 2], squares[:, 3]])


def test_correlations_have_their_closed_forms():
    assert KERNELS["squared-exponential"].correlation(np.array([4.0])) == pytest.approx(np.exp(-2.0))
    t = np.sqrt(5.0) * 2.0
    assert KERNELS["matern52"].correlation(np.array([4.0])) == pytest.approx((1.0 + t + t * t / 3.0) * np.exp(-t))


@pytest.mark.parametrize("kernel", KERNELS)
def test_waves_of_the_drawn_frequencies_average_to_the_kernel(kernel):
    omega = KERNELS[kernel].frequencies(100_000, 2, np.random.default_rng(0))
    for x in (np.array([0.3, 0.0]), np.array([0.8, -0.6]), np.array([1.0, 2.0])):
        expected = KERNELS[kernel].correlation(np.array([x @ x]))[0]
        assert np.cos(omega @ x).mean() == pytest.approx(expected, abs=0.01)


def test_each_column_is_centred_and_divided_by_the_length_scale_of_its_option():
    X = np.array([[0.5, 1.0, 0.0]])
    assert scaled(X, np.array([0.5, 2.0]), np.array([1, 0, 0])).tolist() == [[0.0, 1.0, -1.0]]


def test_without_columns_there_are_no_distances():
    assert grouped_distances(np.empty((3, 0)), np.empty(0, dtype=np.int64), np.array([1, 2])).shape == (0, 2)
    assert squared_distances(np.empty((2, 0)), np.empty((3, 0))).tolist() == [[0.0] * 3] * 2
