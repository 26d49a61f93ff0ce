"""Goals: what our method must reach in a comparison, what it aims at, and whether it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexibo._internal.text import printable_line
from flexibo.compare.report.text_table import TextTable
from flexibo.compare.runs import Run
from flexibo.compare.statistics.errors import ROUNDING
from flexibo.compare.statistics.ranking import AgainstBest, against_best
from flexibo.compare.statistics.ratios import MARGIN, Ratio

SHARES_TOLD = (0.25, 0.5, 1.0)
SHARES_JUDGED = (0.5, 1.0)
"""At a quarter of the budget the figures are told, but no goal is set."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Something that our method must reach.

    Attributes:
        must: The most that the measure may be.
        aim: The most that we want it to be.
        other: The one that our method is compared with; None for the best other of each problem.
        counts_losses: Whether the measure is the number of problems that are lost clearly, or else the geometric mean
            over problems of our error over the other's.
        counts_overhead: Whether thinking time counts as cost.
    """

    must: float
    aim: float
    other: str | None = None
    counts_losses: bool = False
    counts_overhead: bool = False

    @property
    def measure(self) -> str:
        """What is measured, for people."""
        whom = "the best other" if self.other is None else printable_line(self.other)
        what = f"problems lost to {whom}" if self.counts_losses else f"error over {whom}'s"
        return f"{what}, with thinking" if self.counts_overhead else what


STANDARD_GOALS = (
    Goal(0.8, 0.5),
    Goal(1, 0, counts_losses=True),
    Goal(0.8, 0.5, counts_overhead=True),
    Goal(0.8, 0.6, other="flexibo-gp-log"),
)
"""What the default method is held to on the standard suite."""


@dataclass(frozen=True, slots=True)
class Reached:
    """What was reached of a goal.

    Attributes:
        goal: The goal.
        results: Our method against the other, for each of `SHARES_TOLD`; empty where they were not compared.
    """

    goal: Goal
    results: tuple[AgainstBest, ...]

    @property
    def value(self) -> float:
        """The measure at the worst of `SHARES_JUDGED`; NaN where there are no results."""
        judged = [self.measured(result) for result in self.results if result.share in SHARES_JUDGED]
        return max(judged, default=float("nan"))

    @property
    def must_met(self) -> bool:
        """Whether what must be reached is."""
        return self.value <= self.goal.must + ROUNDING

    @property
    def aim_met(self) -> bool:
        """Whether what is aimed at is reached."""
        return self.value <= self.goal.aim + ROUNDING

    def measured(self, result: AgainstBest) -> float:
        """The measure at one share of the budget."""
        return float(len(result.lost_clearly)) if self.goal.counts_losses else result.ratio.value


def reached(goals: Sequence[Goal], runs: Sequence[Run], ours: str, prices: OverheadPrices) -> tuple[Reached, ...]:
    """What the runs say about each goal.

    Args:
        goals: What to judge.
        runs: Of all contestants.
        ours: The method that is judged.
        prices: What thinking costs on each problem.
    """
    present = {run.method for run in runs}
    found: dict[tuple[str | None, bool], tuple[AgainstBest, ...]] = {}
    for goal in goals:
        key = goal.other, goal.counts_overhead
        comparable = len(present) > 1 if goal.other is None else goal.other in present - {ours}
        if key not in found:
            found[key] = _compared(runs, ours, goal, prices) if comparable and ours in present else ()
    return tuple(Reached(goal, found[goal.other, goal.counts_overhead]) for goal in goals)


def _compared(runs: Sequence[Run], ours: str, goal: Goal, prices: OverheadPrices) -> tuple[AgainstBest, ...]:
    others = None if goal.other is None else [goal.other]
    thinking = prices if goal.counts_overhead else None
    return tuple(
        against_best(runs, ours, others, share, np.random.default_rng(0), thinking=thinking) for share in SHARES_TOLD
    )


def goals_table(found: Sequence[Reached], ours: str) -> TextTable:
    """The cells of a verdict: a goal per row."""
    rows = tuple(_row(one) for one in found)
    styles = {
        (i, j): "bold green" if met else "red"
        for i, one in enumerate(found)
        if one.results
        for j, met in ((4, one.must_met), (5, one.aim_met))
    }
    return TextTable(
        f"Goals of {printable_line(ours)}",
        ("measure", *(f"at {share:.0%}" for share in SHARES_TOLD), "must", "aim"),
        rows,
        _notes(found),
        styles,
    )


def _row(one: Reached) -> tuple[str, ...]:
    if not one.results:
        return one.goal.measure, *["-"] * len(SHARES_TOLD), f"{one.goal.must:g}: not compared", f"{one.goal.aim:g}"
    cells = [_told(one, result) for result in one.results]
    return (
        one.goal.measure,
        *cells,
        f"{one.goal.must:g}: {_met(one.value, one.goal.must, one.must_met)}",
        f"{one.goal.aim:g}: {_met(one.value, one.goal.aim, one.aim_met)}",
    )


def _told(one: Reached, result: AgainstBest) -> str:
    if one.goal.counts_losses:
        return f"{len(result.lost_clearly)} of {len(result.problems)}"
    return _interval(result.ratio)


def _interval(ratio: Ratio) -> str:
    if not np.isfinite(ratio.high):
        return f"{ratio.value:.2f}"
    return f"{ratio.value:.2f} ({ratio.low:.2f}-{ratio.high:.2f})"


def _met(value: float, most: float, met: bool) -> str:
    return "met" if met else f"missed by {value - most:.2g}"


def _notes(found: Sequence[Reached]) -> tuple[str, ...]:
    judged = " and ".join(f"{share:.0%}" for share in SHARES_JUDGED)
    notes = [
        f"Judged at {judged} of the budget, by the worse of them. Ratios are geometric means over problems, with 90% "
        f"intervals; lost: the whole interval of a problem's ratio is above {MARGIN:g}; with thinking: its time costs."
    ]
    for one in found:
        if one.goal.counts_losses and one.results:
            lost = [
                f"{', '.join(map(printable_line, result.lost_clearly))} at {result.share:.0%}"
                for result in one.results
                if result.lost_clearly
            ]
            notes += [f"Lost: {'; '.join(lost)}."] if lost else []
    return tuple(notes)
