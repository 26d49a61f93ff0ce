"""FlexiBO: the volume that one evaluation is expected to remove from the Pareto region, per cost.

Iqbal, Su, Kotthoff, Jamshidi: FlexiBO: A Decoupled Cost-Aware Multi-Objective Optimization Approach for Deep Neural
Networks. JAIR 77, 2023.

Differences from the paper:
- Losses are minimised; the paper maximises.
- Both corners of the pinned box move to the mean, and both fronts are rebuilt (a design hidden behind the optimistic
  corner can surface), so the gain is never negative.
- The clipping rule `pess-2` only widens the set of designs that may be measured. Read as an update of corners it would
  enlarge the pessimistic front and could make the region grow.
- Designs that agree in the options an objective depends on are pinned together.
- Constraints are pinned like objectives. The optimistic front is that of designs that may be feasible, the pessimistic
  front that of designs that are feasible in the worst case.
"""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.belief.belief import Belief
from flexibo.methods.base import Candidates, Constraints, ScoringMethod
from flexibo.pareto import pinned_gains


def region_gain(belief: Belief, rng: np.random.Generator) -> FloatArray:
    """V - V' for every candidate and bundle (m, b), the numerator of eq. 7.

    V is the volume of the Pareto region. V' is its volume once the box of the candidate has shrunk, in the objectives
    of the bundle, to its mean: as if they had been measured, with the outcome that the models predict. The optimizer
    divides by the cost theta, as it does for every method.
    """
    return pinned_gains(
        belief.lower,
        belief.mu,
        belief.upper,
        belief.reference,
        belief.keys,
        belief.bundles,
        optimised=belief.optimised,
        limits=belief.limits,
        region=belief.region,
    )


FLEXIBO_OF_THE_PAPER = tuple(
    ScoringMethod(
        name=f"flexibo-{short}-{cost}",
        summary=f"The paper's FlexiBO with {long} and its {cost} cost function.",
        paper="Iqbal et al. 2023 (JAIR 77)",
        acquisition=region_gain,
        score="expected to remove",
        region=True,
        coupled=False,
        surrogate=surrogate,
        cost=theta,
        candidates=Candidates.UNIFORM,
        constraints=Constraints.OWN_RULE,
        most_objectives=6,
    )
    for short, surrogate, long in (("gp", "gp-paper", "Gaussian processes"), ("rf", "rf", "random forests"))
    for cost, theta in (("log", "paper-log"), ("ratio", "ratio"), ("constant", "constant"))
)
