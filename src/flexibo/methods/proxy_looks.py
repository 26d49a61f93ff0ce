"""Whether a proxy of an objective is read before a design is completed.

Reading a proxy for c_x tells something of the loss of its objective: it moves by r of its standard deviations per one
of the reading's own, r being the correlation in the model, at most what designs with both readings support
(`flexibo.belief.levels`). Then the design is completed, for all that it lacks, only if that is still worth it. So it is
a look as one at an early stop (`flexibo.methods.how_far`), with one difference: nothing of its price is saved later.
Its rate is the greatest of sum p(z) G(z) / (c_x + c sum p(z)) over all sets of outcomes z after which one goes on, and
it may be below that of completing the design at once, G / c. Then the proxy is not read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo.belief.belief import Belief
from flexibo.methods.how_far import WEIGHTS, best_rates

WORTH = 1.02  # the rate with the proxy must be this many times that without it

Given: TypeAlias = Callable[[IntArray, int, FloatArray], FloatArray]
"""From candidates (k,), a quantity, and the correlations (k,) of what is read with it, to what completing them adds
(q, k) after each of `flexibo.methods.how_far.NODES` was read."""


@dataclass(frozen=True, slots=True)
class ProxyLooks:
    """The proxy that is best read first, of m candidates."""

    bundle: IntArray  # (m,): that of the proxy; -1 if none is worth it
    quantity: IntArray  # (m,): what it tells of
    lift: FloatArray  # (m,): the rate as a multiple of that of completing the candidate at once
    correlation: FloatArray  # (m,): of what is read with what counts


def proxy_looks(belief: Belief, rows: IntArray, given: Given, parts: BoolArray) -> ProxyLooks:
    """The proxy that is worth most of each of some candidates (r,), which lack the bundles `parts` (m, b)."""
    m = len(belief.mu)
    best = ProxyLooks(np.full(m, -1), np.zeros(m, dtype=np.int64), np.ones(m), np.zeros(m))
    for j, prediction in enumerate(belief.joints):
        for k, bundle in enumerate(belief.price_list.proxies[j] if prediction.levels is not None else ()):
            here = rows[belief.open[rows, bundle] & ~belief.known[rows, j]]
            r = prediction.correlation(here, k)
            if not r.any():
                continue
            lift = _lift(belief, here, bundle, given(here, j, r), parts)
            better = lift > np.maximum(best.lift[here], WORTH)
            for known, new in ((best.bundle, bundle), (best.quantity, j), (best.lift, lift), (best.correlation, r)):
                known[here] = np.where(better, new, known[here])
    return best


def _lift(belief: Belief, rows: IntArray, bundle: int, outcomes: FloatArray, parts: BoolArray) -> FloatArray:
    """The rate of reading a proxy of some candidates (r,) as a multiple of that without it; 0 if it cannot be paid."""
    rest = np.where(parts[rows], belief.thetas[rows], 0.0).sum(axis=1)
    price = belief.prices[rows, bundle] + np.where(parts[rows], belief.prices[rows], 0.0).sum(axis=1)
    at_once = np.divide(WEIGHTS @ outcomes, rest, out=np.zeros(len(rows)), where=rest > 0.0)
    best = best_rates(outcomes, belief.thetas[rows, bundle], rest)
    lift = np.divide(best, at_once, out=np.zeros(len(rows)), where=at_once > 0.0)
    return np.where(belief.price_list.pays(price), lift, 0.0)
