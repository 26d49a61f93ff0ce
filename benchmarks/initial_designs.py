"""What the start of a study costs and brings: ``python -m benchmarks.initial_designs``.

The default method optimises problems of the development suite with its own start, which costs at most a fifth of the
budget, and with ten complete initial designs (`n_initial=10`). Both have the same money, initial designs included. As
in a study of a user's, no reference point is given. What counts is the confirmed error, as in ``flexibo compare``, and
the same with the worst values of the whole true front as the reference point.

To judge a change, write the results of the version before it with ``--only-default --out before.json``, and give that
file to the version after it: ``--only-default --before before.json``.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.versions import cell
from flexibo import Study
from flexibo._internal.arrays import FloatArray
from flexibo.compare.metered_problem import MeteredProblem
from flexibo.compare.problems.base import Problem, nadir_reference
from flexibo.compare.problems.table import find_problem
from flexibo.compare.suites import DEVELOPMENT_PROBLEMS, SUITES
from flexibo.pareto import hypervolume

SHARES = (0.25, 0.5, 1.0)
LEAST = 1e-3  # smaller errors count as this: their ratios mean nothing
FULL = 10


@dataclass(frozen=True, slots=True)
class Result:
    """The confirmed errors at `SHARES` of the budget, those by the whole front, and the share that the start cost."""

    problem: str
    seed: int
    budget: float
    n_initial: int | None
    errors: tuple[float, ...]
    whole: tuple[float, ...]
    start: float


def run(problem_name: str, seed: int, budget: float, n_initial: int | None) -> Result:
    """One study with a budget in mean full evaluations; `n_initial` is None for the default start."""
    problem = find_problem(problem_name)
    metered, money = MeteredProblem(problem, seed=seed), budget * float(problem.mean_costs().sum())
    study = Study(problem.space, problem.objectives, budget=money, seed=seed, n_initial=n_initial)
    judge = by_whole_front(problem)
    errors: list[float] = []
    whole: list[float] = []
    start = 0.0

    def record(until: float) -> None:
        while len(errors) < len(SHARES) and SHARES[len(errors)] * money < until:
            errors.append(problem.error(metered.confirmed()))
            whole.append(judge.error(metered.confirmed()))

    while (evaluation := study.ask()) is not None:
        until = metered.spent + metered.price(evaluation.design, evaluation.objective)
        if until > money * (1.0 + 1e-9):
            break
        record(until - 1e-9 * money)
        measurement = metered.measure(evaluation.design, evaluation.objective)
        study.tell(evaluation, measurement.values, cost=measurement.cost or 0.0)
        start = metered.spent if evaluation.initial else start
    record(float("inf"))
    return Result(problem_name, seed, budget, n_initial, tuple(errors), tuple(whole), start / money)


def by_whole_front(problem: Problem) -> Problem:
    """The problem with a reference point beyond its whole true front."""
    reference = nadir_reference(problem.front)
    return replace(problem, reference=reference, best=hypervolume(problem.front, reference))


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


def changes(before: Sequence[Result], after: Sequence[Result]) -> Table:
    """Errors after a change over those before it, with intervals: over the seeds of a problem, then over problems."""
    shown = Table(title="Confirmed error of the default start after the change over that before it")
    for column in ("problem", "budget", "reference", *(f"at {share:.0%}" for share in SHARES)):
        shown.add_column(column, justify="right" if column.startswith("at") else "left")
    for budget in sorted({result.budget for result in after}):
        for measure, said in (("errors", "the problem's"), ("whole", "the whole front's")):
            by_problem = {}
            for problem in dict.fromkeys(result.problem for result in after):
                old, new = (_group(results, [problem], budget, None) for results in (before, after))
                pairs = [(getattr(new[key], measure), getattr(old[key], measure)) for key in new if key in old]
                logs = np.array([np.log(np.maximum(a, LEAST)) - np.log(np.maximum(b, LEAST)) for a, b in pairs])
                by_problem[problem] = logs.reshape(-1, len(SHARES))
                shown.add_row(
                    problem, f"{budget:g}", said, *(cell(column.tolist()) for column in by_problem[problem].T)
                )
            means = np.array([logs.mean(axis=0) for logs in by_problem.values()])
            shown.add_row("all", f"{budget:g}", said, *(cell(column.tolist()) for column in means.T), end_section=True)
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
    parser.add_argument("--only-default", action="store_true", help="Leave out the studies with ten initial designs.")
    parser.add_argument("--out", type=Path, help="Write the results to this file.")
    parser.add_argument("--before", type=Path, help="Compare with the results in this file, of another version.")
    given = parser.parse_args(arguments)
    first = SUITES["development"].first_seed
    tasks = [
        (problem, seed, float(budget), n_initial)
        for budget in given.budgets.split(",")
        for problem in given.problems.split(",")
        for seed in range(first, first + given.seeds)
        for n_initial in ((None,) if given.only_default else (None, FULL))
    ]
    if given.jobs == 1:
        results = [_run(task) for task in tasks]
    else:
        with ProcessPoolExecutor(given.jobs) as pool:
            results = list(pool.map(_run, tasks))
    if given.out is not None:
        given.out.write_text(json.dumps([asdict(result) for result in results]), encoding="utf-8")
    if not given.only_default:
        Console(width=120).print(table(results))
    if given.before is not None:
        before = [Result(**one) for one in json.loads(given.before.read_text(encoding="utf-8"))]
        Console(width=160).print(changes(before, results))


if __name__ == "__main__":
    main()
