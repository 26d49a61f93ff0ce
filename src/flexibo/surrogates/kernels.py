"""Stationary kernels: correlation as a function of squared scaled distance.

A kernel is a correlation k(r2), with k(0) = 1, of r2 = sum_g |x_g - x'_g|^2 / l_g^2, where g runs over options and l_g
is the length scale of an option. To add one, write its two functions and add a line to `KERNELS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray


class Kernel(NamedTuple):
    """A correlation function and its derivative."""

    correlation: Callable[[FloatArray], FloatArray]  # r2 to k(r2); may overwrite r2
    with_slope: Callable[[FloatArray], tuple[FloatArray, FloatArray]]  # r2 to k(r2) and dk/dr2; may overwrite r2
    frequencies: Callable[[int, int, np.random.Generator], FloatArray]  # draws (count, d) of the spectral density


BLOCK = 2**15  # entries that a kernel is computed of at a time


def _matern52(r2: FloatArray) -> FloatArray:
    """(1 + t + t^2 / 3) exp(-t) with t = sqrt(5 r2); a block at a time, which stays in a processor's cache."""
    flat = r2.reshape(-1)  # a view: distances are contiguous
    for start in range(0, len(flat), BLOCK):
        _matern52_parts(flat[start : start + BLOCK])
    return flat.reshape(r2.shape)


def _matern52_with_slope(r2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The Matern 5/2 correlation and its slope, -5/6 (1 + t) exp(-t)."""
    k, t, decay = _matern52_parts(r2)
    t += 1.0
    t *= decay
    t *= -5.0 / 6.0
    return k, t


def _matern52_parts(r2: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The Matern 5/2 correlation, t and exp(-t); in place, as these passes dominate a prediction."""
    r2 *= 5.0
    t = np.sqrt(r2)
    decay = np.negative(t)
    np.exp(decay, out=decay)
    r2 *= 1.0 / 3.0
    r2 += t
    r2 += 1.0
    r2 *= decay
    return r2, t, decay


def _squared_exponential(r2: FloatArray) -> FloatArray:
    """exp(-r2 / 2)."""
    r2 *= -0.5
    return np.exp(r2, out=r2)


def _squared_exponential_with_slope(r2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The squared-exponential correlation and its slope, -k / 2."""
    k = _squared_exponential(r2)
    return k, -0.5 * k


def _normal_frequencies(count: int, d: int, rng: np.random.Generator) -> FloatArray:
    """The spectral density of the squared exponential: a standard normal."""
    return rng.standard_normal((count, d))


def _student_frequencies(count: int, d: int, rng: np.random.Generator) -> FloatArray:
    """The spectral density of Matern 5/2: a multivariate t with five degrees of freedom."""
    return np.asarray(rng.standard_normal((count, d)) / np.sqrt(rng.chisquare(5.0, (count, 1)) / 5.0))


KERNELS = {
    "matern52": Kernel(_matern52, _matern52_with_slope, _student_frequencies),
    "squared-exponential": Kernel(_squared_exponential, _squared_exponential_with_slope, _normal_frequencies),
}


def scaled(X: FloatArray, length_scales: FloatArray, groups: IntArray) -> FloatArray:
    """X (m, d) centred and divided by each column's length scale; centring keeps `squared_distances` accurate."""
    return (X - 0.5) / length_scales[groups]


def squared_distances(A: FloatArray, B: FloatArray) -> FloatArray:
    """Squared Euclidean distances (m, s) between the rows of A (m, d) and of B (s, d).

    |a - b|^2 = |a|^2 + |b|^2 - 2 ab as one matrix product: several times faster than a sum of squared
    differences; its rounding error, about 1e-16 |a|^2, is far below any noise variance in use.

    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[25.0, 0.0]]
    """
    r2 = rounded_distances(A, B)
    return np.maximum(r2, 0.0, out=r2)


def rounded_distances(A: FloatArray, B: FloatArray) -> FloatArray:
    """The same (m, s) as rounding left them: equal rows may have a distance slightly below zero."""
    a2 = np.einsum("ij,ij->i", A, A)[:, None]
    b2 = np.einsum("ij,ij->i", B, B)[:, None]
    left = np.hstack([A, a2, np.ones_like(a2)])
    right = np.hstack([-2.0 * B, np.ones_like(b2), b2])
    r2: FloatArray = left @ right.T
    return r2


def grouped_distances(X: FloatArray, groups: IntArray, pairs: IntArray) -> FloatArray:
    """Squared distances (g, p) of p pairs of rows of X (s, d), one line per group of columns.

    Weighted sums of these lines give r2 for any length scales, so they are computed once per fit. The pair of rows i
    and j is numbered i * s + j.
    """
    count = int(groups.max(initial=-1)) + 1
    distances = np.zeros((count, len(pairs)))
    for group in range(count):
        total = np.zeros((len(X), len(X)))
        for x in X.T[groups == group]:
            total += np.subtract.outer(x, x) ** 2
        np.take(total, pairs, out=distances[group])
    return distances
