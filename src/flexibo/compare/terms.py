"""Terms: what everybody gets in a comparison."""

from __future__ import annotations

from dataclasses import dataclass

from flexibo.compare.problems.base import Problem
from flexibo.errors import InvalidValueError


@dataclass(frozen=True, slots=True)
class Terms:
    """What everybody gets.

    Attributes:
        n_initial: How many initial designs are measured in every objective, free of charge.
        budget: What may be spent after them, in mean full evaluations (all objectives of one design).
    """

    n_initial: int = 10
    budget: float = 20.0

    def __post_init__(self) -> None:
        if self.n_initial < 2:
            raise InvalidValueError(f"The number of initial designs is {self.n_initial}; it must be at least 2.")
        if not 0 < self.budget < float("inf"):
            raise InvalidValueError(f"budget is {self.budget}; it must be a number of full evaluations above zero.")

    def money(self, problem: Problem) -> float:
        """The budget on a problem, in its own unit."""
        return self.budget * float(problem.mean_costs().sum())
