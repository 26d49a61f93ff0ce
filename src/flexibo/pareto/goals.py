"""Goals: what is wanted of the measured quantities, minima of some and limits for some.

A design is possibly feasible if its best case is within every limit, and surely feasible if its worst case is. So one
rule serves both corners of a box: a corner that breaks a limit is moved to infinity, where it adds no volume and
dominates nobody.

Differences from the paper:
    The paper knows no constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo.errors import InvalidValueError


@dataclass(frozen=True, slots=True)
class Goals:
    """What is wanted of n quantities. A quantity may be optimised and limited at once.

    Attributes:
        optimised: The columns of the k objectives, which are minimised.
        limits: The greatest legal loss of each quantity, infinity where there is none, shape (n,).
        limited: The columns that have a limit.
    """

    optimised: tuple[int, ...]
    limits: FloatArray
    limited: tuple[int, ...]

    @classmethod
    def of(cls, n: int, optimised: Sequence[int] | None, limits: FloatArray | None) -> Goals:
        """The goals for n quantities; None stands for all of them as objectives, and for no limits."""
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
        """The goals of one objective with a second one beside it, in a column of its own after all others."""
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
        """Where a measurement can tell anything: objectives with a width, limits inside a box. Shape (m, n)."""
        result = lower < upper
        for j in {*self.limited} - {*self.optimised}:
            result[:, j] = (lower[:, j] <= self.limits[j]) & (self.limits[j] < upper[:, j])
        return result
