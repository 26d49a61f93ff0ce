"""The hypervolume: the volume of loss space that a set of designs dominates."""

from __future__ import annotations

import moocore
import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.pareto._exclusive import exclusive_volumes, surroundings
from flexibo.pareto.cells import non_dominated_cells

_TABLE_SIZE = 1 << 17  # cells times rows in one table: small enough for the cache, large enough to hide Python


def hypervolume(Y: FloatArray, reference: FloatArray) -> float:
    """The volume between the rows of Y (m, n) and the reference point (n,), exact up to rounding; 0 for no rows.

    Rows that are not better than the reference in every objective add nothing.

    >>> hypervolume(np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 0.0]]), np.array([2.0, 2.0]))
    3.0
    """
    inside = Y[np.all(reference > Y, axis=1)]
    if len(inside) == 0:
        return 0.0
    if Y.shape[1] == 1:
        return float(reference[0] - inside.min())
    return float(moocore.hypervolume(inside, ref=reference))


def hypervolumes(Y: FloatArray, reference: FloatArray) -> FloatArray:
    """The hypervolumes (q,) of q sets of m losses Y (q, m, n), exact up to rounding; rows at infinity add nothing.

    >>> hypervolumes(np.array([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 1.0], [np.inf, np.inf]]]), np.array([2.0, 2.0]))
    array([3., 1.])
    """
    if Y.shape[1] == 0 or Y.shape[2] != 2:
        if Y.shape[2] == 1:
            return np.array([hypervolume(losses, reference) for losses in Y])
        volume, better = moocore.Hypervolume(ref=reference), np.all(reference > Y, axis=2)
        return np.array([volume(losses[some]) if some.any() else 0.0 for losses, some in zip(Y, better, strict=True)])
    inside = np.minimum(Y, reference)
    order = np.argsort(inside[:, :, 0], axis=1)
    first, second = (np.take_along_axis(inside[:, :, j], order, axis=1) for j in (0, 1))
    # Strips along the first loss, each as high as the best second loss to its left.
    widths = np.diff(first, axis=1, append=reference[0])
    heights = reference[1] - np.minimum.accumulate(second, axis=1)
    return np.asarray((widths * heights).sum(axis=1))


def improvements(Y: FloatArray, front: FloatArray, reference: FloatArray) -> FloatArray:
    """What each row of Y (m, n), n at most 7, alone would add to the hypervolume of a front (f, n).

    It is exactly 0 where a row of the front dominates or equals it.

    >>> front, reference = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([3.0, 3.0])
    >>> improvements(np.array([[1.5, 1.5], [0.0, 2.5], [2.0, 1.0]]), front, reference)
    array([0.25, 0.5 , 0.  ])
    """
    if len(reference) <= 2:
        return _improvements_in_cells(Y, front, reference)
    nobody = np.zeros(0, dtype=np.int64)
    around = surroundings(Y, front, reference, (nobody, nobody))
    corner = np.flatnonzero(around.free & (reference > Y).all(axis=1))
    tops = np.broadcast_to(reference, (len(corner), len(reference)))
    result = np.zeros(len(Y))
    result[corner] = exclusive_volumes(around, corner, tops, (nobody, np.zeros((0, len(reference)))))
    return result


def _improvements_in_cells(Y: FloatArray, front: FloatArray, reference: FloatArray) -> FloatArray:
    """`improvements` as a sum over the cells that a front leaves, which are few in the plane."""
    lower, upper = non_dominated_cells(front, reference)
    parts = [np.zeros(0)]
    step = max(1, _TABLE_SIZE // len(lower))
    for start in range(0, len(Y), step):
        volume = np.ones(1)
        for j, low in enumerate(lower.T):
            sizes = upper[:, j, None] - np.maximum(low[:, None], Y[start : start + step, j])
            volume = volume * np.maximum(sizes, 0.0)
        parts.append(volume.sum(axis=0))
    return np.concatenate(parts)
