"""What a setting of a rival changes: ``python -m benchmarks.rival_settings botorch-qlognparego --seeds 5``.

The rival runs with and without it on problems of the development suite, from the same initial designs. The table has
its errors with the setting over those without it, as ``python -m benchmarks.versions`` prints them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from benchmarks.versions import HEADER, changes, rows
from flexibo.compare.problems.table import find_problem
from flexibo.compare.rivals import RIVALS
from flexibo.compare.rivals.base import Rival
from flexibo.compare.rivals.botorch_qlognehvi import qlognehvi
from flexibo.compare.rivals.botorch_qlognparego import qlognparego
from flexibo.compare.rivals.optuna_samplers import gp
from flexibo.compare.runs import Run, Task, read_runs, write_runs
from flexibo.compare.single_run import run
from flexibo.compare.suites import SUITES
from flexibo.compare.workers import finished

EXACT = (
    "lenet-h200",
    "tx2-inceptionv3-200",
    "nb201-pixel3",
    "mlp-car",
    "zdt2:finite",
    "dtlz7:finite",
    "dtlz1:ratio=10",
)
POOLS = ("accel-3090", "accel-vck190", "lenet-h200", "mlp-car", "nb201-pixel3", "tx2-inceptionv3-200")
WITH, WITHOUT = "with", "without"


@dataclass(frozen=True, slots=True)
class Choice:
    """A setting of a rival: what it is called, the rival with and without it, and problems on which it matters."""

    name: str
    made: dict[str, Callable[..., Rival]]
    problems: tuple[str, ...]


CHOICES = {
    "botorch-qlognparego": Choice(
        "told that values are exact",
        {WITH: partial(qlognparego, exact=True), WITHOUT: partial(qlognparego, exact=False)},
        EXACT,
    ),
    "botorch-qlognehvi": Choice(
        "told that values are exact",
        {WITH: partial(qlognehvi, exact=True), WITHOUT: partial(qlognehvi, exact=False)},
        EXACT,
    ),
    "optuna-gp": Choice(
        "the pool is scored", {WITH: partial(gp, scores_pool=True), WITHOUT: partial(gp, scores_pool=False)}, POOLS
    ),
}


def made(task: Task, *, rival: str) -> Run:
    """The run of a problem, with or without the setting, and a seed."""
    problem, way, seed = task
    RIVALS[rival] = replace(RIVALS[rival], make=CHOICES[rival].made[way])
    found = run(find_problem(problem), rival, seed, SUITES["development"].allowance)
    return replace(found, method=way, fronts={})


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the runs and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rival_settings", description=__doc__)
    parser.add_argument("rival", choices=sorted(CHOICES))
    parser.add_argument("--problems", help="default: some on which the setting matters")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="a CSV file for the runs; those in it are not made again")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args(arguments)
    choice, first = CHOICES[given.rival], SUITES["development"].first_seed
    problems = given.problems.split(",") if given.problems else choice.problems
    seeds = range(first, first + given.seeds)
    tasks = [(problem, way, seed) for seed in seeds for problem in problems for way in (WITH, WITHOUT)]
    known = {run.key: run for run in (read_runs(given.out) if given.out and given.out.exists() else [])}
    missing = [task for task in tasks if task not in known]
    for task, one in finished(partial(made, rival=given.rival), missing, given.jobs):
        known[task] = one
        if given.out:
            write_runs(given.out, given.out.with_suffix(".fronts"), known.values())
    before, after = ([replace(known[t], method=given.rival) for t in tasks if t[1] == way] for way in (WITHOUT, WITH))
    print(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}")
    for measure in ("confirmed", "model"):
        for row in rows(choice.name, measure, changes(before, after, given.rival, measure), each=True):
            print(f"| {' | '.join(row)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
