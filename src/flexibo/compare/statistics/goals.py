"""Goals: what our method must reach in a comparison, what it should reach, and whether it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexibo._internal.text import printable_line
from flexibo.compare.runs import Run
from flexibo.compare.statistics.errors import ROUNDING, OverheadPrices
from flexibo.compare.statistics.ranking import AgainstBest, against_best

SHARES_SHOWN = (0.25, 0.5, 1.0)
SHARES_JUDGED = (0.5, 1.0)
"""Results are shown at a quarter of the budget too, but no goal is set there."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Something that our method must reach: at most `must`, better `aim`.

    Attributes:
        other: The method that ours is compared with; None for the best other method of each problem.
        counts_losses: Whether the measure is the number of problems that are lost; otherwise it is the geometric mean
            over problems of our error over the other's.
        counts_overhead: Whether the overhead of the optimiser counts as cost.
    """

    must: float
    aim: float
    other: str | None = None
    counts_losses: bool = False
    counts_overhead: bool = False

    @property
    def measure(self) -> str:
        """What is measured, as text."""
        other = "the best other" if self.other is None else printable_line(self.other)
        what = f"problems lost to {other}" if self.counts_losses else f"error over {other}'s"
        return f"{what}, with overhead" if self.counts_overhead else what


STANDARD_GOALS = (
    Goal(0.8, 0.5),
    Goal(1, 0, counts_losses=True),
    Goal(0.8, 0.5, counts_overhead=True),
    Goal(0.8, 0.6, other="flexibo-gp-log"),
)
"""The goals of the default method on the standard suite."""


@dataclass(frozen=True, slots=True)
class GoalResult:
    """How far a goal was reached: our method against the other at `SHARES_SHOWN`; empty if they were not compared."""

    goal: Goal
    results: tuple[AgainstBest, ...]

    @property
    def value(self) -> float:
        """The measure at the worst of `SHARES_JUDGED`; NaN without results."""
        judged = [self.measured(result) for result in self.results if result.share in SHARES_JUDGED]
        return max(judged, default=float("nan"))

    @property
    def must_met(self) -> bool:
        """Whether the required value is reached."""
        return self.value <= self.goal.must + ROUNDING

    @property
    def aim_met(self) -> bool:
        """Whether the wanted value is reached."""
        return self.value <= self.goal.aim + ROUNDING

    def measured(self, result: AgainstBest) -> float:
        """The measure at one share of the budget."""
        return float(len(result.lost)) if self.goal.counts_losses else result.ratio.value


def goal_results(
    goals: Sequence[Goal], runs: Sequence[Run], ours: str, prices: OverheadPrices
) -> tuple[GoalResult, ...]:
    """How far each goal was reached, given the price of the overhead on each problem."""
    present = {run.method for run in runs}
    found: dict[tuple[str | None, bool], tuple[AgainstBest, ...]] = {}
    for goal in goals:
        key = goal.other, goal.counts_overhead
        comparable = len(present) > 1 if goal.other is None else goal.other in present - {ours}
        if key not in found:
            found[key] = _compared(runs, ours, goal, prices) if comparable and ours in present else ()
    return tuple(GoalResult(goal, found[goal.other, goal.counts_overhead]) for goal in goals)


def _compared(runs: Sequence[Run], ours: str, goal: Goal, prices: OverheadPrices) -> tuple[AgainstBest, ...]:
    others = None if goal.other is None else [goal.other]
    counted = prices if goal.counts_overhead else None
    return tuple(
        against_best(runs, ours, others, share, np.random.default_rng(0), prices=counted) for share in SHARES_SHOWN
    )
