"""What the start of a study costs and brings: ``python -m benchmarks.initial_designs``.

The default method optimises problems of the development suite with its own start, which costs at most a fifth of the
budget, and with ten complete initial designs (`n_initial=10`). Both have the same money, initial designs included. As
in a study of a user's, no reference point is given. What counts is the confirmed error, as in ``flexibo compare``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from flexibo import Study
from flexibo._internal.arrays import FloatArray
from flexibo.compare.metered_problem import MeteredProblem
from flexibo.compare.problems.table import find_problem
from flexibo.compare.suites import DEVELOPMENT_PROBLEMS, SUITES

SHARES = (0.25, 0.5, 1.0)
LEAST = 1e-3  # smaller errors count as this: their ratios mean nothing
FULL = 10


@dataclass(frozen=True, slots=True)
class Result:
    """The confirmed errors at `SHARES` of the budget, and the share of the budget that the start cost."""

    problem: str
    seed: int
    budget: float
    n_initial: int | None
    errors: tuple[float, ...]
    start: float


def run(problem_name: str, seed: int, budget: float, n_initial: int | None) -> Result:
    """One study with a budget in mean full evaluations; `n_initial` is None for the default start."""
    problem = find_problem(problem_name)
    metered, money = MeteredProblem(problem, seed=seed), budget * float(problem.mean_costs().sum())
    study = Study(problem.space, problem.objectives, budget=money, seed=seed, n_initial=n_initial)
    errors: list[float] = []
    start = 0.0

    def record(until: float) -> None:
        while len(errors) < len(SHARES) and SHARES[len(errors)] * money < until:
            errors.append(problem.error(metered.confirmed()))

    while (evaluation := study.ask()) is not None:
        until = metered.spent + metered.price(evaluation.design, evaluation.objective)
        if until > money * (1.0 + 1e-9):
            break
        record(until - 1e-9 * money)
        measurement = metered.measure(evaluation.design, evaluation.objective)
        study.tell(evaluation, measurement.values, cost=measurement.cost or 0.0)
        start = metered.spent if evaluation.initial else start
    record(float("inf"))
    return Result(problem_name, seed, budget, n_initial, tuple(errors), start / money)


def _run(task: tuple[str, int, float, int | None]) -> Result:
    return run(*task)


def table(results: Sequence[Result]) -> Table:
    """Errors of the default start over those of ten complete designs: geometric means over seeds, and over problems."""
    shown = Table(title="Confirmed error of the default start over that of ten complete designs")
    for column in ("problem", "budget", *(f"at {share:.0%}" for share in SHARES), "start", "ten designs"):
        shown.add_column(column, justify="left" if column == "problem" else "right")
    budgets = sorted({result.budget for result in results})
    problems = list(dict.fromkeys(result.problem for result in results))
    groups = [([problem], budget) for budget in budgets for problem in problems]
    groups += [(problems, budget) for budget in budgets]
    for names, budget in groups:
        own = _group(results, names, budget, None)
        full = _group(results, names, budget, FULL)
        pairs = [(own[key], full[key]) for key in own if key in full]
        ratios = np.array([np.log(_errors(a)) - np.log(_errors(b)) for a, b in pairs])
        cells = [f"{value:.2f}" for value in np.exp(ratios.mean(axis=0))]
        spent = [f"{np.mean([pair[i].start for pair in pairs]):.0%}" for i in (0, 1)]
        shown.add_row(names[0] if len(names) == 1 else "all", f"{budget:g}", *cells, *spent, end_section=len(names) > 1)
    return shown


def _group(
    results: Iterable[Result], problems: Sequence[str], budget: float, n_initial: int | None
) -> dict[tuple[str, int], Result]:
    return {
        (result.problem, result.seed): result
        for result in results
        if result.problem in problems and result.budget == budget and result.n_initial == n_initial
    }


def _errors(result: Result) -> FloatArray:
    return np.array([max(error, LEAST) for error in result.errors])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all studies and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.initial_designs", description=__doc__.split("\n")[0])
    parser.add_argument("--problems", default=",".join(DEVELOPMENT_PROBLEMS), help="Names, separated by commas.")
    parser.add_argument("--seeds", type=int, default=5, help="The number of seeds.")
    parser.add_argument("--budgets", default="10,20,40", help="Mean full evaluations in all, separated by commas.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="Parallel processes.")
    given = parser.parse_args(arguments)
    first = SUITES["development"].first_seed
    tasks = [
        (problem, seed, float(budget), n_initial)
        for budget in given.budgets.split(",")
        for problem in given.problems.split(",")
        for seed in range(first, first + given.seeds)
        for n_initial in (None, FULL)
    ]
    if given.jobs == 1:
        results = [_run(task) for task in tasks]
    else:
        with ProcessPoolExecutor(given.jobs) as pool:
            results = list(pool.map(_run, tasks))
    Console(width=120).print(table(results))


if __name__ == "__main__":
    main()
