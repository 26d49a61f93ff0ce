"""A problem whose measurements are paid for: the only access that a method has to its values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from flexibo.compare.problems.base import Problem
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.history.measurements import Measurement
from flexibo.objectives import Purchase, purchases
from flexibo.pareto import non_dominated
from flexibo.space import Design, Designs


@dataclass(frozen=True, slots=True)
class SteppedMeasurement(Measurement):
    """The answer of an objective with steps: the value after the step at which it stopped, and all those before it."""

    reports: tuple[tuple[int, float], ...] = ()


class MeteredProblem:
    """Measures a problem's designs for one method, and counts the cost.

    An exact value is paid for once: what a design shares with an earlier one (a network that was trained already) is
    known. Every reading of a noisy objective is paid for. The k-th reading of a design is the same for all methods with
    the same seed. `counts` are the paid evaluations by objective; objectives that are measured together count together.

    An objective with steps is paid for step by step: up to a step at which its measurement stops, from the one that was
    reached before, also for another design that shares its value. Only its value after the last step is measured, and
    counts as an evaluation. Proxies can be measured like objectives; they never count.
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
        self._proxies = {proxy.name: proxy for proxy in problem.proxies}
        self._reached: dict[tuple[str, int], int] = {}

    def price(self, design: Design, objective: str, stop: int | None = None) -> float:
        """The cost of measuring one objective of a design now, up to a step if it has steps; 0 for a known value."""
        row = self.problem.space.designs([design])
        if objective in self._proxies:
            return (
                0.0
                if self._place(objective, row) in self._reached
                else float(self._proxies[objective].costs(row)[0, 0])
            )
        purchase = self._purchase(objective)
        if self._is_known(purchase, row):
            return 0.0
        whole = float(self.problem.costs(row)[0, purchase.members[0]])
        return whole if objective not in self.problem.curves else self._price_of_steps(row, objective, stop, whole)

    def measure(self, design: Design, objective: str, stop: int | None = None) -> Measurement:
        """Measure one objective of a design, and what is measured with it; the cost of a known value is 0.

        An objective with steps may stop before the last one; the measurement then has the value after that step.
        """
        row, cost = self.problem.space.designs([design]), self.price(design, objective, stop)
        if objective in self._proxies:
            return self._measured_proxy(design, objective, row, cost)
        curve = self.problem.curves.get(objective)
        if curve is None:
            return self._measured(design, self._purchase(objective), row, cost)
        place, stop = self._place(objective, row), curve.steps if stop is None else stop
        self._reached[place] = max(self._reached.get(place, 0), stop)
        losses = curve.values(row)[0].tolist()
        reports = tuple((step, losses[step - 1]) for step in range(1, stop))
        if stop == curve.steps:
            whole = self._measured(design, self._purchase(objective), row, cost)
            return SteppedMeasurement(design, whole.values, cost, None, reports)
        self.spent += cost
        self._touched[row[0]] = None
        return SteppedMeasurement(design, {objective: losses[stop - 1]}, cost, None, reports)

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

    def _measured(self, design: Design, purchase: Purchase, row: Designs, cost: float) -> Measurement:
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

    def _measured_proxy(self, design: Design, name: str, row: Designs, cost: float) -> Measurement:
        self.spent += cost
        self._reached[self._place(name, row)] = 1
        self._touched[row[0]] = None
        return Measurement(design, {name: float(self._proxies[name].values(row)[0, 0])}, cost, None)

    def _price_of_steps(self, row: Designs, objective: str, stop: int | None, whole: float) -> float:
        """What the steps cost that were not reached before, given the cost of all."""
        curve, start = self.problem.curves[objective], self._reached.get(self._place(objective, row), 0)
        stop = curve.steps if stop is None else stop
        if not 1 <= stop <= curve.steps:
            raise InvalidValueError(f"Objective {objective!r} stops at {stop}; it has the steps 1 to {curve.steps}.")
        costs: list[float] = [0.0, *curve.costs(row)[0, :-1].tolist(), whole]
        return max(0.0, costs[stop] - costs[start])

    def _is_known(self, purchase: Purchase, row: Designs) -> bool:
        """Whether a purchase for a design would only repeat exact values."""
        varies = self._noisy and any(self.problem.objectives[j].noisy for j in purchase.members)
        return not varies and _key(purchase, row) in self._bought

    def _purchase(self, objective: str) -> Purchase:
        if objective not in self._purchases:
            raise unknown_name("objective", objective, self._purchases)
        return self._purchases[objective]

    def _place(self, name: str, row: Designs) -> tuple[str, int]:
        """Identifies the steps of an objective of a design, or its proxy."""
        return (name, int(row.keys()[0])) if name in self._proxies else _key(self._purchase(name), row)

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
