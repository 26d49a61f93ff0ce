"""What a front costs with different methods, against measuring everything: ``python -m benchmarks.savings``.

Recorded tables are searched from scratch: every evaluation is paid, the start included, and an error that designs share
is paid once, by everybody. A study ends when its confirmed front, the designs of which every objective was measured,
misses at most 5 % and then 2 % of the hypervolume of the table's true front (`--targets`). Printed are the median over
seeds of what was spent until then, its share of what the whole table costs, and how many evaluations of each objective
it took. A study that has spent `--most` of the cost of the table counts as not arrived.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from flexibo import Study
from flexibo.compare.metered_problem import MeteredProblem
from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.table import find_problem
from flexibo.objectives import purchases

PROBLEM = "resnet-h200-curves"
METHODS = ("flexibo", "ehvi", "ehvi/cost", "random-coupled")
TARGETS, SEEDS, MOST = (0.05, 0.02), 10, 0.5


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a study had spent, and how often it had measured each objective, when it reached a target; None if never."""

    method: str
    target: float
    spent: float | None
    counts: tuple[int, ...]


def cost_of_all(problem: Problem) -> tuple[float, tuple[int, ...]]:
    """What measuring all designs costs, values that designs share once, and how many evaluations of each objective."""
    metered = MeteredProblem(problem, seed=0)
    for design in problem.typical_designs():
        for purchase in purchases(problem.objectives):
            metered.measure(design, purchase.objective)
    return metered.spent, tuple(metered.counts[name] for name in problem.names)


def search(task: tuple[str, str, int, tuple[float, ...], float]) -> list[Arrival]:
    """Search a table until all targets are reached."""
    name, method, seed, targets, most = task
    problem = find_problem(name)
    metered = MeteredProblem(problem, seed=seed)
    study = Study(
        problem.space,
        problem.objectives,
        method=method,
        budget=most * cost_of_all(problem)[0],
        reference=dict(zip(problem.names, (problem.reference * problem.signs).tolist(), strict=True)),
        seed=seed,
    )
    left = sorted(targets, reverse=True)
    found = []
    while left and (evaluation := study.ask()):
        measured = metered.measure(evaluation.design, evaluation.objective)
        study.tell(evaluation, dict(measured.values), cost=measured.cost or 0.0)
        error = problem.error(metered.confirmed())
        while left and error <= left[0]:
            counts = tuple(metered.counts[name] for name in problem.names)
            found.append(Arrival(method, left.pop(0), metered.spent, counts))
    return found + [Arrival(method, target, None, ()) for target in left]


def table(problem: Problem, methods: Sequence[str], targets: Sequence[float], arrivals: Sequence[Arrival]) -> Table:
    """Medians by method and target; a median is given if more than half of the studies arrived."""
    everything, counts = cost_of_all(problem)
    shown = Table(title=f"{problem.name}: what was spent until the confirmed front misses at most ...")
    for column in ("missed", "method", f"spent [{problem.unit}]", "of all", *problem.names, "arrived"):
        shown.add_column(column, justify="left" if column == "method" else "right")
    shown.add_row("0 %", "measuring everything", f"{everything:.0f}", "100 %", *map(str, counts), "")
    for target in targets:
        for method in methods:
            those = [one for one in arrivals if (one.method, one.target) == (method, target)]
            arrived = sorted((one for one in those if one.spent is not None), key=lambda one: one.spent or 0.0)
            cells = ["-"] * (2 + len(problem.names))
            if 2 * len(arrived) > len(those):
                spent = float(np.median([np.inf if one.spent is None else one.spent for one in those]))
                # Studies that did not arrive count as the most expensive ones.
                middle = arrived[(len(those) - 1) // 2 : len(those) // 2 + 1]
                evaluations = np.mean([one.counts for one in middle], axis=0)
                cells = [f"{spent:.0f}", f"{spent / everything:.0%}", *(f"{count:g}" for count in evaluations)]
            shown.add_row(f"{target:.0%}", method, *cells, f"{len(arrived)} of {len(those)}")
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all studies and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.savings", description=__doc__.split("\n")[0])
    parser.add_argument("--problem", default=PROBLEM, help="A recorded table.")
    parser.add_argument("--methods", default=",".join(METHODS), help="Names, separated by commas.")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="The number of seeds.")
    parser.add_argument("--targets", type=float, nargs="+", default=TARGETS, help="Shares of the hypervolume.")
    parser.add_argument("--most", type=float, default=MOST, help="The budget, as a share of the cost of the table.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="Parallel processes.")
    given = parser.parse_args(arguments)
    methods, targets = given.methods.split(","), tuple(sorted(given.targets, reverse=True))
    tasks = [(given.problem, method, seed, targets, given.most) for seed in range(given.seeds) for method in methods]
    with ProcessPoolExecutor(given.jobs) as pool:
        arrivals = [arrival for found in pool.map(search, tasks) for arrival in found]
    Console(width=120).print(table(find_problem(given.problem), methods, targets, arrivals))


if __name__ == "__main__":
    main()
