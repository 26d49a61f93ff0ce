"""Branin and Currin's functions on the unit square, as paired by Belakaria et al. 2019 for MESMO, and their front.

The front has no closed form, but can be computed. Branin's function is (v - ridge(u)) ** 2 + floor(u), with
u and v the scaled options, and Currin's falls as v rises. So of all designs with some u and a Branin of at most b, the
one with v = ridge(u) + sqrt(b - floor(u)), or with v at its upper bound, is the best; the best u is found by a search
along one axis with increasing resolution.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.problems.synthetic.volumes import area_below

N_LEVELS = 4_001
"""The number of levels of Branin's function at which the front is computed."""

N_STEPS = 101
N_ZOOMS = 6
ROUNDING = 1e-14
LOWEST = np.pi * np.array([-1.0, 1.0, 3.0])
"""The minima of Branin's function in u; levels just above the minimum are reached only next to these."""

LEAST = 10.0 / (8.0 * math.pi)
"""The minimum of Branin's function."""


def branin_currin(X: FloatArray, n: int = 2) -> FloatArray:
    """Branin's and Currin's functions (m, 2) at positions (m, 2)."""
    u, v = 15.0 * X[:, 0] - 5.0, 15.0 * X[:, 1]
    return np.column_stack([(v - _ridge(u)) ** 2 + _floor(u), _currin(X[:, 0], X[:, 1])])


@lru_cache(maxsize=1)
def front_and_volume(reference: tuple[float, float] = (18.0, 6.0)) -> tuple[FloatArray, float]:
    """A dense sample (k, 2) of the front, ordered by Branin's function, and the hypervolume of the front.

    Levels of Branin's function are dense near its minimum, where the front is as steep as a square root. The volume is
    the integral by the trapezoidal rule; it is accurate to about 1e-6.
    """
    root = np.linspace(0.0, math.sqrt(reference[0] - LEAST), N_LEVELS)
    currin = np.minimum.accumulate(_least_currin(LEAST + root**2))
    volume = area_below((reference[1] - currin) * 2.0 * root, root)
    # Beyond the minimum of Currin's function the curve is constant: no front.
    last = int(np.argmax(currin <= currin[-1] + 1e-12))
    return np.column_stack([LEAST + root**2, currin])[: last + 1], volume


def _least_currin(levels: FloatArray) -> FloatArray:
    """The minimal Currin (k,) where Branin is at most a level (k,); each zoom searches around the previous best."""
    low, high = np.zeros(len(levels)), np.ones(len(levels))
    rows = np.arange(len(levels))
    best = np.full(len(levels), np.inf)
    for _ in range(N_ZOOMS):
        x = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, N_STEPS)
        x = np.column_stack([x, np.tile((LOWEST + 5.0) / 15.0, (len(x), 1))])
        u = 15.0 * x - 5.0
        spare = levels[:, None] - _floor(u) + ROUNDING
        v = np.minimum(_ridge(u) + np.sqrt(np.maximum(spare, 0.0)), 15.0)
        reachable = (spare >= 0.0) & (v >= 0.0)
        # v at its bound may be too far below the ridge for the level.
        reachable &= (v - _ridge(u)) ** 2 <= spare + ROUNDING
        currin = np.where(reachable, _currin(x, np.maximum(v, 0.0) / 15.0), np.inf)
        found = currin.argmin(axis=1)
        best = np.minimum(best, currin[rows, found])
        step, centre = (high - low) / (N_STEPS - 1), x[rows, found]
        low, high = np.maximum(centre - 2.0 * step, 0.0), np.minimum(centre + 2.0 * step, 1.0)
    return best


def _ridge(u: FloatArray) -> FloatArray:
    return np.asarray(5.1 / (4.0 * math.pi**2) * u**2 - 5.0 / math.pi * u + 6.0)


def _floor(u: FloatArray) -> FloatArray:
    return np.asarray(10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * np.cos(u) + 10.0)


def _currin(x: FloatArray, y: FloatArray) -> FloatArray:
    damping = 1.0 - np.exp(-0.5 / np.maximum(y, 1e-300))
    above = ((2300.0 * x + 1900.0) * x + 2092.0) * x + 60.0
    return np.asarray(damping * above / (((100.0 * x + 500.0) * x + 4.0) * x + 20.0))
