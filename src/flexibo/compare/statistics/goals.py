"""Goals: what our method must reach in a comparison, what it should reach, and whether it does."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from flexibo._internal.text import printable_line
from flexibo.compare.problems.base import GROUPS
from flexibo.compare.runs import Measure, Run
from flexibo.compare.statistics.errors import ROUNDING, OverheadPrices
from flexibo.compare.statistics.ranking import AgainstBest, against_best

SHARES_SHOWN = (0.25, 0.5, 1.0)
SHARES_JUDGED = (0.5, 1.0)
"""Results are shown at a quarter of the budget too, but most goals are not judged there."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Something that our method must reach: at most `must`, better `aim`.

    Attributes:
        other: The method that ours is compared with; None for the best other method of each problem.
        group: The group of problems that counts; None for all problems.
        counts_behind: Whether the number of problems counts on which our method is behind; otherwise it is the
            geometric mean over problems of our error over the other's.
        counts_overhead: Whether the overhead of the optimiser counts as cost.
        shares: The shares of the budget at which it is judged; the worst counts.
    """

    must: float
    aim: float
    other: str | None = None
    group: str | None = None
    counts_behind: bool = False
    counts_overhead: bool = False
    shares: tuple[float, ...] = SHARES_JUDGED

    @property
    def description(self) -> str:
        """What counts, as text."""
        other = "the best other" if self.other is None else printable_line(self.other)
        what = f"problems behind {other}" if self.counts_behind else f"error over {other}'s"
        where = "all problems" if self.group is None else GROUPS.get(self.group, self.group)
        return f"{what}{', with overhead' if self.counts_overhead else ''}, {where}"


STANDARD_GOALS = (
    Goal(0.8, 0.5, group="recorded"),
    Goal(1, 0, group="recorded", counts_behind=True),
    Goal(0.8, 0.5, group="recorded", counts_overhead=True),
    Goal(0.8, 0.6, group="recorded", other="flexibo-gp-log"),
    Goal(0.8, 0.5),
    Goal(1, 0, counts_behind=True),
)
"""The goals of the default method on the standard suite."""

STEPS_GOALS = (
    Goal(0.8, 0.5, shares=SHARES_SHOWN),
    Goal(1.1, 1.0, other="flexibo", group="misleading", shares=SHARES_SHOWN),
)
"""The goals of the default method with steps: against the best rival, and against itself without steps."""


@dataclass(frozen=True, slots=True)
class GoalResult:
    """How far a goal was reached: our method against the other at `SHARES_SHOWN`; empty if they were not compared."""

    goal: Goal
    results: tuple[AgainstBest, ...]

    @property
    def value(self) -> float:
        """What counts, at the worst of the goal's shares; NaN without results."""
        judged = [self.measured(result) for result in self.results if result.share in self.goal.shares]
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
        """What counts, at one share of the budget."""
        return float(len(result.behind)) if self.goal.counts_behind else result.ratio.value


def goal_results(
    goals: Sequence[Goal],
    runs: Sequence[Run],
    ours: str,
    others: Collection[str],
    *,
    groups: Mapping[str, str],
    prices: OverheadPrices,
    measure: Measure = "confirmed",
) -> tuple[GoalResult, ...]:
    """How far each goal was reached, given the others, and the group and the price of overhead of each problem."""
    runs = [run for run in runs if run.moments[0].error(measure) is not None]
    found: dict[tuple[str | None, str | None, bool], tuple[AgainstBest, ...]] = {}
    for goal in goals:
        key = goal.other, goal.group, goal.counts_overhead
        if key not in found:
            own = [run for run in runs if goal.group in (None, groups.get(run.problem))]
            rivals = {*others} if goal.other is None else {goal.other} - {ours}
            found[key] = _compared(own, ours, rivals, prices if goal.counts_overhead else None, measure)
    return tuple(GoalResult(goal, found[goal.other, goal.group, goal.counts_overhead]) for goal in goals)


def _compared(
    runs: Sequence[Run], ours: str, others: Collection[str], prices: OverheadPrices | None, measure: Measure
) -> tuple[AgainstBest, ...]:
    """Our method against the best of the others; empty if no problem has runs of both."""
    mine = {(run.problem, run.seed) for run in runs if run.method == ours}
    if not any((run.problem, run.seed) in mine for run in runs if run.method in others):
        return ()
    return tuple(
        against_best(runs, ours, sorted(others), share, measure=measure, prices=prices) for share in SHARES_SHOWN
    )
