"""The test functions: positions (m, d) in the unit cube to losses (m, n).

ZDT: Zitzler, Deb and Thiele 2000, "Comparison of multiobjective evolutionary algorithms: empirical results". DTLZ: Deb,
Thiele, Laumanns and Zitzler 2002, "Scalable multi-objective optimization test problems". In both, some columns of X
decide the position on the front (the first in ZDT, the first n - 1 in DTLZ) and the others the distance from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from flexibo._internal.arrays import FloatArray

Function: TypeAlias = Callable[[FloatArray, int], FloatArray]
"""Positions (m, d) and the number of objectives n to losses (m, n)."""


def zdt1(X: FloatArray, n: int = 2) -> FloatArray:
    """ZDT1: its front is convex, f2 = 1 - sqrt(f1)."""
    g = _zdt_distance(X)
    return np.column_stack([X[:, 0], g - np.sqrt(X[:, 0] * g)])


def zdt2(X: FloatArray, n: int = 2) -> FloatArray:
    """ZDT2: its front is concave, f2 = 1 - f1 ** 2."""
    g = _zdt_distance(X)
    return np.column_stack([X[:, 0], g - X[:, 0] ** 2 / g])


def zdt3(X: FloatArray, n: int = 2) -> FloatArray:
    """ZDT3: its front is five pieces of f2 = 1 - sqrt(f1) - f1 sin(10 pi f1)."""
    g = _zdt_distance(X)
    return np.column_stack([X[:, 0], g - np.sqrt(X[:, 0] * g) - X[:, 0] * np.sin(10.0 * np.pi * X[:, 0])])


def dtlz1(X: FloatArray, n: int) -> FloatArray:
    """DTLZ1: its front is the part of the plane where the losses sum to 1/2, behind many local fronts."""
    away = X[:, n - 1 :] - 0.5
    g = 100.0 * (1.0 + away**2 - np.cos(20.0 * np.pi * away)).sum(axis=1)
    return np.asarray(0.5 * (1.0 + g)[:, None] * _products(X[:, : n - 1], 1.0 - X[:, : n - 1]))


def dtlz2(X: FloatArray, n: int) -> FloatArray:
    """DTLZ2: its front is the part of the unit sphere where no loss is negative."""
    g = ((X[:, n - 1 :] - 0.5) ** 2).sum(axis=1)
    quarter = 0.5 * np.pi
    # The cosine as a sine of the complement: exactly 0 at the end of the quarter.
    along, across = np.sin(quarter * (1.0 - X[:, : n - 1])), np.sin(quarter * X[:, : n - 1])
    return np.asarray((1.0 + g)[:, None] * _products(along, across))


def dtlz7(X: FloatArray, n: int) -> FloatArray:
    """DTLZ7: its front is 2 ** (n - 1) pieces of fn = 2 n - sum of fi (1 + sin(3 pi fi))."""
    g = 1.0 + 9.0 * X[:, n - 1 :].mean(axis=1)
    F = X[:, : n - 1]
    return np.column_stack([F, (1.0 + g) * n - (F * (1.0 + np.sin(3.0 * np.pi * F))).sum(axis=1)])


def _zdt_distance(X: FloatArray) -> FloatArray:
    return np.asarray(1.0 + 9.0 * X[:, 1:].mean(axis=1))


def _products(along: FloatArray, across: FloatArray) -> FloatArray:
    """The shape (m, n) of a DTLZ front: column j multiplies the first n - 1 - j of `along` and the next of `across`."""
    m, positions = along.shape
    running = np.cumprod(np.column_stack([np.ones(m), along]), axis=1)
    return np.asarray(running[:, ::-1] * np.column_stack([np.ones(m), across[:, ::-1]])[:, : positions + 1])
