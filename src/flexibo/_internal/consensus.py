"""The consensus of values with error bars: their mean, and the variance that they have in common beside their own."""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import FloatArray

STEPS = 100  # at most; about ten are usual
ACCURACY = 1e-12
SMALL = 1e-9  # a variance of this share of the least one is as good as 0


def consensus(y: FloatArray, variances: FloatArray, *, unbiased: bool = False) -> tuple[float, float]:
    """The mean and the common variance of values y (s,), each with noise of its own variance (s,).

    y_i is normal with the variance common + variances_i, and the common part maximises the likelihood; if `unbiased`,
    the restricted one, which counts a degree of freedom less (Harville, Maximum Likelihood Approaches to Variance
    Component Estimation, 1977). It is 0 if the values differ by less than their own variances explain.

    >>> y = np.array([1.0, 2.0, 6.0])
    >>> consensus(y, np.zeros(3)), consensus(y, np.zeros(3), unbiased=True)
    ((3.0, 4.666666666666667), (3.0, 7.0))
    >>> consensus(np.array([1.0, 3.0]), np.array([1.0, 3.0]))
    (1.5, 0.0)
    """
    if not variances.any():
        mean = float(y.mean())
        return mean, float(((y - mean) ** 2).sum()) / max(len(y) - unbiased, 1)
    least, middle = _least(y, variances), float(np.median(y))
    common, mean = max(float(np.median((y - middle) ** 2)), least), middle
    for _ in range(STEPS):  # Fisher scoring
        weights = 1.0 / (variances + common)
        total, squares = float(weights.sum()), float(weights @ weights)
        mean = float(weights @ y) / total
        excess = float(weights**2 @ ((y - mean) ** 2 - variances))
        before, common = common, max(excess / squares + unbiased / total, least)
        if abs(common - before) <= ACCURACY * common:
            break
    return mean, common


def _least(y: FloatArray, variances: FloatArray) -> float:
    """The least common variance: 0, or far below all others if some values are exact."""
    exact = variances == 0.0
    if not exact.any():
        return 0.0
    least = float(variances[~exact].min())
    apart = float(np.ptp(y[exact])) ** 2
    return SMALL * (min(least, apart) if apart > 0.0 else least)
