"""Scalarisation: several losses as one, and what an evaluation is expected to improve it by.

Shared by the methods that scalarise, `parego` and `camobo`. Letters: k optimised losses, m candidates.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from scipy.special import ndtr

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.belief import Belief

RHO = 0.05  # weight of the sum in the augmented Chebyshev scalarisation (Knowles 2006)
NO_RANGE = 1e-12  # losses that differ by less than this share of their size do not differ
FARTHEST = 40.0  # this many standard deviations away the normal density is 0 in floating point


def lattice(k: int, divisions: int) -> FloatArray:
    """Every weight vector whose k entries are multiples of 1 / divisions and sum to 1.

    There are (divisions + k - 1) choose (k - 1) of them.

    >>> lattice(2, 2).tolist()
    [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    """
    # The places of k - 1 bars among the divisions decide how many divisions each entry gets.
    last = divisions + k - 1
    places = np.array([(-1, *bars, last) for bars in combinations(range(last), k - 1)])
    return (np.diff(places, axis=1) - 1) / divisions


def normalised(Y: FloatArray, among: FloatArray) -> FloatArray:
    """Y (m, k), scaled to 0 at the least and 1 at the greatest loss `among` (s, k); 0 where these are all the same."""
    low, high = among.min(axis=0), among.max(axis=0)
    flat = high - low <= NO_RANGE * np.maximum(np.abs(low), np.abs(high))
    return np.where(flat, 0.0, (Y - low) / np.where(flat, 1.0, high - low))


def augmented_chebyshev(Y: FloatArray, weights: FloatArray, *, rho: float = RHO) -> FloatArray:
    """max_j w_j y_j + rho sum_j w_j y_j of losses (m, k) for weights (k,): (m,).

    >>> augmented_chebyshev(np.array([[0.5, 1.0]]), np.array([0.8, 0.2])).round(12).tolist()
    [0.43]
    """
    weighted = Y * weights
    return np.asarray(weighted.max(axis=1) + rho * weighted.sum(axis=1))


def expected_improvement(mean: FloatArray, deviation: FloatArray, best: float) -> FloatArray:
    """E max(best - y, 0) of normal losses y (m,) given means and standard deviations (m,), which may be 0.

    It is (best - mean) Phi(u) + deviation phi(u) with u = (best - mean) / deviation. Far below u = 0 the terms nearly
    cancel, but no worse than to a relative error of u^2 roundings, and where |u| > 38 both underflow.
    """
    gain = best - mean
    certain = deviation <= 0
    with np.errstate(over="ignore"):  # a tiny standard deviation: infinitely many of them away
        standard = np.clip(gain / np.where(certain, 1.0, deviation), -FARTHEST, FARTHEST)
    density = np.exp(-0.5 * standard**2) / math.sqrt(2.0 * math.pi)
    improvement = np.where(certain, gain, gain * ndtr(standard) + deviation * density)
    return np.maximum(improvement, 0.0)


def measured(belief: Belief) -> IntArray:
    """The candidates (s,) whose optimised losses are all known, one for each distinct set of measurements.

    Candidates that differ only in options that no optimised loss depends on were measured together and say the same.
    """
    columns = list(belief.optimised)
    rows = np.flatnonzero(belief.known[:, columns].all(axis=1))
    _, first = np.unique(belief.keys[rows][:, columns], axis=0, return_index=True)
    return rows[np.sort(first)]
