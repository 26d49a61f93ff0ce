"""Cells: the part of loss space that a front leaves undominated, cut into disjoint boxes.

An integral over that part is then a sum over boxes. There are few of them: 1 for one objective, f + 1 in the plane,
2 f + 1 in space for f losses in general position, and more for each further objective.

The sweep runs along the last axis. It keeps the boxes that are still open upwards, closes those that a row of the front
cuts into, and opens what the row leaves of them, with neighbours joined.
"""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import FloatArray


def non_dominated_cells(front: FloatArray, reference: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Disjoint boxes that make up what is below the reference point and not dominated or equalled by a front.

    Given as lower corners, minus infinity where a box has no end, and upper corners, which are not part of it (c, k).
    Dominated rows of the front (f, k), copies, and rows not better than the reference (k,) change nothing.

    >>> lower, upper = non_dominated_cells(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([3.0, 3.0]))
    >>> lower.tolist()
    [[-inf, -inf], [1.0, -inf], [2.0, -inf]]
    >>> upper.tolist()
    [[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]]
    """
    front = front[(front < reference).all(axis=1)]
    if len(reference) == 1:
        return np.full((1, 1), -np.inf), np.append(front[:, 0], reference).min(keepdims=True)[None]
    if len(reference) == 2:
        return _strips(front, reference)
    return _columns(front, reference)


def _strips(front: FloatArray, reference: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The boxes of a front in the plane: one strip before, between and behind its losses."""
    front = front[np.lexsort((front[:, 1], front[:, 0]))]
    before = np.minimum.accumulate(np.append(reference[1], front[:, 1]))
    stairs = front[front[:, 1] < before[:-1]]
    upper = np.column_stack([np.append(stairs[:, 0], reference[0]), np.append(reference[1], stairs[:, 1])])
    lower = np.full(upper.shape, -np.inf)
    lower[1:, 0] = stairs[:, 0]
    return lower, upper


def _columns(front: FloatArray, reference: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The boxes of a front in three dimensions or more, by the sweep."""
    lower, upper = np.full((1, len(reference)), -np.inf), reference[None]
    closed = []
    for row in front[np.argsort(front[:, -1], kind="stable")]:
        reached = (upper[:, :-1] > row[:-1]).all(axis=1)
        if not reached.any():
            continue
        low, high = lower[reached], upper[reached]
        begun = low[:, -1] < row[-1]
        closed.append((low[begun], _moved(high[begun], -1, row)))
        pieces = _pieces(_moved(low, -1, row), high, row)
        lower = np.concatenate([lower[~reached], pieces[0]])
        upper = np.concatenate([upper[~reached], pieces[1]])
    closed.append((lower, upper))
    return np.concatenate([low for low, _ in closed]), np.concatenate([high for _, high in closed])


def _pieces(low: FloatArray, high: FloatArray, row: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What a row leaves of the boxes that it cuts: below it along one axis, not below it along the axes before."""
    lows, highs = [], []
    for j in range(len(row) - 1):
        below = low[:, j] < row[j]
        lows.append(low[below])
        highs.append(_moved(high[below], j, row))
        low = low.copy()
        low[:, j] = np.maximum(low[:, j], row[j])
    low, high = np.concatenate(lows), np.concatenate(highs)
    for j in range(len(row) - 1):
        low, high = _joined(low, high, j)
    return low, high


def _moved(corner: FloatArray, j: int, row: FloatArray) -> FloatArray:
    """The corners with the value of a row in axis j."""
    corner = corner.copy()
    corner[:, j] = row[j]
    return corner


def _joined(low: FloatArray, high: FloatArray, j: int) -> tuple[FloatArray, FloatArray]:
    """The boxes, with those that touch along axis j and agree in all other axes merged."""
    if len(low) < 2:
        return low, high
    others = np.delete(np.hstack([low, high]), [j, low.shape[1] + j], axis=1)
    order = np.lexsort((low[:, j], *others.T))
    low, high, others = low[order], high[order], others[order]
    touch = (high[:-1, j] == low[1:, j]) & (others[1:] == others[:-1]).all(axis=1)
    first, last = np.append(True, ~touch), np.append(~touch, True)
    joined = high[first]
    joined[:, j] = high[last, j]
    return low[first], joined
