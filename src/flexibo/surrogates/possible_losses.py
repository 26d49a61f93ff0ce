"""Which losses of an objective are possible: as its user says, and positive values as long as all readings are.

Errors, times and energies are never negative, and few users say so. So a quantity without a lower bound of which every
reading so far is above 0 is taken as positive. The first reading of 0 or less ends the assumption: no reading is
refused because of it. A constraint at 0 or below (`at_most=0`) says that some values are not positive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from flexibo._internal.arrays import FloatArray
from flexibo.objectives import Objective


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleLosses:
    """The least and the greatest possible loss, and the sign that losses are taken to have while all readings do."""

    least: float = -math.inf
    most: float = math.inf
    sign: int = 0  # 1 or -1; 0 for no such assumption

    @classmethod
    def of(cls, objective: Objective, *, assume_positive: bool = True) -> PossibleLosses:
        """The possible losses of an objective.

        >>> PossibleLosses.of(Objective("speed", "max", upper=300))
        PossibleLosses(least=-300.0, most=inf, sign=-1)
        """
        least, most = objective.possible_losses
        limits = [bound for bound in (objective.at_most, objective.at_least) if bound is not None]
        is_open = assume_positive and objective.lower is None and all(limit > 0 for limit in limits)
        positive = 1 if objective.direction == "min" else -1
        return cls(least=least, most=most, sign=positive if is_open else 0)

    def given(self, y: FloatArray, *, sure: bool = False) -> tuple[float, float]:
        """The least and the greatest possible loss, given the losses y (s,) so far; `sure`: as the user says alone.

        >>> import numpy as np
        >>> errors = PossibleLosses(sign=1)
        >>> errors.given(np.array([0.2, 0.1])), errors.given(np.array([0.2, 0.0]))
        ((0.0, inf), (-inf, inf))
        """
        if sure or not self.sign or not len(y) or not (self.sign * y > 0).all():
            return self.least, self.most
        return (0.0, self.most) if self.sign > 0 else (self.least, 0.0)
