"""The knee of a front: the compromise from which every gain in one loss costs most of the others."""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import FloatArray


def knee(Y: FloatArray) -> int | None:
    """The row of the front Y (f, k) that lies farthest in front of the plane through the best of each loss.

    With every loss scaled to the range of the front, it is the row with the least sum; for two losses, the one that is
    farthest from the line between the two ends (Das 1999). None if no row is in front of that plane, or if the row is
    the best in some loss: then the front has no bulge.

    >>> knee(np.array([[0.0, 10.0], [1.0, 2.0], [10.0, 0.0]]))
    1
    >>> knee(np.array([[0.0, 10.0], [5.0, 5.0], [10.0, 0.0]])) is None
    True
    """
    if len(Y) < 3 or not (np.ptp(Y, axis=0) > 0).all():
        return None
    scaled = (Y - Y.min(axis=0)) / np.ptp(Y, axis=0)
    sums = scaled.sum(axis=1)
    found = int(np.argmin(sums))
    ends = sums[(scaled == 0.0).any(axis=1)]
    return found if sums[found] < ends.min() * (1.0 - 1e-9) else None
