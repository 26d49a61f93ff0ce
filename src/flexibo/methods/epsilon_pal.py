"""epsilon-PAL: find designs that cover the Pareto front up to tolerances, measuring where the doubt is widest.

Zuluaga, Krause, Pueschel: e-PAL: An Active Learning Approach to the Multi-Objective Optimization Problem. JMLR 17
(104), 2016. Where to begin and what may discard what follows the authors' program (spiral.net/software/pal.html).

Regions and sampling are PAL's (`flexibo.methods.pal`). With one tolerance epsilon for each objective:
- Discarding: an open design goes when the worst corner of a Pareto design, less epsilon, dominates its best corner; and
  also when that of a design of the pessimistic front p_pess does (those not discarded whose worst corners no
  other dominates), unless it belongs to p_pess itself.
- Covering: an open design becomes Pareto when no best corner of another that is left, plus epsilon, dominates its worst
  corner. The widest goes first, and at once discards what it makes redundant.
The result is the set of Pareto designs. Equal designs are redundant, too, unless every epsilon is 0.

Differences from the paper:
- Those of PAL, except that classes are carried along. A Pareto design is open again when a refuted region lets another
  dominate it by more than epsilon.
- A discarded design is open again when no design that is left covers it. Otherwise the tolerances could add up: one
  design goes because of another on p_pess, which goes because of a Pareto design.
- Discarding and covering are repeated until nothing changes, before anything is measured.
- Tolerances are absolute; the authors give them as shares of the ranges of the objectives.
- What is certain if the regions hold: the result comes within epsilon of every design, and no design is better than one
  of the result by twice epsilon in every objective (by epsilon, among those that were never discarded).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.belief import Belief
from flexibo.methods.pal import DISCARDED, OPEN, PAL, PARETO, PalMemory, distinct, dominated_by_another, front_of, step
from flexibo.pareto.dominance import non_dominated, strictly_dominated


def epsilon_pal_step(before: PalMemory | None, belief: Belief) -> PalMemory:
    """One iteration: intersect the regions with the belief's boxes, discard and cover; see `pal_step`."""
    epsilon = belief.tolerances[list(belief.optimised)]
    return step(before, belief, lambda lower, upper, width, old: epsilon_classify(lower, upper, width, old, epsilon))


def epsilon_classify(
    lower: FloatArray, upper: FloatArray, width: FloatArray, status: IntArray, epsilon: FloatArray
) -> IntArray:
    """The class (m,) of each design by its region, its class before and the tolerances epsilon (k,).

    Regions have best corners `lower` and worst corners `upper` (m, k); the widest is the first to become Pareto.

    >>> Y = np.array([[0.0, 2.0], [0.1, 1.9], [2.0, 0.0], [2.0, 2.0]])
    >>> epsilon_classify(Y, Y, np.zeros(4), np.zeros(4, dtype=int), np.array([0.2, 0.2])).tolist()
    [1, 2, 1, 2]
    """
    status = status.copy()
    eased = lower + epsilon
    _reopen(eased, upper, status)
    if (status == PARETO).any():
        left = np.flatnonzero(status != DISCARDED)
        rivalled = left[dominated_by_another(upper[left], eased[left])]
        status[rivalled[status[rivalled] == PARETO]] = OPEN
    while True:
        _discard(eased, upper, status)
        moved = _cover(eased, upper, width, status)
        reopened = _reopen(eased, upper, status)
        if not moved and not reopened:
            return status


def _reopen(eased: FloatArray, upper: FloatArray, status: IntArray) -> bool:
    """Open, in place, discarded designs that no other covers; whether there were any."""
    gone = np.flatnonzero(status == DISCARDED)
    lost = gone[~strictly_dominated(eased[gone], front_of(upper[status != DISCARDED]))]
    status[lost] = OPEN
    return len(lost) > 0


def _discard(eased: FloatArray, upper: FloatArray, status: IntArray) -> None:
    """Discard, in place, open designs whose eased best corners (m, k) are dominated by P, or by p_pess."""
    rows = np.flatnonzero(status == OPEN)
    status[rows[strictly_dominated(eased[rows], front_of(upper[status == PARETO]))]] = DISCARDED
    left = np.flatnonzero(status != DISCARDED)
    pessimistic = non_dominated(upper[left])
    rows = left[~pessimistic]
    rows = rows[status[rows] == OPEN]
    status[rows[strictly_dominated(eased[rows], distinct(upper[left[pessimistic]])[0])]] = DISCARDED


def _cover(eased: FloatArray, upper: FloatArray, width: FloatArray, status: IntArray) -> bool:
    """Move open designs to P, in place, that no eased best corner dominates, widest first; whether there were any."""
    left = np.flatnonzero(status != DISCARDED)
    rows = left[~dominated_by_another(upper[left], eased[left])]
    rows = rows[status[rows] == OPEN]
    if not len(rows):
        return False
    rows = rows[np.argsort(-width[rows], kind="stable")]
    while len(rows):
        first, rows = rows[0], rows[1:]
        status[first] = PARETO
        redundant = (upper[first] <= eased[rows]).all(axis=1) & (upper[first] < eased[rows]).any(axis=1)
        rows = rows[~redundant]  # to be discarded next
    return True


EPSILON_PAL = replace(
    PAL,
    name="epsilon-pal",
    summary="PAL with a tolerance for each objective.",
    paper="Zuluaga et al. 2016",
    step=epsilon_pal_step,
)
