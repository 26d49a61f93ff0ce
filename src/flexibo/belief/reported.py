"""Which designs are reported: the front of what was measured, predictions standing in for what was not."""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo.belief.belief import Predictions
from flexibo.history import History
from flexibo.pareto import non_dominated
from flexibo.pareto.dominance import strictly_dominated

CONFIDENCE = 0.975  # a design is called feasible from this probability on, and violating up to its complement
CLEAR = 2.0  # a prediction that is better by this many standard deviations takes a measured design's place


def reported(history: History, estimates: Predictions, *, complete: bool) -> IntArray:
    """The non-dominated designs (f,) among those with at least one measurement, ordered by the first objective.

    If `complete`, only designs that were measured in every objective count. These are also compared with each other
    alone: none is left out for a prediction, unless that is better by `CLEAR` standard deviations.

    Under constraints, designs that are more likely feasible than not are compared with each other; a doubtful one is
    shown too if none of these dominates it. Designs that violate a constraint are shown only if there are no others.
    """
    touched = touched_designs(estimates, complete=complete)
    probability = estimates.legal.prod(axis=1)
    losses, deviations = (table[:, list(history.optimised)] for table in (estimates.mu, estimates.sigma))
    facts = np.flatnonzero(estimates.known.all(axis=1) & (probability > 0.5))
    facts = facts[non_dominated(losses[facts])]
    feasible = touched[probability[touched] >= CONFIDENCE]
    worst = losses[feasible] + CLEAR * deviations[feasible]
    facts = facts[~strictly_dominated(losses[facts], worst[non_dominated(worst)])]
    return in_order(history, estimates, np.union1d(likely_front(history, estimates, complete=complete), facts))


def likely_front(history: History, estimates: Predictions, *, complete: bool) -> IntArray:
    """The places (f,) of the designs with a measurement that no other dominates if every loss is at its middle."""
    touched = touched_designs(estimates, complete=complete)
    losses, probability = estimates.mu[touched][:, list(history.optimised)], estimates.legal[touched].prod(axis=1)
    return touched[_feasible_front(losses, probability)]


def touched_designs(estimates: Predictions, *, complete: bool) -> IntArray:
    """The places of the usable designs with at least one measurement, or with all of them."""
    touched = estimates.known.all(axis=1) if complete else estimates.known.any(axis=1)
    return np.flatnonzero(touched if estimates.usable is None else touched & estimates.usable)


def in_order(history: History, estimates: Predictions, places: IntArray) -> IntArray:
    """Places of designs (f,), ordered by the first objective."""
    return places[np.argsort(estimates.mu[places, history.optimised[0]], kind="stable")]


def _feasible_front(losses: FloatArray, probability: FloatArray) -> BoolArray:
    """Which of the designs (m,) are shown, given their losses (m, k) and probabilities of feasibility (m,)."""
    for enough in (0.5, 1.0 - CONFIDENCE, -1.0):
        likely = probability > enough
        if not likely.any():
            continue
        best = np.flatnonzero(likely)[non_dominated(losses[likely])]
        shown = np.zeros(len(losses), dtype=bool)
        shown[best] = True
        doubtful = np.flatnonzero(~likely & (probability > 1.0 - CONFIDENCE))
        shown[doubtful] = ~strictly_dominated(losses[doubtful], losses[best])
        return shown
    return np.zeros(len(losses), dtype=bool)
