"""How often certificates hold: ``python -m benchmarks.certificates``.

First on functions drawn from the model, with hyperparameters that the models know and that they learn; then on the
problems of the standard suite. A certificate holds if the hypervolume that the reported designs miss, of the best front
of the candidates, is within its gap.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from rich.console import Console
from rich.table import Table

from benchmarks.calibration import SHARES, Drawing, Look, drawn_looks, problem_looks
from flexibo.compare.suites import SUITES

DRAWINGS: dict[str, Drawing] = {
    "known": Drawing(),
    "known, smoother": Drawing(length_scale=2.0),
    "known, noisy": Drawing(noise=0.04),
    "known, 3 objectives": Drawing(n=3),
    "learned": Drawing("learned"),
    "learned, noisy": Drawing("learned", noise=0.04),
    "learned and warped": Drawing("learned and warped"),
    "learned and averaged": Drawing("learned and averaged"),
    "learned and averaged, noisy": Drawing("learned and averaged", noise=0.04),
}
FIRST_SEED = 100
"""The comparisons use the seeds from 0 on."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the studies and print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.certificates", description=__doc__)
    parser.add_argument("--draws", type=int, default=100, help="functions to draw for each line; 0 for none")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each problem; 0 for none")
    parser.add_argument("--problems", default=",".join(SUITES["standard"].problems), help="names, with commas")
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args(arguments)
    os.environ["OMP_NUM_THREADS"] = "1"
    console = Console(width=150)
    with ProcessPoolExecutor(given.jobs) as pool:
        if given.draws:
            table = _table(f"Functions drawn from the model, {given.draws} each, delta = {given.delta:g}", "models")
            for name, drawing in DRAWINGS.items():
                run = partial(drawn_looks, drawing, delta=given.delta)
                _add(table, name, list(pool.map(run, range(given.draws))))
            console.print(table)
        if given.seeds:
            table = _table(f"Known problems, {given.seeds} seeds each, delta = {given.delta:g}", "problem")
            for name in given.problems.split(","):
                look = partial(problem_looks, name, delta=given.delta)
                _add(table, name, list(pool.map(look, range(FIRST_SEED, FIRST_SEED + given.seeds))))
            console.print(table)
    return 0


def _add(table: Table, name: str, runs: Sequence[Sequence[Look]]) -> None:
    """Add a line to a table, and print it at once: the whole takes a while."""
    cells = _cells(runs)
    table.add_row(name, *cells)
    print(" | ".join([name, *cells]), file=sys.stderr, flush=True)


def _table(title: str, first: str) -> Table:
    table = Table(title=title, caption="At 25 / 50 / 100 % of the budget; medians of the certified and the true error")
    table.add_column(first)
    for heading in (
        "certificate holds",
        "in all three",
        "all boxes hold",
        "certified",
        "true error",
        "confident, wrongly",
    ):
        table.add_column(heading, justify="right")
    return table


def _cells(runs: Sequence[Sequence[Look]]) -> list[str]:
    """What became of the runs of one line."""
    moments = [[run[i] for run in runs] for i in range(len(SHARES))]
    confident = sum(one.confident for run in runs for one in run)
    return [
        " / ".join(f"{sum(one.holds for one in moment)}" for moment in moments) + f" of {len(runs)}",
        f"{sum(all(one.holds for one in run) for run in runs)}",
        f"{sum(all(one.boxes_hold for one in run) for run in runs)}",
        " / ".join(f"{statistics.median(one.bound for one in moment):.0%}" for moment in moments),
        " / ".join(f"{statistics.median(one.error for one in moment):.1%}" for moment in moments),
        f"{confident}, {sum(one.wrongly_confident for run in runs for one in run)}",
    ]


if __name__ == "__main__":
    sys.exit(main())
