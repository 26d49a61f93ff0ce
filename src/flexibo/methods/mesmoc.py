"""MESMOC: MESMO where constraints are measured too, and inform about the front as the objectives do.

Belakaria, Deshwal, Doppa: Max-value Entropy Search for Multi-Objective Bayesian Optimization with Constraints.
arXiv 2009.01721, 2020; also in their Output Space Entropy Search Framework, JAIR 72, 2021.

The published acquisition, as their code (github.com/belakaria/MESMOC) has it: objectives and constraints are drawn
jointly, and the Pareto front of each draw is taken among its feasible designs. No objective can be better than its best
value in that front, and, so the authors assume, no constraint better than its best value among the designs of the
front. Each bound cuts a normal distribution off as in MESMO; the score is the sum of what objectives and constraints
lose in entropy. It is maximised among the designs whose predicted constraints hold: all means within the limits.

A constraint of the authors is a slack that must not be negative, bounded by its greatest value in the front. Here it is
a loss within a limit; with slack = limit - loss that is a loss bounded by its least value in the front.

Differences from the paper, beside those of `flexibo.methods.mesmo`:
- The authors' code passes negated constraints to its search for the front, and so looks where they fail; here the text
  above is followed.
- Draws without a feasible candidate have no front, and are left out.
- If no draw has one, or nothing that is open scores (no predicted mean is within the limits, say), then the score of
  whatever measures a constraint is the probability that the design is feasible, as is usual in the literature. The
  paper does not say what to do; its code then takes any design.
- A quantity may be optimised and limited at once; it counts once.

What the authors assume of constraints is not so: a design may be further within the limits than any design of the
front. The score therefore likes large slack. Fernandez-Sanchez, Garrido-Merchan and Hernandez-Lobato (Improved
Max-value Entropy Search for Multi-objective Bayesian Optimization with Constraints, arXiv 2011.01150) start from there.
"""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.belief.belief import Belief
from flexibo.methods._additive import bundled
from flexibo.methods._sampled_fronts import draws, pareto_set, within
from flexibo.methods.base import Constraints, ScoringMethod
from flexibo.methods.feasibility import feasibility_scores
from flexibo.methods.mesmo import DRAWS, max_value_scores, mesmo, normals


def mesmoc(belief: Belief, rng: np.random.Generator) -> FloatArray:
    """The expected reduction of entropy for every candidate and bundle (m, b), or the probability of feasibility."""
    limited = np.isfinite(belief.limits)
    if not limited.any():
        return mesmo(belief, rng)
    scores = np.zeros_like(belief.mu)
    bounds = front_bounds(draws(belief, DRAWS, rng), belief.optimised, belief.limits)
    if len(bounds):
        limited[list(belief.optimised)] = True
        columns = np.flatnonzero(limited)
        scores[:, columns] = max_value_scores(normals(belief, columns), bounds[:, columns])
        scores[~within(belief.mu, belief.limits)] = 0.0
    result = bundled(scores, belief.bundles)
    return result if (result[belief.open] > 0).any() else feasibility_scores(belief)


def front_bounds(Y: FloatArray, optimised: tuple[int, ...], limits: FloatArray) -> FloatArray:
    """The least loss (s', n) of each quantity in the feasible Pareto front of each draw Y (s, m, n) that has one."""
    some = Y[within(Y, limits).any(axis=1)]
    return np.array([losses[pareto_set(losses, optimised, limits)].min(axis=0) for losses in some]).reshape(
        len(some), Y.shape[2]
    )


MESMOC = ScoringMethod(
    name="mesmoc",
    summary="MESMO under constraints that are measured and learned too.",
    paper="Belakaria et al. 2020",
    acquisition=mesmoc,
    score="information about the front {}",
    constraints=Constraints.OWN_RULE,
    joint_draws=True,
)
