"""Verdict: what a comparison says, as tables for the terminal and as one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flexibo.compare.page.facts import ProblemFacts, Sheet, facts_of
from flexibo.compare.problems.table import find_problem
from flexibo.compare.report.page import write_report
from flexibo.compare.report.tables import against_best_table, error_table, ranking_table
from flexibo.compare.report.text_table import TextTable
from flexibo.compare.rivals import RIVALS
from flexibo.compare.runs import Allowance, Run
from flexibo.compare.statistics.goals import Reached, goals_table, reached
from flexibo.compare.statistics.ranking import AgainstBest, Ranking, against_best, ranking
from flexibo.compare.stored_results import describe, stored_runs
from flexibo.compare.suites import Suite

SHARES_SHOWN = (0.25, 0.5, 1.0)
CHEAPEST_SECONDS = 1.0
"""Where thinking counts, the cheapest evaluation of a problem is taken to last so long."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a comparison says.

    Attributes:
        suite: What was compared.
        runs: All runs.
        ours: The method that is judged.
        thinking: What thinking costs on each problem; None where it is not counted.
        rankings: One for each of `SHARES_SHOWN`.
        against: Our method against the best rival, and against the best other contestant, where there are any; for each
            of `SHARES_SHOWN`.
        goals: What was reached of the suite's goals.
    """

    suite: Suite
    runs: tuple[Run, ...]
    ours: str
    thinking: OverheadPrices | None
    rankings: tuple[Ranking, ...]
    against: Mapping[str, tuple[AgainstBest, ...]]
    goals: tuple[Reached, ...] = ()

    def tables(self) -> list[Any]:
        """The tables for a terminal, to be printed with rich."""
        grids = [ranking_table(self.rankings[-1]), *self._verdict_tables()]
        return [error_table(self.runs, self.suite.methods, thinking=self.thinking), *(grid.table() for grid in grids)]

    def notes(self) -> list[str]:
        """What a reader of the results must know."""
        told = []
        for name in self.suite.rivals:
            parts = [part for part in (RIVALS[name].caveat, _origin(name, self.runs, self.suite.allowance)) if part]
            if parts:
                told.append(f"{name}: {' '.join(parts)}")
        limited = sorted({*self.suite.methods, *self.suite.rivals} & self.suite.limits.keys())
        told += [f"{name} is slow: it {self.suite.limits[name].told(self.suite.seeds)}." for name in limited]
        if self.thinking is not None or any(one.goal.counts_overhead for one in self.goals):
            begin = "Thinking" if self.thinking is not None else "In the goals that say so, thinking"
            told.append(
                f"{begin} counts as cost, with {CHEAPEST_SECONDS:g} s for the cheapest evaluation of each problem. "
                "The moments of a run are 5 % of the budget apart; the last one that is paid for counts. "
                "StoredResults runs were thought out on other machines."
            )
        return told

    def write(self, path: Path, command: str) -> None:
        """Write the page."""
        grids = [*map(ranking_table, reversed(self.rankings)), *self._verdict_tables()]
        write_report(
            path,
            self.runs,
            problem_facts(self.suite),
            ours=self.ours,
            title="Comparison at equal cost",
            command=command,
            allowance={
                "methods": ", ".join(self.suite.methods),
                "rivals": ", ".join(self.suite.rivals) or "none",
                "seeds": f"{self.suite.seeds}",
                "initial designs": f"{self.suite.allowance.n_initial}, free of charge, the same for all",
                "budget": f"{self.suite.allowance.budget:g} mean full evaluations",
            },
            tables=[Sheet(grid.title, grid.headings, grid.rows, grid.notes) for grid in grids],
            notes=self.notes(),
        )

    def _verdict_tables(self) -> list[TextTable]:
        goals = [goals_table(self.goals, self.ours)] if self.goals else []
        return [*(against_best_table(results, whom) for whom, results in self.against.items()), *goals]


def _origin(rival: str, runs: Sequence[Run], allowance: Allowance) -> str:
    """How the results of a rival were made that come with the package, where some of the runs are such."""
    made = describe(rival)
    own = [run for run in runs if run.method == rival]
    if made is None or made.allowance != allowance:
        return ""
    stored = {run.key: run for run in stored_runs([run.key for run in own], allowance, made.problems)}
    n = sum(stored.get(run.key) == run for run in own)
    return f"{n} of its {len(own)} runs are stored ones, made with {made.versions} on {made.machine}." if n else ""


def verdict(suite: Suite, runs: Sequence[Run], *, count_thinking: bool = False) -> Verdict:
    """What the runs of a suite say about its first method."""
    ours = (*suite.methods, *suite.rivals)[0]
    prices = overhead_prices(suite) if count_thinking or suite.goals else {}
    thinking = prices if count_thinking else None
    rng = np.random.default_rng(0)
    ranked = [ranking(runs, share, rng, ours=ours, thinking=thinking) for share in SHARES_SHOWN]
    present = {run.method for run in runs} - {ours}
    rivals = [name for name in suite.rivals if name in present]
    everybody = [name for name in (*suite.methods, *suite.rivals) if name in present]
    groups = {"rival": rivals, "contestant": [] if rivals == everybody else everybody}
    against = {
        whom: tuple(
            against_best(runs, ours, group, share, np.random.default_rng(0), thinking=thinking)
            for share in SHARES_SHOWN
        )
        for whom, group in groups.items()
        if group
    }
    goals = reached(suite.goals, runs, ours, prices)
    return Verdict(suite, tuple(runs), ours, thinking, tuple(ranked), against, goals)


def overhead_prices(suite: Suite) -> dict[str, tuple[float, float]]:
    """By problem: the budget, and what a second of thinking costs, both in the problem's unit."""
    prices = {}
    for name in suite.problems:
        problem = find_problem(name)
        costs = problem.mean_costs()
        prices[name] = (suite.allowance.amount(problem), float(costs[costs > 0].min()) / CHEAPEST_SECONDS)
    return prices


def problem_facts(suite: Suite) -> Mapping[str, ProblemFacts]:
    """What the page tells about each problem."""
    problems = {name: find_problem(name) for name in suite.problems}
    return {name: facts_of(problem, suite.allowance.amount(problem)) for name, problem in problems.items()}
