"""The tables of the standard suite from finished runs: ``python -m benchmarks.judged docs/results/standard.csv.xz``.

Runs come from tables of ``flexibo compare`` (``results.csv``, folders with one, or compressed tables), whatever version
of flexibo made them, and those of rivals also from the package. ``flexibo compare --finished`` judges the present
version alone. ``--keep FILE`` writes the runs of flexibo's own methods to a compressed table.
"""

from __future__ import annotations

import argparse
import lzma
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from flexibo.compare.problems.table import find_problem
from flexibo.compare.results_folder import RESULTS
from flexibo.compare.rivals import RIVALS
from flexibo.compare.runs import MEASURES, Run, Task, read_runs, write_runs
from flexibo.compare.statistics.ranking import FEWEST_SEEDS
from flexibo.compare.stored_results import stored_runs
from flexibo.compare.suites import SUITES, Suite
from flexibo.compare.verdict import verdict

WIDTH = 120
COMPRESSED = ".xz"


def table_of_runs(path: Path) -> list[Run]:
    """The runs in a folder of results, or in a table, compressed or not."""
    if path.is_dir():
        return read_runs(path / RESULTS)
    if path.suffix != COMPRESSED:
        return read_runs(path)
    with TemporaryDirectory() as folder:
        table = Path(folder) / RESULTS
        table.write_bytes(lzma.decompress(path.read_bytes()))
        return read_runs(table)


def keep(path: Path, runs: Sequence[Run]) -> None:
    """Write runs as a compressed table, the same bytes for the same runs."""
    with TemporaryDirectory() as folder:
        table = Path(folder) / RESULTS
        write_runs(table, Path(folder) / "fronts.csv", runs)
        path.write_bytes(lzma.compress(table.read_bytes(), preset=9))


def finished_runs(suite: Suite, tables: Sequence[Path]) -> list[Run]:
    """The runs of a suite that there are; of a run in several tables, the last."""
    tasks = suite.tasks()
    prints = {name: find_problem(name).fingerprint() for name in suite.problems}
    stored = stored_runs([task for task in tasks if task[1] in RIVALS], suite.allowance, prints)
    known: dict[Task, Run] = {run.key: run for run in stored}
    known |= {run.key: run for path in tables for run in table_of_runs(path)}
    return [known[task] for task in tasks if task in known]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judged", description=__doc__)
    parser.add_argument("tables", type=Path, nargs="+", help="results.csv, folders with one, or compressed tables")
    parser.add_argument("--suite", default="standard", choices=sorted(SUITES))
    parser.add_argument("--methods", help="only these methods of flexibo; the first one is judged")
    parser.add_argument("--rivals", help="only these rivals")
    parser.add_argument("--without", default="", help="problems to leave out")
    parser.add_argument("--measure", default="confirmed", choices=MEASURES)
    parser.add_argument("--count-thinking", action="store_true", help="count overhead as cost")
    parser.add_argument("--fewest-seeds", type=int, default=FEWEST_SEEDS)
    parser.add_argument("--other-seeds", action="store_true")
    parser.add_argument("--keep", type=Path, help="a compressed table for the runs of flexibo's own methods")
    given = parser.parse_args(arguments)
    suite = SUITES[given.suite]
    left_out = given.without.split(",")
    suite = replace(
        suite,
        problems=tuple(name for name in suite.problems if name not in left_out),
        methods=suite.methods if given.methods is None else tuple(filter(None, given.methods.split(","))),
        rivals=suite.rivals if given.rivals is None else tuple(filter(None, given.rivals.split(","))),
    )
    runs = finished_runs(suite, given.tables)
    if given.keep:
        keep(given.keep, [run for run in runs if run.method not in RIVALS])
    found = verdict(
        suite,
        runs,
        count_overhead=given.count_thinking,
        fewest=given.fewest_seeds,
        other_seeds=given.other_seeds,
    )
    console = Console(width=WIDTH, highlight=False)
    for table in found.tables(given.measure):
        console.print(table)
        console.print()
    for note in found.notes():
        console.print(note, markup=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
