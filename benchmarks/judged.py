"""The tables of a suite from finished runs: ``python -m benchmarks.judged docs/results/standard.csv.xz``.

Runs come from tables of ``flexibo compare`` (``results.csv``, folders with one, or compressed tables), whatever version
of flexibo made them, and those of rivals also from the package. ``flexibo compare --finished`` judges the present
version alone. ``--keep FILE`` writes the runs that do not come with the package to a compressed table; ``--page FILE``
writes the tables into a page that has their headings.
"""

from __future__ import annotations

import argparse
import lzma
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console, RenderableType

from flexibo.compare.problems.table import find_problem
from flexibo.compare.results_folder import RESULTS
from flexibo.compare.rivals import RIVALS
from flexibo.compare.runs import MEASURES, Measure, Run, Task, read_runs, write_runs
from flexibo.compare.statistics.ranking import FEWEST_SEEDS
from flexibo.compare.stored_results import stored_runs
from flexibo.compare.suites import SUITES, Suite
from flexibo.compare.verdict import Verdict, verdict
from flexibo.errors import FlexiBOError

WIDTH = 120
COMPRESSED = ".xz"
SECTIONS: Mapping[str, tuple[Measure, Sequence[str]]] = {
    "By group of problems": ("confirmed", ("by group of problems",)),
    "Goals": ("confirmed", ("Goals of",)),
    "Money": ("confirmed", ("Share of the budget",)),
    "Against the best other contestant": ("confirmed", ("against the best contestant",)),
    "Against the best rival": ("confirmed", ("against the best rival",)),
    "Rankings": ("confirmed", ("Ranking by",)),
    "By model error": ("model", ("Ranking by", "Goals of")),
    "Suggestions that were replaced": ("confirmed", ("Suggestions of",)),
    "Errors": ("confirmed", ("error in % of the hypervolume",)),
}
"""Headings of a page, and the tables below them: the error that they show, and words of their titles."""


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


def filled(page: str, found: Verdict) -> str:
    """A page with new tables: they replace the first block of text below each of `SECTIONS` that the page has."""
    tables = {measure: found.tables(measure) for measure in found.judgements}
    for heading, (measure, words) in SECTIONS.items():
        chosen = [table for table in tables.get(measure, []) if any(word in table.title for word in words)]
        if (start := page.find(f"\n## {heading}\n")) < 0:
            continue
        begin = page.index("\n```\n", start) + len("\n```\n")
        page = page[:begin] + "\n".join(map(_text, chosen)) + page[page.index("```", begin) :]
    return page


def _text(table: RenderableType) -> str:
    """A table as lines of text."""
    console = Console(width=WIDTH, highlight=False, file=StringIO(), color_system=None)
    console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]


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
    parser.add_argument("--keep", type=Path, help="a compressed table for the runs that do not come with the package")
    parser.add_argument("--page", type=Path, help="a page in Markdown whose tables are replaced")
    given = parser.parse_args(arguments)
    suite = SUITES[given.suite]
    left_out = given.without.split(",")
    suite = replace(
        suite,
        problems=tuple(name for name in suite.problems if name not in left_out),
        methods=suite.methods if given.methods is None else tuple(filter(None, given.methods.split(","))),
        rivals=suite.rivals if given.rivals is None else tuple(filter(None, given.rivals.split(","))),
    )
    try:
        runs = finished_runs(suite, given.tables)
    except FlexiBOError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if given.keep:
        stored = {} if suite.allowance.from_scratch else RIVALS
        keep(given.keep, [run for run in runs if run.method not in stored])
    found = verdict(
        suite,
        runs,
        count_overhead=given.count_thinking,
        fewest=given.fewest_seeds,
        other_seeds=given.other_seeds,
    )
    if given.page:
        given.page.write_text(filled(given.page.read_text(encoding="utf-8"), found), encoding="utf-8")
    console = Console(width=WIDTH, highlight=False)
    for table in found.tables(given.measure):
        console.print(table)
        console.print()
    for note in found.notes():
        console.print(note, markup=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
