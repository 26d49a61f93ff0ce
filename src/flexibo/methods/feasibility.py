"""What to measure, whatever the method, while it is open which designs are feasible."""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo.belief.belief import Belief
from flexibo.pareto import non_dominated


def feasibility_scores(belief: Belief) -> FloatArray:
    """The probability of feasibility (m, b), for each bundle with a constraint that is not known; 0 for the others.

    This is what to measure while no feasible design is known and nothing else is worth measuring.
    """
    unknown = (belief.sigma > 0) & np.isfinite(belief.limits)
    violated = ((belief.sigma == 0) & (belief.mu > belief.limits)).any(axis=1)
    # What is not known to be violated may be feasible, even if that is unlikely.
    chance = np.where(violated, 0.0, np.maximum(belief.feasible(), np.finfo(float).tiny))
    asks = np.stack([unknown[:, list(bundle)].any(axis=1) for bundle in belief.bundles], axis=1)
    return np.where(asks, chance[:, None], 0.0)


def doubtful_front(belief: Belief, confidence: float) -> BoolArray:
    """The candidates (m,) on the predicted front of what was measured that are feasible with less than `confidence`."""
    chance = belief.feasible()
    likely = np.flatnonzero(belief.known.any(axis=1) & (chance > 0.5))
    members = likely[non_dominated(belief.mu[likely][:, list(belief.optimised)])]
    doubtful = np.zeros(len(chance), dtype=bool)
    doubtful[members[chance[members] < confidence]] = True
    return doubtful
