"""CA-MOBO: an optimistic scalarised value times a preference for designs that use expensive options little.

Abdolshah, Shilton, Rana, Gupta, Venkatesh: Cost-aware Multi-objective Bayesian optimisation. arXiv 1909.03600, 2019.
The user orders the dimensions of the search space from expensive to cheap (the "cost-aware constraints"). At iteration
t, with values to maximise scaled to [0, 1], the score of a design x is Q(x, t) (1 - C(x, t)), where

    Q(x, t) = min_j w_j (mu_j(x) + sqrt(beta_t) sigma_j(x)),  w drawn from a flat Dirichlet, beta_t = log(2 t + 1) / 8
    C(x, t) = prod_i (1 - lambda_i exp(-lambda_i x_i)),  lambda_i = 1 / (t pi_i + 1)

and pi is another draw from a flat Dirichlet, sorted so that the most expensive dimension has the least share. There
lambda stays near 1 longest, and with it the preference for x_i near 0; all preferences fade as t grows.

What was verified: these formulas are those of the authors' published program (github.com/MajidAbdolshah/CA-MOBO,
optacquisition.py). Of the article only the abstract and the introduction were available. A second implementation of it
(AFL-agent) has the same C, which it calls equation 8, and calls Q (1 - C) equation 9.

Differences from the paper and its program:
- Losses are minimised: the value of an objective is 1 at its least and 0 at its greatest measured loss. Scores are
  never negative: what is expected to be worse than everything measured, even optimistically, scores 0.
- The user gives no order of the options. It is derived from the expected costs of the candidates: the logarithm
  of the cost is fitted by a sum of one term for each option; the spread of an option's term is how expensive it is, and
  the place of a design within that spread is its x_i, 0 where the option makes an evaluation cheapest. An option that
  changes the cost by less than 5 % is left out, as it has no place in an order by cost (and many such factors would
  drown the others). Costs that do not differ between designs leave nothing to order: the score is then Q alone.
- t is the number of completely measured designs, the initial ones included; the program counts from 1 after them.
- pi is drawn once for a question; the program draws it again for every candidate, which blurs their comparison.
- The weights w are not sorted; the program's are, so that its second objective always counts more.
- sigma is the standard deviation; the program multiplies sqrt(beta_t) with the variance.
- A score is not to be divided by the cost: the preference is all the paper has.
"""

from __future__ import annotations

import math

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.belief import Belief
from flexibo.methods._scalarise import measured, normalised
from flexibo.methods.base import ScoringMethod

MATERIAL = 0.05  # an option that changes the logarithm of the cost by less is not ordered by cost
LARGEST_FIT = 2000  # the options' shares of the cost are read from at most this many candidates


def cost_ordered_improvement(belief: Belief, rng: np.random.Generator) -> FloatArray:
    """Q(x, t) (1 - C(x, t)) for every candidate and bundle (m, b)."""
    columns = list(belief.optimised)
    mu, rows = belief.mu[:, columns], measured(belief)
    t = max(1, len(rows))
    lower = belief.possible(belief.mu - math.sqrt(exploration(t)) * belief.sigma)[:, columns]
    values = 1.0 - normalised(lower, mu[rows] if len(rows) >= 2 else mu)
    weights = rng.dirichlet(np.ones(len(columns)))
    optimistic = np.maximum((weights * values).min(axis=1), 0.0)
    untouched = np.flatnonzero(~belief.known.any(axis=1))
    usage = option_usage(belief.designs.encoded(), belief.designs.table.groups(), belief.prices.sum(axis=1), untouched)
    scores = np.where(belief.known.all(axis=1), 0.0, optimistic * (1.0 - usage_cost(usage, t, rng)))
    return np.repeat(scores[:, None], len(belief.bundles), axis=1)


def exploration(t: int) -> float:
    """beta_t = log(2 t + 1) / 8.

    >>> round(exploration(20), 4)
    0.4642
    """
    return math.log(2 * t + 1) / 8.0


def usage_cost(usage: FloatArray, t: int, rng: np.random.Generator) -> FloatArray:
    """C(x, t) of designs (m,), from 0 to 1; 0 without options.

    `usage` (m, o) is how much each design uses each option, from 0 to 1, the most expensive option first; `rng` draws
    how fast the preference of each option fades.
    """
    options = usage.shape[1]
    if not options:
        return np.zeros(len(usage))
    rates = 1.0 / (t * np.sort(rng.dirichlet(np.ones(options))) + 1.0)
    return np.asarray(np.prod(1.0 - rates * np.exp(-rates * usage), axis=1))


def option_usage(X: FloatArray, groups: IntArray, prices: FloatArray, untouched: IntArray) -> FloatArray:
    """How much each design uses the options that affect the cost, the most expensive first (m, o); o may be 0.

    `prices` (m,) are those of what is not known of each design; that of a whole design is the price of one that is
    untouched.
    """
    rows = untouched[prices[untouched] > 0]
    rows = rows[:: max(1, math.ceil(len(rows) / LARGEST_FIT))]
    names = np.unique(groups)
    if len(rows) <= len(groups) or not len(names):
        return np.empty((len(X), 0))
    logs = np.log(prices[rows])
    centre = X[rows].mean(axis=0)
    slopes = np.linalg.lstsq(X[rows] - centre, logs - logs.mean(), rcond=None)[0]
    terms = X @ (slopes[:, None] * (groups[:, None] == names))
    low, spread = terms.min(axis=0), np.ptp(terms, axis=0)
    costliest = np.argsort(-spread, kind="stable")
    costliest = costliest[spread[costliest] >= MATERIAL]
    return np.asarray((terms[:, costliest] - low[costliest]) / spread[costliest])


CA_MOBO = ScoringMethod(
    name="ca-mobo",
    summary="Chebyshev scalarisation that explores cheap options before expensive ones.",
    paper="Abdolshah et al. 2019",
    acquisition=cost_ordered_improvement,
    score="cost-ordered improvement {}",
    cost="learned-constant",
)
