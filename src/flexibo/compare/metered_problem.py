"""A problem whose measurements are paid for: the only access that a method has to its values."""

from __future__ import annotations

from collections import Counter

import numpy as np

from flexibo.compare.problems.base import Problem
from flexibo.errors import unknown_name
from flexibo.history.measurements import Measurement
from flexibo.objectives import purchases
from flexibo.space import Design


class MeteredProblem:
    """Measures a problem's designs for one method, and counts the cost.

    An exact value is paid for once: what a design shares with an earlier one (a network that was trained already) is
    known. Every reading of a noisy objective is paid for. The k-th reading of a design is the same for all methods with
    the same seed. `counts` are the paid evaluations by objective; objectives that are measured together count together.
    """

    def __init__(self, problem: Problem, *, seed: int) -> None:
        self.problem = problem
        self.seed = seed
        self.spent = 0.0
        self.counts: Counter[str] = Counter(dict.fromkeys(problem.names, 0))
        self._purchases = {
            problem.names[j]: purchase for purchase in purchases(problem.objectives) for j in purchase.members
        }
        self._noisy = problem.noise is not None and bool(np.any(problem.noise))
        self._readings: Counter[tuple[int, int]] = Counter()
        self._bought: set[tuple[str, int]] = set()

    def measure(self, design: Design, objective: str) -> Measurement:
        """Measure one objective of a design, and what is measured with it; the cost of a known value is 0."""
        if objective not in self._purchases:
            raise unknown_name("objective", objective, self._purchases)
        purchase = self._purchases[objective]
        row = self.problem.space.designs([design])
        bought = (purchase.objective, int(row.keys(purchase.options)[0]))
        names = [self.problem.names[j] for j in purchase.members]
        varies = self._noisy and any(self.problem.objectives[j].noisy for j in purchase.members)
        cost = 0.0
        if varies or bought not in self._bought:
            cost = float(self.problem.costs(row)[0, purchase.members[0]])
            self.spent += cost
            self.counts.update(names)
            self._bought.add(bought)
        truth = self.problem.values(row)[0]
        key = int(row.keys()[0])
        values = {name: float(truth[j]) + self._noise(j, key) for name, j in zip(names, purchase.members, strict=True)}
        return Measurement(design, values, cost, None)

    def _noise(self, j: int, key: int) -> float:
        """The noise of the next reading of an objective of a design."""
        noise = self.problem.noise
        if noise is None or not noise[j]:
            return 0.0
        reading = self._readings[j, key]
        self._readings[j, key] += 1
        rng = np.random.default_rng((self.seed, 7, j, key % 2**64, reading))
        return float(noise[j] * rng.standard_normal())
