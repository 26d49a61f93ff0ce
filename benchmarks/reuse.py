"""What it gives that designs share a training: ``python -m benchmarks.reuse``.

Recorded tables are replayed as `flexibo run SYSTEM --recorded` does it: the error is that in the precision of a design,
a network that was trained is tested in another precision for the price of a test, energies have error bars, and there
is no reference point. Printed is the share of the true front's hypervolume that the confirmed front misses at the end
of the budget, with `Objective(reuse=...)` and without.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from statistics import fmean, median

from rich.console import Console
from rich.table import Table

from flexibo import Study
from flexibo.compare.problems.recorded_systems import recorded_system
from flexibo.compare.problems.table import find_problem

BUDGETS = {"lenet": 380, "squeezenet": 250, "resnet": 350, "mobilenet": 440, "xception": 400}
BUDGETS |= {"bert-imdb": 200, "bert-squad": 165, "deepspeech": 370}
"""Seconds until about half of the studies miss at most 5 % (`benchmarks.savings`)."""


def missed(task: tuple[str, int, float, bool]) -> float:
    """The share that a study misses at the end of its budget."""
    name, seed, budget, reuses = task
    system, problem = recorded_system(name), find_problem(f"{name}:deployed")
    objectives = [one if reuses else replace(one, reuse=()) for one in system.objectives]
    study = Study(system.space, objectives, budget=budget, seed=seed)
    study.run(system.functions, progress=False)
    return float(problem.error([row.design for row in study.front()]))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reuse", description=__doc__)
    parser.add_argument("--systems", default=",".join(BUDGETS), help="comma-separated")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    shown = Table("", "budget [s]", "median", "mean", "median, no reuse", "mean, no reuse", title="Missed at the end")
    with ProcessPoolExecutor(given.jobs) as pool:
        for system in given.systems.split(","):
            found: list[float] = []
            for reuses in (True, False):
                tasks = [(f"{system}-h200-curves", seed, BUDGETS[system], reuses) for seed in range(given.seeds)]
                errors = list(pool.map(missed, tasks))
                found += [median(errors), fmean(errors)]
            shown.add_row(system, str(BUDGETS[system]), *(f"{error:.3f}" for error in found))
    Console().print(shown)


if __name__ == "__main__":
    main()
