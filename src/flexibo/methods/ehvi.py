"""EHVI: the hypervolume that a design is expected to add to the front, exactly.

Emmerich, Giannakoglou, Naujoks: Single- and Multiobjective Evolutionary Optimization Assisted by Gaussian Random Field
Metamodels. IEEE Transactions on Evolutionary Computation 10(4), 2006, defines it. Emmerich, Deutz, Klinkenberg:
Hypervolume-based Expected Improvement: Monotonicity Properties and Exact Computation. IEEE CEC 2011, computes it as a
sum over boxes; Yang, Emmerich, Deutz, Baeck: Efficient Computation of Expected Hypervolume Improvement Using Box
Decomposition Algorithms. Journal of Global Optimization 75, 2019, needs few boxes.

The volume that losses y add is the volume of all t below the reference point that y dominates and no row of the front
does. Its expectation is the integral over these t of the probability that y dominates t, which for independent
objectives is the product of P(y_j <= t_j). Over a box it is a product of one-dimensional integrals,
    E[(u_j - y_j)+] - E[(l_j - y_j)+],
the expected improvement below the box's upper side minus that below its lower side.

Differences from the papers:
- Any number of objectives, one included: then it is the expected improvement below the best loss or the reference.
- Boxes come from another sweep (`flexibo.pareto.cells`); there are as few of them for two and three objectives.
- A standard deviation of 0 is allowed: the loss is known, and the expectation is exact.
- Limits (there are none in the papers). A design beyond a limit adds nothing, so the expectation is over feasible
  losses: a factor P(y <= limit) for a quantity that is only limited; for one that is optimised as well the expectations
  above are those of (u_j - y_j)+ where y_j <= limit and 0 elsewhere. The reference point stays the study's.
- A loss below the least possible one counts as that: nothing is gained beyond it.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfcx

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.belief import Belief, feasibility
from flexibo.methods.base import Constraints, ScoringMethod
from flexibo.pareto.cells import non_dominated_cells

_TABLE_SIZE = 1 << 18  # boxes (or sides) times candidates in one table: fits into the cache, and hides Python
_FAR = 40.0  # this many standard deviations away the normal density is 0 in double precision


def expected_hypervolume_improvement(belief: Belief, rng: np.random.Generator) -> FloatArray:
    """The expected gain of hypervolume of every candidate, in each bundle that has something to measure (m, b)."""
    columns = list(belief.optimised)
    unknown = np.stack([~belief.known[:, bundle].all(axis=1) for bundle in belief.bundles], axis=1)
    scores = belief.feasible([j for j in range(len(belief.limits)) if j not in columns])
    some = np.flatnonzero(unknown.any(axis=1) & (scores > 0.0))
    mu, sigma, limits = belief.mu[some][:, columns], belief.sigma[some][:, columns], belief.limits[columns]
    least = None if belief.least is None else belief.least[columns]
    scores[some] *= expected_improvements(mu, sigma, belief.front(), belief.reference, limits=limits, least=least)
    return np.where(unknown, scores[:, None], 0.0)


def expected_improvements(
    mu: FloatArray,
    sigma: FloatArray,
    front: FloatArray,
    reference: FloatArray,
    *,
    limits: FloatArray | None = None,
    least: FloatArray | None = None,
) -> FloatArray:
    """What independent normal losses (m, k) are expected to add (m,) to the hypervolume of a front (f, k); at least 0.

    Losses with one above its limit (k,) add nothing, losses below the least possible ones (k,) as much as these; sigma
    is 0 where a loss is known.

    >>> front, reference = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([3.0, 3.0])
    >>> expected_improvements(np.array([[1.5, 1.5], [2.5, 2.5]]), np.zeros((2, 2)), front, reference)
    array([0.25, 0.  ])
    """
    limits = np.full(len(reference), np.inf) if limits is None else limits
    lower, upper = non_dominated_cells(front, reference)
    if least is not None:
        lower, upper = np.maximum(lower, least), np.maximum(upper, least)
    sides = [np.unique(np.concatenate(pair), return_inverse=True) for pair in zip(lower.T, upper.T, strict=True)]
    widest = max(len(upper), *(len(side) for side, _ in sides))
    step = max(1, _TABLE_SIZE // widest)
    result = np.empty(len(mu))
    for start in range(0, len(mu), step):
        block = slice(start, start + step)
        total = np.ones(1)
        for j, (side, place) in enumerate(sides):
            below = _improvements_below(side, mu[block, j], sigma[block, j], float(limits[j]))
            total = total * _increments(below, place)
        result[block] = total.sum(axis=0)
    return np.maximum(result, 0.0)  # rounding, where all is as small as numbers get


def _increments(below: FloatArray, place: IntArray) -> FloatArray:
    """The expectations between the sides of each box (c, block), from those below all sides (s, block)."""
    low, high = np.split(place.reshape(-1), 2)
    return np.asarray(below[high] - below[low])


def _improvements_below(side: FloatArray, mu: FloatArray, sigma: FloatArray, limit: float) -> FloatArray:
    """E[(side - y)+] over all y up to the limit, for each side and each normal loss, shape (s, block).

    With z = (side - mu) / sigma this is sigma (z Phi(z) + phi(z)) below the limit. Written as sigma (z+ + tau(|z|)) it
    keeps its relative accuracy far out, where z Phi(z) and phi(z) cancel. Beyond the limit it grows by P(y <= limit).
    """
    distance = np.minimum(side, limit)[:, None] - mu
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = np.fmin(np.abs(distance) / sigma, _FAR)  # known losses are infinitely far away; 0 / 0 too
    tau = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    tau *= 1.0 - math.sqrt(0.5 * math.pi) * z * erfcx(z / math.sqrt(2.0))
    below = np.maximum(distance, 0.0) + sigma * tau
    if limit < side[-1]:
        legal = feasibility(mu[:, None], sigma[:, None], np.array([limit]))
        below += np.maximum(side - limit, 0.0)[:, None] * legal
    return np.asarray(below)


EHVI = ScoringMethod(
    name="ehvi",
    summary="Exact expected hypervolume improvement.",
    paper="Emmerich et al. 2006, 2011",
    acquisition=expected_hypervolume_improvement,
    score="expected hypervolume improvement {}",
    constraints=Constraints.OWN_RULE,
    most_objectives=6,
)
