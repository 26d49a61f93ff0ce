"""SMS-EGO: the hypervolume that a design would add if it turned out as good as it may.

Ponweiser, Wagner, Biermann, Vincze: Multiobjective Optimization on a Limited Budget of Evaluations Using Model-Assisted
S-Metric Selection. PPSN X, LNCS 5199, 2008. The formulas are as two implementations agree on them: GPareto (`crit_SMS`)
and mlrMBO (`c_sms_indicator`, which names eq. 7.2 of Wagner's dissertation of 2013).
    y_pot = mu - alpha sigma with alpha = -Phi^-1(0.5 * 0.5^(1/k)), the optimistic estimate;
    eps_j = (range of the front in objective j) / (f + c n_left) with c = 1 - 1/2^k, for f designs on the front and
        n_left evaluations to come: the slack of the additive epsilon-dominance, front_j <= y_pot_j + eps_j for all j;
    penalty = max over the front members that epsilon-dominate y_pot of -1 + prod_j (1 + (y_pot_j - front_j)+);
    otherwise, or where the penalty is 0, the gain is the hypervolume that y_pot adds to the front.

Differences from the paper:
- Scores are not negative. Gains are as they are; designs without a gain share what lies below half of the smallest
  gain, in the order of their penalties, as 1 / (1 + penalty).
- The distances in a penalty are divided by the front's range in that objective (by the distance from the front to the
  reference point where there is no range), so that the choice does not depend on units.
- n_left is what the budget is expected to pay; without a budget it is infinite and eps is 0.
- The reference point is the study's, and the best of the candidates is taken instead of a search over all designs.
- Limits (there are none in the paper). The front is that of the feasible designs, a gain needs an optimistic estimate
  within all limits, and every score is multiplied by the probability of feasibility.
- No optimistic estimate is below the least possible loss.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from flexibo._internal.arrays import FloatArray
from flexibo.belief.belief import Belief
from flexibo.methods.base import Constraints, ScoringMethod
from flexibo.pareto import improvements

_TABLE_SIZE = 1 << 17  # members of the front times candidates in one table: fits into the cache, and hides Python


def optimistic_hypervolume_gain(belief: Belief, rng: np.random.Generator) -> FloatArray:
    """The gain of every candidate's optimistic estimate, in each bundle that has something to measure (m, b)."""
    columns = list(belief.optimised)
    unknown = np.stack([~belief.known[:, bundle].all(axis=1) for bundle in belief.bundles], axis=1)
    some = np.flatnonzero(unknown.any(axis=1))
    best = belief.possible(belief.mu[some] - optimism(len(columns)) * belief.sigma[some])
    potential, front = best[:, columns], belief.front()
    penalty = penalties(potential, front, slack(front, belief.price_list.designs_left), widths(front, belief.reference))
    hopeful = np.flatnonzero((penalty == 0.0) & (best <= belief.limits).all(axis=1))
    gain = np.zeros(len(some))
    gain[hopeful] = improvements(potential[hopeful], front, belief.reference)
    scores = np.zeros(len(unknown))
    scores[some] = _ordered(gain, penalty, belief.feasible()[some])
    return np.where(unknown, scores[:, None], 0.0)


def optimism(k: int) -> float:
    """alpha: with probability 1/2 all of k losses are further than this many standard deviations from their means.

    >>> round(optimism(1), 4), round(optimism(2), 4)
    (0.6745, 0.3757)
    """
    return -float(ndtri(0.5 * 0.5 ** (1.0 / k)))


def slack(front: FloatArray, left: float) -> FloatArray:
    """eps: what a member of the front (f, k) may be worse by and still dominate, per objective (k,).

    >>> slack(np.array([[0.0, 6.0], [4.0, 0.0]]), left=8.0)
    array([0.5 , 0.75])
    """
    f, k = front.shape
    if f == 0:
        return np.zeros(k)
    return np.asarray(np.ptp(front, axis=0) / (f + (1.0 - 0.5**k) * left))


def widths(front: FloatArray, reference: FloatArray) -> FloatArray:
    """The units of the penalties (k,): the front's range, or how far it is from the reference where it has none."""
    if len(front) == 0:
        return np.ones(len(reference))
    width = np.ptp(front, axis=0)
    width = np.where(width > 0.0, width, np.abs(reference - front[0]))
    return np.where(width > 0.0, width, 1.0)


def penalties(potential: FloatArray, front: FloatArray, eps: FloatArray, width: FloatArray) -> FloatArray:
    """How far beyond the front (f, k) optimistic estimates (m, k) are: (m,), 0 where no member epsilon-dominates them.

    `eps` (k,) is the slack of the dominance, `width` (k,) the unit of each objective.

    >>> front, one = np.array([[1.0, 1.0]]), np.ones(2)
    >>> penalties(np.array([[3.0, 2.0], [0.5, 2.0], [0.0, 2.0]]), front, 0.5 * one, one)
    array([5., 1., 0.])
    """
    result = np.zeros(len(potential))
    step = max(1, _TABLE_SIZE // max(1, len(front)))
    for start in range(0, len(potential) if len(front) else 0, step):
        rows = potential[start : start + step]
        product = np.ones((len(rows), len(front)))
        dominated = np.ones(product.shape, dtype=np.bool_)
        for j in range(front.shape[1]):
            excess = rows[:, j, None] - front[:, j]
            dominated &= excess >= -eps[j]
            product *= 1.0 + np.maximum(excess, 0.0) / width[j]
        result[start : start + step] = np.where(dominated, product - 1.0, 0.0).max(axis=1)
    return result


def _ordered(gain: FloatArray, penalty: FloatArray, feasible: FloatArray) -> FloatArray:
    """Gains, and below all of them the candidates without one, by ascending penalty; times feasibility. Shape (m,)."""
    gain = gain * feasible
    gains = gain > 0.0
    ceiling = 0.5 * float(gain[gains].min()) if gains.any() else 1.0
    return np.where(gains, gain, ceiling * feasible / (1.0 + penalty))


SMSEGO = ScoringMethod(
    name="smsego",
    summary="Hypervolume gained by the optimistic estimate, with a penalty for what is nearly dominated.",
    paper="Ponweiser et al. 2008",
    acquisition=optimistic_hypervolume_gain,
    score="optimistic hypervolume gain {}",
    constraints=Constraints.OWN_RULE,
    most_objectives=6,
)
