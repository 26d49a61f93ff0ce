"""What methods share whose score of a bundle is the sum of the scores of its quantities."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import entr

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo.belief.belief import Belief
from flexibo.pareto.dominance import strictly_dominated


def bundled(scores: FloatArray, bundles: Sequence[Sequence[int]]) -> FloatArray:
    """The sums (m, b) of scores (m, n) over the quantities of each bundle.

    >>> bundled(np.array([[1.0, 2.0, 4.0]]), ((0, 2), (1,))).tolist()
    [[5.0, 2.0]]
    """
    return np.stack([scores[:, list(bundle)].sum(axis=1) for bundle in bundles], axis=1)


def with_constraints(scores: FloatArray, belief: Belief) -> FloatArray:
    """Scores (m, n) of a method that knows of objectives only, with scores for the constraints.

    Our rule, for no paper has one: a constraint is worth measuring where the objectives are, and where it is open
    whether it holds. A quantity that is limited and not optimised scores the binary entropy of its probability of being
    legal (in bits, at most 1) times the sum of the design's objective scores. A design whose objectives are all
    known, so that they score nothing, and which no known legal design dominates, has the greatest such sum instead:
    its constraints decide whether it belongs to the result. Columns of objectives stay as they are.
    """
    pure = [j for j in np.flatnonzero(np.isfinite(belief.limits)).tolist() if j not in belief.optimised]
    if not pure:
        return scores
    worth = scores[:, list(belief.optimised)].sum(axis=1)
    worth = np.where(_undecided(belief), worth.max(initial=0.0), worth)
    result = np.array(scores)
    for j in pure:
        result[:, j] = worth * _binary_entropy(belief, j)
    return np.asarray(result)


def _binary_entropy(belief: Belief, column: int) -> FloatArray:
    """How open it is whether each design's quantity is legal (m,), in bits; 0 where it is known."""
    p = belief.feasible([column])
    return np.asarray((entr(p) + entr(1.0 - p)) / math.log(2.0))


def _undecided(belief: Belief) -> BoolArray:
    """The designs whose objectives are all known and not dominated by a known legal design (m,)."""
    columns = list(belief.optimised)
    result = np.asarray(belief.known[:, columns].all(axis=1))
    result[result] = ~strictly_dominated(belief.mu[result][:, columns], belief.front())
    return result
