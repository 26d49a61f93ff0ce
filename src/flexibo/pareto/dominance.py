"""Pareto dominance between rows of losses (lower is better)."""

from __future__ import annotations

import moocore
import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray

_TABLE_SIZE = 1 << 18  # rows times columns of one comparison table: fits into the cache, and hides Python


def non_dominated(Y: FloatArray) -> BoolArray:
    """Which rows of Y (m, n) no other row strictly dominates: a mask (m,); every copy of a duplicate row is kept.

    >>> non_dominated(np.array([[1.0, 2.0], [2.0, 1.0], [2.0, 2.0], [1.0, 2.0]])).tolist()
    [True, True, False, True]
    """
    m, n = Y.shape
    if m == 0:
        return np.zeros(0, dtype=np.bool_)
    if n == 1:
        return np.asarray(Y[:, 0] == Y.min(), dtype=np.bool_)
    if n > 2:
        return np.asarray(moocore.is_nondominated(Y, keep_weakly=True), dtype=np.bool_)
    # In the plane, a row with a lower second loss to its left is not on the front; few rows are left to compare.
    order = np.argsort(Y[:, 0])
    second = Y[order, 1]
    some = order[second <= np.minimum.accumulate(second)]
    result = np.zeros(m, dtype=np.bool_)
    result[some] = moocore.is_nondominated(Y[some], keep_weakly=True)
    return result


def finite_front(corners: FloatArray) -> BoolArray:
    """The mask (m,) of the corners (m, k) that no other strictly dominates, without those at infinity."""
    front = corners[:, 0] < np.inf
    if front.all():
        return non_dominated(corners)
    front[front] = non_dominated(corners[front])
    return front


def strictly_dominated(Y: FloatArray, front: FloatArray) -> BoolArray:
    """Which rows of Y (m, n) a row of a front (f, n) dominates: at least as good in every loss, better in one.

    The rows of the front must not dominate each other.

    >>> strictly_dominated(np.array([[1.0, 2.0], [2.0, 2.0], [0.0, 3.0]]), np.array([[1.0, 2.0]])).tolist()
    [False, True, False]
    """
    found = _dominators(Y, front)
    result = found >= 0
    # Only copies of a row of the front weakly dominate a row that equals it.
    result[result] = (front[found[result]] != Y[result]).any(axis=1)
    return result


def _dominators(Y: FloatArray, front: FloatArray) -> IntArray:
    """For each row of Y one row of the front that equals or dominates it, or -1: shape (m,)."""
    if len(Y) == 0 or len(front) == 0:
        return np.full(len(Y), -1, dtype=np.int64)
    if Y.shape[1] == 2:
        return _plane_dominators(Y, front)
    result = np.empty(len(Y), dtype=np.int64)
    step = max(1, _TABLE_SIZE // len(front))
    for start in range(0, len(Y), step):
        rows = Y[start : start + step]
        weak = front[:, 0] <= rows[:, 0, None]
        for j in range(1, Y.shape[1]):
            weak &= front[:, j] <= rows[:, j, None]
        found = weak.argmax(axis=1)
        result[start : start + step] = np.where(weak[np.arange(len(rows)), found], found, -1)
    return result


def _plane_dominators(Y: FloatArray, front: FloatArray) -> IntArray:
    """The same by binary search: along a front in the plane one loss rises while the other falls."""
    order = np.argsort(front[:, 0])
    last = np.searchsorted(front[order, 0], Y[:, 0], side="right") - 1
    found = order[last]
    return np.where((last >= 0) & (front[found, 1] <= Y[:, 1]), found, -1)
