"""The hypervolume: how much of loss space a set of designs dominates."""

from __future__ import annotations

import moocore
import numpy as np

from flexibo.arrays import FloatArray


def hypervolume(Y: FloatArray, reference: FloatArray) -> float:
    """The volume between the rows of Y and the reference point, 0 for no rows.

    Args:
        Y: Losses, shape (m, n). Rows that are not better than the reference in every objective add nothing.
        reference: The reference point, shape (n,).

    Returns:
        The dominated volume, exact up to rounding.

    >>> hypervolume(np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 0.0]]), np.array([2.0, 2.0]))
    3.0
    """
    inside = Y[np.all(reference > Y, axis=1)]
    if len(inside) == 0:
        return 0.0
    if Y.shape[1] == 1:
        return float(reference[0] - inside.min())
    return float(moocore.hypervolume(inside, ref=reference))
