"""The Pareto region: what lies between the optimistic and the pessimistic front.

Every candidate has a box that holds its losses with high probability. Its lower corner is its best case (the paper's
max(R_t), since the paper maximises), its upper corner its worst case. Under constraints (`flexibo.pareto.goals`) a
corner that breaks a limit is at infinity: it dominates nothing and adds no volume.

Differences from the paper:
    Algorithm 1 swaps x and x' in the test for U; equation ``pf`` does so too and lacks the "not". This follows the
    text: x is in U unless the worst case of another design dominates its best case.
    The clipping rule, equation ``pess-2``, moves no corner (see `flexibo.methods.flexibo`).
    The paper has no constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo.pareto.dominance import finite_front, strictly_dominated
from flexibo.pareto.goals import goals_of_boxes
from flexibo.pareto.hypervolume import hypervolume

NO_REGION = 1e-12
"""At or below this share of the optimistic front's volume, the region counts as empty."""


@dataclass(frozen=True, slots=True)
class Region:
    """The Pareto region of a set of boxes.

    Attributes:
        alive: The candidates that may still be Pareto-optimal, the paper's U, shape (m,).
        optimistic: The candidates whose lower corners form F_opt, shape (m,).
        pessimistic: The candidates whose upper corners form F_pess, shape (m,).
        volume: HV(F_opt) - HV(F_pess), never below 0.
        optimistic_volume: HV(F_opt).
    """

    alive: BoolArray
    optimistic: BoolArray
    pessimistic: BoolArray
    volume: float
    optimistic_volume: float

    @property
    def is_gone(self) -> bool:
        """Whether only rounding error is left of it, or no best corner is better than the reference."""
        return self.volume <= NO_REGION * self.optimistic_volume


def pareto_region(
    lower: FloatArray,
    upper: FloatArray,
    reference: FloatArray,
    *,
    optimised: Sequence[int] | None = None,
    limits: FloatArray | None = None,
) -> Region:
    """The Pareto region of boxes.

    Args:
        lower: The best corner of each candidate's box, shape (m, n).
        upper: The worst corner of each candidate's box, shape (m, n), nowhere below `lower`.
        reference: The reference point of the volumes, shape (k,). A corner adds volume only if it is
            better than this point in every objective.
        optimised: The k columns that are objectives, in the order of `reference`; all n by default.
        limits: The greatest feasible loss of each quantity, infinity where there is none, shape (n,); none by default.

    >>> lower = np.array([[0.0, 2.0], [2.0, 0.0], [5.0, 5.0]])
    >>> region = pareto_region(lower, lower + 1.0, reference=np.array([4.0, 4.0]))
    >>> region.alive.tolist(), region.volume, region.optimistic_volume
    ([True, True, False], 7.0, 12.0)

    One objective, and a second quantity that must not exceed 2.5:

    >>> region = pareto_region(
    ...     lower, lower + 1.0, np.array([4.0]), optimised=[0], limits=np.array([np.inf, 2.5])
    ... )
    >>> region.optimistic.tolist(), region.pessimistic.tolist(), region.volume
    ([True, False, False], [False, True, False], 3.0)
    """
    # Keeps the optimised columns; a corner that breaks a limit becomes infinity.
    goals = goals_of_boxes(lower, upper, reference, optimised, limits)
    best, worst = goals.corners(lower), goals.corners(upper)
    alive, optimistic, pessimistic = alive_and_fronts(best, worst)
    outer = hypervolume(best[optimistic], reference)
    inner = hypervolume(worst[pessimistic], reference)
    return Region(alive, optimistic, pessimistic, max(0.0, outer - inner), outer)


def alive_and_fronts(best: FloatArray, worst: FloatArray) -> tuple[BoolArray, BoolArray, BoolArray]:
    """The masks (m,) of U, F_opt and F_pess, given best and worst corners (m, k), infinite if they break a limit.

    The paper takes both fronts over U. Taking them over all candidates gives the same: outside U, each corner is at
    infinity or dominated by a corner of U.
    """
    optimistic = finite_front(best)  # eq. opt
    pessimistic = finite_front(worst)  # eq. pess-1
    alive = optimistic.copy()
    # F_opt is in U: a worst corner that dominated a member would have a best corner that dominates it too.
    rest = np.flatnonzero(~optimistic & (best[:, 0] < np.inf))  # a broken corner is infinite in every column
    alive[rest] = ~strictly_dominated(best.take(rest, axis=0), worst[pessimistic])  # eq. pf; F_pess is enough
    return alive, optimistic, pessimistic
