"""Regions near a front, and how tolerances classify them."""

import numpy as np

from flexibo.methods.epsilon_pal import epsilon_classify
from flexibo.methods.pal import (
    OPEN,
    diagonals,
)


def boxes(m, k, seed=0, *, width=0.3, exact=0.0):
    """Regions near a front; a share of them is exact."""
    rng = np.random.default_rng(seed)
    middle = rng.random((m, k)) + 0.1
    middle *= (1.0 + 0.5 * rng.random((m, 1))) / np.linalg.norm(middle, axis=1, keepdims=True)
    half = width * rng.random((m, k)) * (rng.random((m, 1)) >= exact)
    return middle - half, middle + half


def covered(lower, upper, epsilon, status=None):
    before = np.full(len(lower), OPEN) if status is None else np.array(status)
    return epsilon_classify(lower, upper, diagonals(lower, upper), before, np.asarray(epsilon, dtype=float))
