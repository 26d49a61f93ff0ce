"""Verdict: what a comparison shows, as tables for the terminal and as one page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from flexibo.compare.contestants import is_default, rival_entry
from flexibo.compare.problems.base import GROUPS
from flexibo.compare.problems.table import find_problem
from flexibo.compare.report.page import write_page
from flexibo.compare.report.tables import (
    against_best_table,
    error_table,
    goals_table,
    money_table,
    ranking_table,
    suggestions_table,
    summary_table,
)
from flexibo.compare.report.text_table import TextTable
from flexibo.compare.runs import MEASURES, Allowance, Measure, Run
from flexibo.compare.statistics.errors import OverheadPrices
from flexibo.compare.statistics.goals import SHARES_SHOWN, GoalResult, goal_results
from flexibo.compare.statistics.money import money
from flexibo.compare.statistics.ranking import FEWEST_SEEDS, AgainstBest, Ranking, against_best, ranking
from flexibo.compare.stored_results import describe, stored_runs
from flexibo.compare.suites import Suite

CHEAPEST_SECONDS = 1.0
"""If the overhead counts as cost, the cheapest evaluation of a problem is assumed to take this long."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a comparison shows by one measure.

    Attributes:
        ranking: All contestants at the end of the budget.
        against: Our method against the best rival, and against the best other contestant, for each of `SHARES_SHOWN`.
    """

    ranking: Ranking
    against: Mapping[str, tuple[AgainstBest, ...]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a comparison shows.

    Attributes:
        ours: The method under test.
        prices: The price of the overhead on each problem; None if the overhead costs nothing.
        judgements: By measure, confirmed errors first.
        groups: The group of each problem.
        goals: How far the goals of the suite were reached, by measure.
    """

    suite: Suite
    runs: tuple[Run, ...]
    ours: str
    prices: OverheadPrices | None
    judgements: Mapping[Measure, Judgement]
    groups: Mapping[str, str]
    goals: Mapping[Measure, tuple[GoalResult, ...]] = field(default_factory=dict)

    def tables(self, measure: Measure = "confirmed") -> list[Any]:
        """The tables for a terminal, to be printed with rich: a summary by all measures, the others by one."""
        errors = error_table(self.runs, self.suite.methods, measure=measure, prices=self.prices)
        ends = [*self._goals(measure), *self._money(), *self._suggestions()]
        return [errors, *self._summary(), *self._of(measure), *ends]

    def notes(self) -> list[str]:
        """What a reader of the results must know."""
        notes = []
        if self.suite.allowance.from_scratch:
            notes.append(f"Initial designs are {_initial_designs(self.suite.allowance)}.")
        for name in self.suite.rivals:
            parts = [
                part for part in (rival_entry(name).caveat, _origin(name, self.runs, self.suite.allowance)) if part
            ]
            if parts:
                notes.append(f"{name}: {' '.join(parts)}")
        limited = sorted({*self.suite.methods, *self.suite.rivals} & self.suite.limits.keys())
        notes += [f"{name} is slow: it {self.suite.limits[name].description(self.suite.seeds)}." for name in limited]
        if self.prices is not None or any(goal.counts_overhead for goal in self.suite.goals):
            where = "" if self.prices is not None else " in the goals that say so"
            notes.append(
                f"The overhead of the optimiser counts as cost{where}, with {CHEAPEST_SECONDS:g} s for the cheapest "
                "evaluation of each problem. A run is judged at steps of 5 % of the budget: the last affordable one "
                "counts. The overhead of stored runs was measured on other machines."
            )
        return notes

    def write(self, path: Path, command: str) -> None:
        """Write the page."""
        write_page(
            path,
            self.runs,
            {name: find_problem(name) for name in self.suite.problems},
            self.suite.allowance,
            ours=self.ours,
            facts={
                "methods": ", ".join(self.suite.methods),
                "rivals": ", ".join(self.suite.rivals) or "none",
                "seeds": f"{self.suite.seeds}",
                "initial designs": _initial_designs(self.suite.allowance),
                "budget": f"{self.suite.allowance.budget:g} mean full evaluations",
                "command": command,
            },
            summary=[*self._summary(), *self._money(), *self._suggestions()],
            tables={measure: [*self._of(measure), *self._goals(measure)] for measure in self.judgements},
            notes=self.notes(),
        )

    def _summary(self) -> list[TextTable]:
        against = {m: one.against["contestant"] for m, one in self.judgements.items() if "contestant" in one.against}
        return [summary_table(against, self.groups)] if against else []

    def _of(self, measure: Measure) -> list[TextTable]:
        """The tables of one measure: rankings, of the headline group first, and our method against the best others."""
        if measure not in self.judgements:
            return []
        found = self.judgements[measure]
        headline = [name for name, group in self.groups.items() if group == next(iter(GROUPS))]
        rankings = [ranking_table(found.ranking, f"{measure} error")]
        runs = [run for run in self.runs if run.problem in headline]
        if len(headline) < len(self.groups) and any(run.method == self.ours for run in runs):
            shown = ranking(runs, SHARES_SHOWN[-1], ours=self.ours, measure=measure, prices=self.prices)
            rankings.insert(0, ranking_table(shown, f"{measure} error on {next(iter(GROUPS.values()))}"))
        against = (
            against_best_table(results, group, measure=measure, groups=self.groups)
            for group, results in found.against.items()
        )
        return [*rankings, *against]

    def _suggestions(self) -> list[TextTable]:
        table = suggestions_table(self.runs, self.groups)
        return [] if table is None else [table]

    def _money(self) -> list[TextTable]:
        goal = self.suite.money
        if goal is None or not {self.ours, goal.baseline} <= {run.method for run in self.runs}:
            return []
        present = {run.method for run in self.runs}
        contestants = [name for name in (*self.suite.methods, *self.suite.rivals) if name in present]
        return [money_table(money(self.runs, goal.baseline), goal, contestants, self.groups)]

    def _goals(self, measure: Measure) -> list[TextTable]:
        return [goals_table(found, self.ours, measure)] if (found := self.goals.get(measure)) else []


def _initial_designs(allowance: Allowance) -> str:
    if not allowance.from_scratch:
        return f"{allowance.n_initial}, free of charge, the same for all"
    return (
        "paid from the budget: the own start of methods of flexibo that know the budget, "
        f"{allowance.paid_designs} designs of the others"
    )


def _origin(rival: str, runs: Sequence[Run], allowance: Allowance) -> str:
    """How the runs of a rival that come with the package were made, if there are any."""
    made = describe(rival)
    own = [run for run in runs if run.method == rival]
    if made is None or made.allowance != allowance:
        return ""
    stored = {run.key: run for run in stored_runs([run.key for run in own], allowance, made.problems)}
    n = sum(stored.get(run.key) == run for run in own)
    return f"{n} of its {len(own)} runs are stored ones, made with {made.versions} on {made.machine}." if n else ""


def verdict(
    suite: Suite,
    runs: Sequence[Run],
    *,
    count_overhead: bool = False,
    fewest: int = FEWEST_SEEDS,
    other_seeds: bool = False,
) -> Verdict:
    """What the runs of a suite show about its first method; the overhead of the optimiser may count as cost.

    The others are all contestants that are not the default method, if the first one is. How the best of them is chosen
    (`fewest`, `other_seeds`) is said in `against_best`; goals have its defaults.
    """
    ours = (*suite.methods, *suite.rivals)[0]
    prices = overhead_prices(suite) if count_overhead or suite.goals else {}
    counted = prices if count_overhead else None
    present = {run.method for run in runs} - {ours}
    others = [
        name
        for name in (*suite.methods, *suite.rivals)
        if name in present and not (is_default(name) and is_default(ours))
    ]
    groups = {name: find_problem(name).group for name in suite.problems}
    compared = partial(against_best, prices=counted, fewest=fewest, other_seeds=other_seeds)
    judgements = {
        measure: judgement
        for measure in MEASURES
        if (judgement := _judgement(runs, ours, others, suite.rivals, compared, measure, counted)) is not None
    }
    goals = {
        measure: goal_results(suite.goals, runs, ours, others, groups=groups, prices=prices, measure=measure)
        for measure in judgements
        if suite.goals
    }
    return Verdict(suite, tuple(runs), ours, counted, judgements, groups, goals)


def _judgement(
    runs: Sequence[Run],
    ours: str,
    others: Sequence[str],
    rivals: Sequence[str],
    compared: Callable[..., AgainstBest],
    measure: Measure,
    prices: OverheadPrices | None,
) -> Judgement | None:
    """The judgement by one measure; None if our method has no such error."""
    judged = [run for run in runs if run.moments[0].error(measure) is not None]
    mine = {(run.problem, run.seed) for run in judged if run.method == ours}
    if not mine:
        return None
    matched = {run.method for run in judged if (run.problem, run.seed) in mine}
    sets = {
        "rival": [m for m in others if m in matched and m in rivals],
        "contestant": [m for m in others if m in matched],
    }
    return Judgement(
        ranking(judged, SHARES_SHOWN[-1], ours=ours, measure=measure, prices=prices),
        {
            name: tuple(compared(judged, ours, methods, share, measure=measure) for share in SHARES_SHOWN)
            for name, methods in sets.items()
            if methods and (name == "contestant" or methods != sets["contestant"])
        },
    )


def overhead_prices(suite: Suite) -> dict[str, tuple[float, float]]:
    """By problem: the budget, and the price of a second of overhead, both in the unit of the problem's costs."""
    prices = {}
    for name in suite.problems:
        problem = find_problem(name)
        costs = problem.mean_costs()
        prices[name] = (suite.allowance.amount(problem), float(costs[costs > 0].min()) / CHEAPEST_SECONDS)
    return prices
