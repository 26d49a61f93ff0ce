"""Designs that were not seen before, and how far designs are apart."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo.space._legal_designs import ENUMERATION_LIMIT
from flexibo.space.designs import Designs
from flexibo.space.space import Space

DRAWS = 100_000  # the most draws of fresh designs, or 50 per design wanted, where a rule forbids most designs


def distances(X: FloatArray, x: FloatArray) -> FloatArray:
    """The squared distance (m,) of each row of X (m, d) to x (d,)."""
    # Added column by column: ties, frequent among discrete options, are then the same on every machine.
    result = np.zeros(len(X))
    for column, value in zip(X.T, x, strict=True):
        result += (column - value) ** 2
    return result


def fresh(space: Space, seen: Collection[int], count: int, rng: np.random.Generator) -> Designs:
    """Up to `count` random legal designs whose keys are not in `seen`; none only if none is left or can be found."""
    # A draw gives distinct designs, so this many hold `count` new ones, if they exist.
    wanted = len(seen) + count
    drawn = space.sample(wanted, rng, draws=max(DRAWS, 50 * wanted))
    left = drawn[is_new(drawn, seen)][:count]
    if not len(left) and space.size <= ENUMERATION_LIMIT:
        every = space.enumerate()
        left = every[rng.permutation(np.flatnonzero(is_new(every, seen)))[:count]]
    return left


def is_new(designs: Designs, seen: Collection[int]) -> BoolArray:
    """Whether the key of each design (m,) is not in `seen`."""
    return np.fromiter((key not in seen for key in designs.keys().tolist()), dtype=np.bool_, count=len(designs))
