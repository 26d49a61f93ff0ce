"""MESMO: how much information an evaluation gives about the best values in the Pareto front.

Belakaria, Deshwal, Doppa: Max-value Entropy Search for Multi-Objective Bayesian Optimization. NeurIPS 2019.

Functions are drawn jointly from the models, and the Pareto front of each draw is taken for the true one. No loss of any
design can then be better than the best one of that objective in the front, which cuts its normal distribution off at
that bound. The score of a quantity is the entropy of its normal distribution minus that of the truncated one, averaged
over the draws; in closed form, with gamma the distance of the bound from the mean in standard deviations,
gamma pdf(gamma) / (2 cdf(gamma)) - log cdf(gamma). The score of a design is the sum over its objectives. So one
function serves the coupled method and the decoupled one.

The bounds of different objectives are apart, so the score looks for the best of each objective and not for trade-offs
(Suzuki et al., Multi-objective Bayesian Optimization using Pareto-frontier Entropy, arXiv 1906.00127): the middle of a
long front is left out. And it does not fade as the best design becomes certain, for a bound that is its own draw stays
as close in standard deviations, even if they are tiny. Both are the paper's.

Differences from the paper:
- Losses are minimised; the paper maximises. The bound is the least loss.
- The front of a draw is taken among the candidates, not searched by NSGA-II. The best value of an objective in a front
  is its best value at all (no design dominates all that attain it), so nothing needs to be sorted.
- What was measured is among the candidates and bounds each draw; the authors' code moves a bound to the best
  measurement instead.
- A warped surrogate's losses are not normal, a function of them is; the information in a bound does not depend on such
  a function, so gamma is counted in the normal variable, see `Normals`. Without a warp that is the paper's gamma.
- Where there are limits, bounds come from the legal designs of a draw, or from all if none is legal; the loop weighs
  scores by the probability of being legal; and constraints are scored by our rule, see
  `flexibo.methods._additive.with_constraints`. For the authors' rule see `flexibo.methods.mesmoc`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import erfcx, ndtr

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.belief import Belief
from flexibo.methods._additive import bundled, with_constraints
from flexibo.methods._sampled_fronts import draws, within
from flexibo.methods.base import ScoringMethod

DRAWS = 20
"""The authors' code takes 1 or 10. With 20 the chosen design has on average more than 99 % of the best score that 1,000
draws find (with 10, 98 %; with 1, 87 %: the least of three kinds of study). Most of the time goes into the first."""
CERTAIN = 5.0  # a loss is further from its mean than this many standard deviations once in a million
STRAIGHT = 1e-6  # a smaller logarithm of the ratio of the two halves of an interval is rounding
FAR = 40.0  # a bound this many standard deviations below the mean has no effect: the score would underflow
DEEPEST = -5.0  # no draw, so no bound, is further above its median; a curve that is only close to the true one may be
ASYMPTOTIC = -1e3
"""Below this gamma, gamma (pdf / cdf + gamma) / 2 is closer to its series -1/2 + 1 / gamma^2 than to what computes."""


def mesmo(belief: Belief, rng: np.random.Generator) -> FloatArray:
    """The expected reduction of entropy for every candidate and bundle (m, b), in nats."""
    columns = np.array(belief.optimised, dtype=np.int64)
    scores = np.zeros_like(belief.mu)
    scores[:, columns] = max_value_scores(normals(belief, columns), sampled_bounds(belief, columns, rng))
    return bundled(with_constraints(scores, belief), belief.bundles)


def sampled_bounds(belief: Belief, columns: IntArray, rng: np.random.Generator) -> FloatArray:
    """The least loss of some columns (k,) in each of `DRAWS` draws: shape (s, k).

    Without limits each objective is drawn by itself, and only for candidates that may have the least loss.
    """
    if np.isfinite(belief.limits).any():
        return least_losses(draws(belief, DRAWS, rng), belief.limits)[:, columns]
    bounds = []
    for j in columns.tolist():
        reach = CERTAIN * belief.sigma[:, j]
        rows = np.flatnonzero(belief.mu[:, j] - reach <= (belief.mu[:, j] + reach).min())
        bounds.append(belief.joints[j].draws(DRAWS, rng, rows=rows).min(axis=1))
    return np.stack(bounds, axis=1)


def least_losses(Y: FloatArray, limits: FloatArray) -> FloatArray:
    """The least loss (s, n) of each quantity in each draw Y (s, m, n), among the legal designs if there are any."""
    if not np.isfinite(limits).any():
        return np.asarray(Y.min(axis=1))
    legal = within(Y, limits)
    legal |= ~legal.any(axis=1, keepdims=True)
    return np.asarray(np.where(legal[:, :, None], Y, np.inf).min(axis=1))


@dataclass(frozen=True, slots=True)
class Normals:
    """Losses as functions of standard normal variables z, one for each: mu + slope (exp(curve z) - 1) / curve."""

    mu: FloatArray  # (m, k): the losses at z = 0
    slope: FloatArray  # (m, k): their derivatives there; 0 where the loss is known
    curve: FloatArray  # (m, k): the logarithmic growth of the derivatives; 0 for a normal loss

    def above(self, bound: FloatArray) -> FloatArray:
        """How many standard deviations the bounds (k,) lie below z = 0, shape (m, k); far where the loss is known."""
        with np.errstate(over="ignore"):  # a tiny standard deviation: the distance is infinite, and cut later
            gamma = np.divide(self.mu - bound, self.slope, out=np.full_like(self.mu, FAR), where=self.slope > 0)
        bent = self.curve != 0
        if bent.any():
            curve = self.curve[bent]
            # Beyond the end of the curve the logarithm is that of 0: no such loss is possible.
            rest = np.maximum(1.0 - curve * gamma[bent], np.finfo(float).tiny)
            gamma[bent] = np.clip(-np.log(rest) / curve, DEEPEST, FAR)
        return gamma


def normals(belief: Belief, columns: IntArray) -> Normals:
    """The losses (m, k) of some columns: through the middle of their boxes and, equally far away in z, both corners."""
    mu, sigma = belief.mu[:, columns], belief.sigma[:, columns]
    below, above = mu - belief.lower[:, columns], belief.upper[:, columns] - mu
    skewed = (sigma > 0) & (below > 0) & (above > 0)
    one = np.ones_like(mu)
    ratio = np.log(np.divide(above, below, out=one.copy(), where=skewed))
    skewed &= np.abs(ratio) > STRAIGHT
    ratio = np.where(skewed, ratio, 0.0)
    half = np.divide(below + above, 2.0 * sigma, out=one.copy(), where=skewed)
    curve = ratio / half
    slope = np.where(skewed, below * curve / np.where(skewed, -np.expm1(-ratio), 1.0), sigma)
    return Normals(mu, slope, curve)


def max_value_scores(losses: Normals, bounds: FloatArray) -> FloatArray:
    """The expected reduction of entropy (m, k) of each loss, if it is known to be nowhere below a bound.

    It is the average over the bounds (s, k) of all draws; 0 where the loss is known.
    """
    total = np.zeros_like(losses.mu)
    for bound in bounds:
        total += truncation_gain(losses.above(bound))
    return total / len(bounds)


def truncation_gain(gamma: FloatArray) -> FloatArray:
    """The entropy that a normal variable loses when cut off gamma standard deviations from its mean, of any shape.

    gamma is positive if the mean is on the side that remains. The gain grows without end as gamma falls, slowly.

    >>> truncation_gain(np.array([0.0, 50.0])).round(6).tolist()
    [0.693147, 0.0]
    """
    gamma = np.clip(gamma, -1e100, FAR)
    mild = np.maximum(gamma, 0.0)
    away = ndtr(-mild)
    result = mild * np.exp(-0.5 * mild * mild) / (math.sqrt(8.0 * math.pi) * (1.0 - away)) - np.log1p(-away)
    # With cdf(gamma) = exp(-gamma^2 / 2) tail the squares cancel before they are computed.
    harsh = gamma[gamma < 0]
    tail = 0.5 * erfcx(-harsh / math.sqrt(2.0))
    ratio = 0.5 * harsh * (1.0 / (math.sqrt(2.0 * math.pi) * tail) + harsh)
    series = -0.5 + np.minimum(harsh, ASYMPTOTIC) ** -2.0
    result[gamma < 0] = np.where(harsh < ASYMPTOTIC, series, ratio) - np.log(tail)
    return np.asarray(result)


MESMO = ScoringMethod(
    name="mesmo",
    summary="Max-value entropy search: how much is learned about the best values in the front.",
    paper="Belakaria et al. 2019",
    acquisition=mesmo,
    score="information about the front {}",
    joint_draws=True,
)
MESMO_DECOUPLED = replace(MESMO, name="mesmo-dec", summary="MESMO, one objective at a time.", coupled=False)
