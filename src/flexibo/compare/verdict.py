"""Verdict: what a comparison shows, as tables for the terminal and as one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flexibo.compare.problems.table import find_problem
from flexibo.compare.report.page import write_page
from flexibo.compare.report.tables import TextTable, against_best_table, error_table, goals_table, ranking_table
from flexibo.compare.rivals import RIVALS
from flexibo.compare.runs import Allowance, Run
from flexibo.compare.statistics.errors import OverheadPrices
from flexibo.compare.statistics.goals import SHARES_SHOWN, GoalResult, goal_results
from flexibo.compare.statistics.ranking import AgainstBest, Ranking, against_best, ranking
from flexibo.compare.stored_results import describe, stored_runs
from flexibo.compare.suites import Suite

CHEAPEST_SECONDS = 1.0
"""If the overhead counts as cost, the cheapest evaluation of a problem is assumed to take this long."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a comparison shows.

    Attributes:
        ours: The method under test.
        prices: The price of the overhead on each problem; None if the overhead costs nothing.
        rankings: One for each of `SHARES_SHOWN`.
        against: Our method against the best rival, and against the best other contestant, for each of `SHARES_SHOWN`.
        goals: How far the goals of the suite were reached.
    """

    suite: Suite
    runs: tuple[Run, ...]
    ours: str
    prices: OverheadPrices | None
    rankings: tuple[Ranking, ...]
    against: Mapping[str, tuple[AgainstBest, ...]]
    goals: tuple[GoalResult, ...] = ()

    def tables(self) -> list[Any]:
        """The tables for a terminal, to be printed with rich."""
        tables = [ranking_table(self.rankings[-1]), *self._verdict_tables()]
        errors = error_table(self.runs, self.suite.methods, shares=SHARES_SHOWN, prices=self.prices)
        return [errors, *(table.rich_table() for table in tables)]

    def notes(self) -> list[str]:
        """What a reader of the results must know."""
        notes = []
        for name in self.suite.rivals:
            parts = [part for part in (RIVALS[name].caveat, _origin(name, self.runs, self.suite.allowance)) if part]
            if parts:
                notes.append(f"{name}: {' '.join(parts)}")
        limited = sorted({*self.suite.methods, *self.suite.rivals} & self.suite.limits.keys())
        notes += [f"{name} is slow: it {self.suite.limits[name].description(self.suite.seeds)}." for name in limited]
        if self.prices is not None or any(result.goal.counts_overhead for result in self.goals):
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
                "initial designs": f"{self.suite.allowance.n_initial}, free of charge, the same for all",
                "budget": f"{self.suite.allowance.budget:g} mean full evaluations",
                "command": command,
            },
            tables=[
                *map(ranking_table, self.rankings[-1:]),
                *self._verdict_tables(),
                *map(ranking_table, self.rankings[-2::-1]),
            ],
            notes=self.notes(),
        )

    def _verdict_tables(self) -> list[TextTable]:
        goals = [goals_table(self.goals, self.ours)] if self.goals else []
        return [*(against_best_table(results, group) for group, results in self.against.items()), *goals]


def _origin(rival: str, runs: Sequence[Run], allowance: Allowance) -> str:
    """How the runs of a rival that come with the package were made, if there are any."""
    made = describe(rival)
    own = [run for run in runs if run.method == rival]
    if made is None or made.allowance != allowance:
        return ""
    stored = {run.key: run for run in stored_runs([run.key for run in own], allowance, made.problems)}
    n = sum(stored.get(run.key) == run for run in own)
    return f"{n} of its {len(own)} runs are stored ones, made with {made.versions} on {made.machine}." if n else ""


def verdict(suite: Suite, runs: Sequence[Run], *, count_overhead: bool = False) -> Verdict:
    """What the runs of a suite show about its first method; the overhead of the optimiser may count as cost."""
    ours = (*suite.methods, *suite.rivals)[0]
    prices = overhead_prices(suite) if count_overhead or suite.goals else {}
    counted = prices if count_overhead else None
    rng = np.random.default_rng(0)
    rankings = [ranking(runs, share, rng, ours=ours, prices=counted) for share in SHARES_SHOWN]
    present = {run.method for run in runs} - {ours}
    rivals = [name for name in suite.rivals if name in present]
    everybody = [name for name in (*suite.methods, *suite.rivals) if name in present]
    groups = {"rival": rivals, "contestant": [] if rivals == everybody else everybody}
    against = {
        group: tuple(
            against_best(runs, ours, names, share, np.random.default_rng(0), prices=counted) for share in SHARES_SHOWN
        )
        for group, names in groups.items()
        if names
    }
    goals = goal_results(suite.goals, runs, ours, prices)
    return Verdict(suite, tuple(runs), ours, counted, tuple(rankings), against, goals)


def overhead_prices(suite: Suite) -> dict[str, tuple[float, float]]:
    """By problem: the budget, and the price of a second of overhead, both in the unit of the problem's costs."""
    prices = {}
    for name in suite.problems:
        problem = find_problem(name)
        costs = problem.mean_costs()
        prices[name] = (suite.allowance.amount(problem), float(costs[costs > 0].min()) / CHEAPEST_SECONDS)
    return prices
