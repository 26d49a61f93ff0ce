"""The Pareto region: what lies between the optimistic and the pessimistic front.

Every candidate has a box that holds its losses with high probability. Its lower corner is its best case (the paper's
max(R_t), for the paper maximises), its upper corner its worst case.

Differences from the paper:
    Equation ``pf`` and Algorithm 1 print the comparison that builds U the other way round; the intent is followed.
    The clipping rule, equation ``pess-2``, does not move corners. It only says which further designs may be measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexibo.arrays import BoolArray, FloatArray
from flexibo.errors import InvalidValueError
from flexibo.pareto.dominance import non_dominated, strictly_dominated
from flexibo.pareto.hypervolume import hypervolume


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


def pareto_region(lower: FloatArray, upper: FloatArray, reference: FloatArray) -> Region:
    """The Pareto region of boxes.

    Args:
        lower: The best corner of each candidate's box, shape (m, n).
        upper: The worst corner of each candidate's box, shape (m, n), nowhere below `lower`.
        reference: The reference point of the volumes, shape (n,). Corners that are not better add nothing.

    Returns:
        Who is alive, who is on which front, and the volume in between.

    >>> lower = np.array([[0.0, 2.0], [2.0, 0.0], [5.0, 5.0]])
    >>> region = pareto_region(lower, lower + 1.0, reference=np.array([4.0, 4.0]))
    >>> region.alive.tolist(), region.volume, region.optimistic_volume
    ([True, True, False], 7.0, 12.0)
    """
    check_boxes(lower, upper, reference)
    alive, optimistic, pessimistic = alive_and_fronts(lower, upper)
    outer = hypervolume(lower[optimistic], reference)
    inner = hypervolume(upper[pessimistic], reference)
    return Region(alive, optimistic, pessimistic, max(0.0, outer - inner), outer)


def alive_and_fronts(lower: FloatArray, upper: FloatArray) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Who is in U, on F_opt and on F_pess: three masks of shape (m,).

    Both fronts may be taken over all candidates: whoever is outside U has both corners dominated by corners of U.
    """
    optimistic = non_dominated(lower)  # eq. opt
    pessimistic = non_dominated(upper)  # eq. pess-1
    alive = optimistic.copy()  # no pessimistic corner dominates what no optimistic corner dominates
    rest = np.flatnonzero(~optimistic)
    alive[rest] = ~strictly_dominated(lower[rest], upper[pessimistic])  # eq. pf
    return alive, optimistic, pessimistic


def check_boxes(lower: FloatArray, upper: FloatArray, reference: FloatArray) -> None:
    """Raise an error unless the corners and the reference point fit together."""
    if lower.ndim != 2 or lower.shape != upper.shape:
        raise InvalidValueError(
            f"The corners have shapes {lower.shape} and {upper.shape}; both must be (candidates, objectives)."
        )
    if reference.shape != lower.shape[1:]:
        raise InvalidValueError(
            f"The reference point has shape {reference.shape}; it must have one value for each of the "
            f"{lower.shape[1]} objectives."
        )
    if not (lower <= upper).all():
        raise InvalidValueError("A box has its lower corner above its upper corner or not a number; swap or repair it.")
