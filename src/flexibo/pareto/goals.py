"""Goals: which of the measured quantities are minimised, and which have limits.

A design may be feasible if the best corner of its box keeps every limit, and is feasible for all losses in the box if
the worst corner does. So one rule serves both corners: a corner that breaks a limit is moved to infinity, where it adds
no volume and dominates nothing. The paper has no constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo.errors import InvalidValueError


@dataclass(frozen=True, slots=True)
class Goals:
    """The k objectives, which are minimised, and the limits (n,) among n quantities. A quantity may be both."""

    optimised: tuple[int, ...]
    limits: FloatArray
    limited: tuple[int, ...]

    @classmethod
    def of(cls, n: int, optimised: Sequence[int] | None, limits: FloatArray | None) -> Goals:
        """The goals for n quantities; by default all are objectives, without limits."""
        columns = tuple(range(n)) if optimised is None else tuple(int(j) for j in optimised)
        if not columns or len({*columns}) < len(columns) or not {*columns} <= {*range(n)}:
            raise InvalidValueError(
                f"The optimised quantities are {list(columns)}; name at least one of the {n}, from 0 on, each once."
            )
        greatest = np.full(n, np.inf) if limits is None else limits
        if greatest.shape != (n,) or np.isnan(greatest).any():
            raise InvalidValueError(
                f"The limits are {greatest.tolist()}; there must be one number for each of the {n} quantities."
            )
        limited = tuple(np.flatnonzero(greatest < np.inf).tolist())
        if idle := sorted({*range(n)} - {*columns, *limited}):
            raise InvalidValueError(f"Quantity {idle[0]} is neither optimised nor limited; leave it out.")
        return cls(columns, greatest, limited)

    def in_the_plane(self) -> Goals:
        """The goals of one objective with a second one added, in a column after all others."""
        return Goals((*self.optimised, len(self.limits)), np.append(self.limits, np.inf), self.limited)

    def corners(self, Y: FloatArray) -> FloatArray:
        """The losses in the objectives where no limit is broken, and infinity elsewhere: (m, n) to (m, k)."""
        corners = Y if self.optimised == tuple(range(Y.shape[1])) else Y[:, self.optimised]
        if not self.limited:
            return corners
        legal = np.ones(len(Y), dtype=np.bool_)
        for j in self.limited:
            legal &= Y[:, j] <= self.limits[j]
        return np.where(legal[:, None], corners, np.inf)

    def undecided(self, lower: FloatArray, upper: FloatArray) -> BoolArray:
        """Where a measurement has something to decide: an objective's interval, a limit inside a box. Shape (m, n)."""
        result = lower < upper
        for j in {*self.limited} - {*self.optimised}:
            result[:, j] = (lower[:, j] <= self.limits[j]) & (self.limits[j] < upper[:, j])
        return result


def goals_of_boxes(
    lower: FloatArray,
    upper: FloatArray,
    reference: FloatArray,
    optimised: Sequence[int] | None,
    limits: FloatArray | None,
) -> Goals:
    """The goals; an error unless the corners, the reference point and the goals fit together."""
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
        raise InvalidValueError("A box has a lower corner that is NaN or above its upper corner; correct it.")
    return goals
