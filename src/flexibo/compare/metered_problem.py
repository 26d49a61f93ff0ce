"""A problem whose measurements are paid for: the only access that a method has to its values."""

from __future__ import annotations

from collections import Counter

import numpy as np

from flexibo.compare.problems.base import Problem
from flexibo.errors import unknown_name
from flexibo.history.measurements import Measurement
from flexibo.objectives import Purchase, purchases
from flexibo.pareto import non_dominated
from flexibo.space import Design, Designs


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
        self._bought: dict[tuple[str, int], list[dict[str, float]]] = {}
        self._touched: dict[Design, None] = {}

    def price(self, design: Design, objective: str) -> float:
        """The cost of measuring one objective of a design now; 0 for a known value."""
        purchase = self._purchase(objective)
        row = self.problem.space.designs([design])
        return 0.0 if self._is_known(purchase, row) else float(self.problem.costs(row)[0, purchase.members[0]])

    def measure(self, design: Design, objective: str) -> Measurement:
        """Measure one objective of a design, and what is measured with it; the cost of a known value is 0."""
        purchase, cost = self._purchase(objective), self.price(design, objective)
        row = self.problem.space.designs([design])
        names = [self.problem.names[j] for j in purchase.members]
        if not self._is_known(purchase, row):
            self.spent += cost
            self.counts.update(names)
        truth = self.problem.values(row)[0]
        key = int(row.keys()[0])
        values = {name: float(truth[j]) + self._noise(j, key) for name, j in zip(names, purchase.members, strict=True)}
        self._bought.setdefault(_key(purchase, row), []).append(values)
        self._touched[row[0]] = None
        return Measurement(design, values, cost, None)

    def confirmed(self) -> list[Design]:
        """The best of the designs of which every objective was measured, by the means of their readings.

        Of a design that was measured in one objective, another one is known if it depends only on options in which an
        earlier design agrees: a method could have asked for it free of charge.
        """
        designs = list(self._touched)
        if not designs:
            return []
        rows = self.problem.space.designs(designs)
        losses = np.full((len(designs), len(self.problem.names)), np.nan)
        for purchase in dict.fromkeys(self._purchases.values()):
            for i, key in enumerate(rows.keys(purchase.options).tolist()):
                readings = self._bought.get((purchase.objective, key), [])
                for j in purchase.members if readings else ():
                    losses[i, j] = np.mean([values[self.problem.names[j]] for values in readings])
        known = np.flatnonzero(~np.isnan(losses).any(axis=1))
        best = non_dominated((losses * self.problem.signs)[known])
        return [designs[i] for i in known[best]]

    def touched(self) -> list[Design]:
        """The designs of which something was measured."""
        return list(self._touched)

    def _is_known(self, purchase: Purchase, row: Designs) -> bool:
        """Whether a purchase for a design would only repeat exact values."""
        varies = self._noisy and any(self.problem.objectives[j].noisy for j in purchase.members)
        return not varies and _key(purchase, row) in self._bought

    def _purchase(self, objective: str) -> Purchase:
        if objective not in self._purchases:
            raise unknown_name("objective", objective, self._purchases)
        return self._purchases[objective]

    def _noise(self, j: int, key: int) -> float:
        """The noise of the next reading of an objective of a design."""
        noise = self.problem.noise
        if noise is None or not noise[j]:
            return 0.0
        reading = self._readings[j, key]
        self._readings[j, key] += 1
        rng = np.random.default_rng((self.seed, 7, j, key % 2**64, reading))
        return float(noise[j] * rng.standard_normal())


def _key(purchase: Purchase, row: Designs) -> tuple[str, int]:
    """Identifies what a purchase for a design yields."""
    return purchase.objective, int(row.keys(purchase.options)[0])
