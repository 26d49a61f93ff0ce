"""The Pareto region: what lies between the optimistic and the pessimistic front.

Every candidate has a box that holds its losses with high probability. Its lower corner is its best case (the paper's
max(R_t), for the paper maximises), its upper corner its worst case. Under constraints the best case counts for possibly
feasible designs only, the worst case for surely feasible ones.

Differences from the paper:
    Equation ``pf`` and Algorithm 1 print the comparison that builds U the other way round; the intent is followed.
    The clipping rule, equation ``pess-2``, does not move corners. It only says which further designs may be measured.
    The paper knows no constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo.errors import InvalidValueError
from flexibo.pareto.dominance import non_dominated, strictly_dominated
from flexibo.pareto.goals import Goals
from flexibo.pareto.hypervolume import hypervolume

NO_REGION = 1e-12
"""The region counts as gone below this share of the optimistic front's volume."""


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
        """Whether nothing but rounding is left of it."""
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
        reference: The reference point of the volumes, shape (k,). Corners that are not better add nothing.
        optimised: The k columns that are objectives, in the order of `reference`; all n if not given.
        limits: The greatest legal loss of each quantity, infinity where there is none, shape (n,); no limits if not
            given. A design whose best corner breaks one is not alive, and one whose worst corner breaks one is not on
            the pessimistic front.

    Returns:
        Who is alive, who is on which front, and the volume in between.

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
    goals = checked_goals(lower, upper, reference, optimised, limits)
    best, worst = goals.corners(lower), goals.corners(upper)
    alive, optimistic, pessimistic = alive_and_fronts(best, worst)
    outer = hypervolume(best[optimistic], reference)
    inner = hypervolume(worst[pessimistic], reference)
    return Region(alive, optimistic, pessimistic, max(0.0, outer - inner), outer)


def alive_and_fronts(best: FloatArray, worst: FloatArray) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Who is in U, on F_opt and on F_pess: three masks of shape (m,).

    Both fronts may be taken over all candidates: whoever is outside U has both corners dominated by corners of U, or at
    infinity.

    Args:
        best: The best corners, at infinity where a limit is surely broken, shape (m, k).
        worst: The worst corners, at infinity where a limit may be broken, shape (m, k).
    """
    optimistic = _front(best)  # eq. opt
    pessimistic = _front(worst)  # eq. pess-1
    alive = optimistic.copy()  # no pessimistic corner dominates what no optimistic corner dominates
    rest = np.flatnonzero(~optimistic & (best[:, 0] < np.inf))
    alive[rest] = ~strictly_dominated(best.take(rest, axis=0), worst[pessimistic])  # eq. pf
    return alive, optimistic, pessimistic


def _front(corners: FloatArray) -> BoolArray:
    """The corners that no other dominates, without those at infinity: shape (m,)."""
    front = corners[:, 0] < np.inf
    if front.all():
        return non_dominated(corners)
    front[front] = non_dominated(corners[front])
    return front


def checked_goals(
    lower: FloatArray,
    upper: FloatArray,
    reference: FloatArray,
    optimised: Sequence[int] | None,
    limits: FloatArray | None,
) -> Goals:
    """The goals; an error unless the corners, the reference point and they fit together."""
    if lower.ndim != 2 or lower.shape != upper.shape:
        raise InvalidValueError(
            f"The corners have shapes {lower.shape} and {upper.shape}; both must be (candidates, quantities)."
        )
    goals = Goals.of(lower.shape[1], optimised, limits)
    if reference.shape != (len(goals.optimised),):
        raise InvalidValueError(
            f"The reference point has shape {reference.shape}; it must have one value for each of the "
            f"{len(goals.optimised)} objectives."
        )
    if not (lower <= upper).all():
        raise InvalidValueError("A box has its lower corner above its upper corner or not a number; swap or repair it.")
    return goals
