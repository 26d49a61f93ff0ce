"""FlexiBO: the volume that one evaluation is expected to remove from the Pareto region.

Iqbal, Su, Kotthoff, Jamshidi: FlexiBO: A Decoupled Cost-Aware Multi-Objective Optimization Approach for Deep Neural
Networks. JAIR 77, 2023. Equation 7; the division by the cost theta is the loop's, the same for every method.

Differences from the paper:
- Losses are minimised; the paper maximises.
- Both corners of the pinned box move to the mean, and both fronts are rebuilt (a design hidden behind the optimistic
  corner can surface), so the gain is never negative.
- The clipping rule `pess-2` only widens the set of designs that may be measured. Read as an update of corners it would
  enlarge the pessimistic front and could make the region grow.
- Designs that agree in the options an objective depends on are pinned together.
- Constraints are pinned like objectives. The optimistic front is that of designs that may be feasible, the pessimistic
  front that of designs that surely are.
"""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.belief.belief import Belief
from flexibo.pareto import pinned_gains


def region_gain(belief: Belief, rng: np.random.Generator) -> FloatArray:
    """V - V' for every candidate and bundle (m, b), eq. 7 without its denominator."""
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
