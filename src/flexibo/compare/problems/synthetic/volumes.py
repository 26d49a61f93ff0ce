"""The hypervolumes of the true fronts of ZDT and DTLZ, in closed form or as an integral over one axis."""

from __future__ import annotations

import math

import numpy as np

from flexibo._internal.arrays import FloatArray

N_STEPS = 200_001


def area_below(heights: FloatArray, places: FloatArray) -> float:
    """The integral of a curve given by its heights (k,) at increasing places (k,), by the trapezoidal rule."""
    return float(0.5 * np.dot(heights[1:] + heights[:-1], np.diff(places)))


def zdt1_volume(reference: FloatArray) -> float:
    """The volume of ZDT1: the box up to the reference, less the integral of 1 - sqrt(t)."""
    return float(reference.prod()) - 1.0 / 3.0


def zdt2_volume(reference: FloatArray) -> float:
    """The volume of ZDT2: the box up to the reference, less the integral of 1 - t ** 2."""
    return float(reference.prod()) - 2.0 / 3.0


def zdt3_volume(reference: FloatArray) -> float:
    """The volume of ZDT3: the box up to the reference, less the integral of the lowest point of the curve so far."""
    root = np.linspace(0.0, 1.0, N_STEPS)
    curve = 1.0 - root - root**2 * np.sin(10.0 * np.pi * root**2)
    lowest = np.minimum.accumulate(curve)
    below = area_below(lowest * 2.0 * root, root) + (reference[0] - 1.0) * lowest[-1]
    return float(reference.prod() - below)


def dtlz1_volume(reference: FloatArray) -> float:
    """The volume of DTLZ1: the box up to the reference, less a simplex with edges of 1/2."""
    n = len(reference)
    return float(reference.prod() - 0.5**n / math.factorial(n))


def dtlz2_volume(reference: FloatArray) -> float:
    """The volume of DTLZ2: the box up to the reference, less one orthant of the unit ball."""
    n = len(reference)
    return float(reference.prod() - (0.25 * math.pi) ** (n / 2) / math.gamma(n / 2 + 1))


def dtlz7_volume(reference: FloatArray) -> float:
    """The volume of DTLZ7, whose last loss on the front is 2 n less a sum of q(t) = t (1 + sin(3 pi t)) of the others.

    The best for given others is the sum of the highest q so far, one axis at a time; all others share a bound, at least
    1, and the last bound is at least 2 n.
    """
    n, side = len(reference), float(reference[0])
    t = np.linspace(0.0, 1.0, N_STEPS)
    highest = np.maximum.accumulate(t * (1.0 + np.sin(3.0 * np.pi * t)))
    area = area_below(highest, t) + (side - 1.0) * highest[-1]
    return float(side ** (n - 1) * (reference[-1] - 2.0 * n) + (n - 1) * side ** (n - 2) * area)
