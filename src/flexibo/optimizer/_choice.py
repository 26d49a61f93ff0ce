"""Choosing a cell of the score table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo.belief.belief import Belief


def choose(
    scores: FloatArray,
    belief: Belief,
    allowed: BoolArray,
    rng: np.random.Generator,
    *,
    fallbacks: Sequence[BoolArray] = (),
) -> tuple[int, int] | None:
    """The candidate and the bundle with the best score, among the allowed; None if nothing scores.

    The scores (m, b) of a cost-aware method are divided by theta. If none is above 0, it is the widest open interval
    per cost among the first of the fallbacks (sets of candidates) that has one. `rng` breaks ties, after the lowest
    cost.
    """
    tables = [np.where(allowed, scores, -np.inf)]
    if fallbacks:
        # The quantities have units of their own; the widest of each counts as one. A decided constraint adds nothing.
        decided = (belief.lower > belief.limits) | (belief.upper <= belief.limits)
        decided[:, list(belief.optimised)] = False
        widest = belief.sigma.max(axis=0)
        spread = np.where(decided & np.isfinite(belief.limits), 0.0, belief.sigma / np.where(widest > 0, widest, 1.0))
        width = np.stack([spread[:, list(bundle)].sum(axis=1) for bundle in belief.bundles], axis=1)
        tables += [np.where(allowed & among[:, None], width / belief.thetas, -np.inf) for among in fallbacks]
    return next((best_cell(table, belief.prices, rng) for table in tables if table.max() > 0), None)


def best_cell(table: FloatArray, prices: FloatArray, rng: np.random.Generator) -> tuple[int, int]:
    """The row and column with the greatest entry of a table (m, b); ties: the lowest price, then a draw."""
    ties = np.argwhere(table == table.max())
    costs = prices[ties[:, 0], ties[:, 1]]
    ties = ties[costs == costs.min()]
    i, b = ties[rng.integers(len(ties))]
    return int(i), int(b)


def second_best(
    scores: FloatArray, belief: Belief, allowed: BoolArray, chosen: tuple[int, int]
) -> tuple[int, int] | None:
    """The candidate and the bundle with the best score beside the chosen one; None if nothing else scores.

    Candidates that must have the same values as the chosen one are the same question.
    """
    i, b = chosen
    members = list(belief.bundles[b])
    table = np.where(allowed, scores, -np.inf)
    table[(belief.keys[:, members] == belief.keys[i, members]).all(axis=1), b] = -np.inf
    best = divmod(int(np.argmax(table)), table.shape[1])
    return best if table[best] > 0 else None
