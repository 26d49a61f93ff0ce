"""Sampled Pareto sets: joint draws of every loss over the candidates, and which are optimal in each draw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo.belief.belief import Belief
from flexibo.pareto import non_dominated


def draws(belief: Belief, count: int, rng: np.random.Generator) -> FloatArray:
    """Joint draws (count, m, n) of all losses over the candidates; what is known exactly has that loss in each."""
    return np.stack([joint.draws(count, rng) for joint in belief.joints], axis=-1)


def sampled_sets(belief: Belief, count: int, rng: np.random.Generator, *, most: int | None = None) -> list[IntArray]:
    """The Pareto set of each of `count` joint draws: ascending rows, at most `most`, spread along the front."""
    return [pareto_set(Y, belief.optimised, belief.limits, most=most) for Y in draws(belief, count, rng)]


def pareto_set(Y: FloatArray, optimised: Sequence[int], limits: FloatArray, *, most: int | None = None) -> IntArray:
    """The rows of Y (m, n) that no legal row dominates, one for each distinct vector of losses, ascending.

    Where no row is within the limits (n,), they are ignored: the set then holds what is good, if not what is legal. At
    most `most` rows stay, spread evenly along the front.

    >>> Y = np.array([[0.0, 3.0, 9.0], [1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [2.0, 2.0, 0.0], [1.0, 2.0, 1.0]])
    >>> pareto_set(Y, (0, 1), np.array([np.inf, np.inf, 5.0])).tolist()
    [1, 2]
    """
    legal = within(Y, limits)
    rows = np.flatnonzero(legal) if legal.any() else np.arange(len(Y))
    losses = Y[np.ix_(rows, np.asarray(optimised, dtype=np.int64))]
    best = non_dominated(losses)
    rows, losses = rows[best], losses[best]
    _, first = np.unique(losses, axis=0, return_index=True)
    first.sort()
    rows, losses = rows[first], losses[first]
    if most is None or len(rows) <= most:
        return rows
    return rows[np.sort(_spread(losses, most))]


def within(Y: FloatArray, limits: FloatArray) -> BoolArray:
    """The rows whose losses (..., n) are all within the limits (n,): shape (...)."""
    limited = np.flatnonzero(np.isfinite(limits))
    return np.asarray((Y[..., limited] <= limits[limited]).all(axis=-1))


def _spread(front: FloatArray, most: int) -> IntArray:
    """Rows of a front (f, k) far apart from each other: the best of each loss, then the farthest from all."""
    low = front.min(axis=0)
    width = front.max(axis=0) - low
    scaled = (front - low) / np.where(width > 0, width, 1.0)
    chosen: list[int] = []
    gap = np.full(len(front), np.inf)
    ends = list(dict.fromkeys(scaled.argmin(axis=0).tolist()))
    while len(chosen) < most:
        row = ends[len(chosen)] if len(chosen) < len(ends) else int(gap.argmax())
        chosen.append(row)
        gap = np.minimum(gap, ((scaled - scaled[row]) ** 2).sum(axis=1))
    return np.array(chosen, dtype=np.int64)
