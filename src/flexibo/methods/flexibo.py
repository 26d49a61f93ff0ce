"""FlexiBO: the volume by which one evaluation, at its predicted outcome, shrinks the Pareto region.

Iqbal, Su, Kotthoff, Jamshidi: FlexiBO: A Decoupled Cost-Aware Multi-Objective Optimization Approach for Deep Neural
Networks. JAIR 77, 2023.

Differences from the paper:
- Losses are minimised; the paper maximises.
- Both fronts are rebuilt after pinning: a best corner that the pinned one dominated may now be on the front. Pinning
  can only lower HV(F_opt) and raise HV(F_pess), so the gain is never negative.
- Every design whose pinning can change a front is scored, not only those on F_opt and F_pess: the mean of another
  design may improve F_pess. The clipping rule `pess-2` moves no corner; read as an update it would place a worst corner
  where no measurement supports it, and the region could grow later.
- Designs that agree in the options an objective depends on are pinned together.
- Constraints are pinned like objectives. The optimistic front is built from designs that may be feasible, the
  pessimistic front from designs that are feasible in the worst case.
- A largest gain of 0 does not end the run: the widest box is measured, and where there is none, others are drawn.
- Only evaluations that the remaining budget covers are chosen. The budget is charged the cost itself, not theta.
"""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.belief.belief import Belief
from flexibo.methods.base import Candidates, Constraints, ScoringMethod
from flexibo.pareto import pinned_gains


def region_gain(belief: Belief, rng: np.random.Generator) -> FloatArray:
    """V - V' for every candidate and bundle (m, b), the numerator of `eq:7`.

    V is the volume of the Pareto region. V' is its volume once the box of the candidate has shrunk, in the objectives
    of the bundle, to its mean: as if they had been measured, with the outcome that the models predict. The geometry is
    in `flexibo.pareto.gain`. The optimizer divides by theta, as it does for every method; `rng` is not used.
    """
    bundles = tuple(bundle for bundle in belief.bundles if bundle)
    gains = pinned_gains(
        belief.lower,
        belief.mu,
        belief.upper,
        belief.reference,
        belief.keys,  # equal keys: the designs must have the same value
        bundles,
        optimised=belief.optimised,
        limits=belief.limits,
        region=belief.region,
    )
    proxies = len(belief.bundles) - len(bundles)  # they come last, and shrink nothing
    return np.pad(gains, ((0, 0), (0, proxies))) if proxies else gains


FLEXIBO_OF_THE_PAPER = tuple(
    ScoringMethod(
        name=f"flexibo-{model}-{suffix}",
        summary=f"The paper's FlexiBO with {models} and its {suffix} cost function.",
        paper="Iqbal et al. 2023 (JAIR 77)",
        acquisition=region_gain,
        score="expected to remove {}",  # a share of the region, in the explanation of a question
        region=True,  # scores need the Pareto region
        coupled=False,  # one objective at a time
        surrogate=surrogate,
        cost=cost,
        candidates=Candidates.UNIFORM,
        constraints=Constraints.OWN_RULE,
        most_objectives=6,
    )
    for model, surrogate, models in (("gp", "gp-paper", "Gaussian processes"), ("rf", "rf", "random forests"))
    for suffix, cost in (("log", "paper-log"), ("ratio", "ratio"), ("constant", "constant"))
)
