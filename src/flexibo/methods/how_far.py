"""How far an evaluation of an objective with steps goes: a look at an early stop, or all the way.

A design that adds G in expectation for a price c is worth the rate G / c (`flexibo.methods.completion_gain`). Going to
a stop s first costs c_s, and tells what is read there. Its correlation r with the loss at the last step is that of the
model, so the outcome is mu + sigma (r z + sqrt(1 - r^2) w) with z read at s and w still open. Then the rest, for c_r,
is bought only if it is still worth it. With the price rho of what else could be bought for the money, the look is worth

    E[max(0, G(z) - rho c_r)] - rho c_s,    G(z) what completing the design adds given z.

The greatest rho for which this is not negative is the rate of the look: over all sets of outcomes z after which one
goes on, the greatest of sum p(z) G(z) / (c_s + c_r sum p(z)). Going on whatever is read is one of these sets, so a look
is never worse than going all the way; it is equal where nothing is told (r = 0). Stopping is never to be continued:
continuing competes with everything else that could be bought, by the same rate.

Only one look ahead is considered. After it the question is asked again, with what was read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.belief import Belief
from flexibo.belief.step_costs import paid_up_to

NODES, WEIGHTS = np.array([-math.sqrt(3.0), 0.0, math.sqrt(3.0)]), np.array([1.0, 4.0, 1.0]) / 6.0
"""What is read at a stop, in standard deviations, and how likely: outcomes of less than a sixth buy no look."""
WORTH = 1.02  # a look at an earlier stop must be this many times as good as one at a later stop

Gains: TypeAlias = Callable[[IntArray, FloatArray], FloatArray]
"""From some candidates, by their places (k,), and the correlations r (k,) of what is read of them with what counts, to
what completing them adds after each of `NODES` was read (q, k)."""


@dataclass(frozen=True, slots=True)
class Looks:
    """How far m candidates are measured in one objective with steps."""

    stop: IntArray  # (m,): the step
    lift: FloatArray  # (m,): the rate as a multiple of that of going all the way
    share: FloatArray  # (m,): what it costs, as a share of what is missing
    correlation: FloatArray  # (m,): of what is read there with what counts


def looks(belief: Belief, rows: IntArray, j: int, gains: Gains, *, part: FloatArray, others: FloatArray) -> Looks:
    """The best stop of objective j for some candidates (r,), whose rest costs `part` (r,) and `others` (r,)."""
    prediction = belief.joints[j]
    levels = prediction.levels
    assert levels is not None
    reached, last = prediction.reached[prediction.place[rows]], levels.stops[-1]
    start = reached if levels.resumable else np.zeros_like(reached)
    shares = np.array(levels.paid)
    paid = paid_up_to(start, levels.stops, shares)
    best = Looks(np.full(len(rows), last), np.ones(len(rows)), np.ones(len(rows)), np.ones(len(rows)))
    if not levels.may_look:
        return best
    for level in range(len(levels.stops) - 2, -1, -1):
        stop = levels.stops[level]
        here = np.flatnonzero(stop > reached)
        if not len(here):
            continue
        r = prediction.correlation(rows[here], levels.proxies + level)
        share = (shares[level] - paid[here]) / (1.0 - paid[here])
        rest = part[here] * (1.0 - share if levels.resumable else 1.0) + others[here]
        lift = _lift(gains(here, r), part[here] * share, rest)
        better = lift > WORTH * best.lift[here]
        for known, new in ((best.stop, stop), (best.lift, lift), (best.share, share), (best.correlation, r)):
            known[here] = np.where(better, new, known[here])
    return best


def _lift(outcomes: FloatArray, price: FloatArray, rest: FloatArray) -> FloatArray:
    """The rate of a look (m,) with these gains (q, m) after it, as a multiple of that of going on whatever is read."""
    rates = _rates(outcomes, price, rest)
    whole = rates[-1]
    return np.asarray(np.divide(rates.max(axis=0), whole, out=np.ones(len(whole)), where=whole > 0.0))


def best_rates(outcomes: FloatArray, price: FloatArray, rest: FloatArray) -> FloatArray:
    """The rate of a look (m,) with these gains (q, m) after it, if the rest is bought only after the best outcomes."""
    return np.asarray(_rates(outcomes, price, rest).max(axis=0))


def _rates(outcomes: FloatArray, price: FloatArray, rest: FloatArray) -> FloatArray:
    """The rates of a look (q, m) if the rest is bought after the best outcome, the best two, ..., whatever is read."""
    order = np.argsort(-outcomes, axis=0, kind="stable")
    weight = WEIGHTS[order]
    gain = np.cumsum(weight * np.take_along_axis(outcomes, order, axis=0), axis=0)
    total = price + rest * np.cumsum(weight, axis=0)
    return np.asarray(np.divide(gain, total, out=np.zeros_like(gain), where=total > 0.0))
