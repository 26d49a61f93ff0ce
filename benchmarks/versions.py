"""What a change of a method gave: ``python -m benchmarks.versions results/before results/after ...``.

The folders are of ``flexibo compare`` with the same problems and seeds. Errors after the change over errors before it,
compared seed by seed: geometric means over the seeds of each problem, then over problems. The intervals are Student's
over problems, so they are about other problems of the same kind, too; those of a single problem are over its seeds.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.special import stdtrit

from flexibo.compare.problems.base import GROUPS
from flexibo.compare.problems.table import find_problem
from flexibo.compare.results_folder import RESULTS
from flexibo.compare.runs import MEASURES, Measure, Run, read_runs
from flexibo.compare.statistics.errors import errors
from flexibo.compare.statistics.ratios import LEVEL, log_ratios

SHARES = (0.25, 0.5, 1.0)
HEADER = ["change", "error", "problems", "problems or seeds", *(f"at {share:.0%}" for share in SHARES)]


def changes(before: Sequence[Run], after: Sequence[Run], method: str, measure: Measure) -> dict[str, list[list[float]]]:
    """By problem, at each share, the logarithms of the errors after over those before, one for each seed."""
    found: dict[str, list[list[float]]] = {}
    for share in SHARES:
        old, new = (errors(runs, share, measure=measure) for runs in (before, after))
        for problem in sorted(old.keys() & new.keys()):
            logs = log_ratios(new[problem].get(method, {}), old[problem].get(method, {}))
            if logs:
                found.setdefault(problem, []).append(list(logs.values()))
    return {problem: logs for problem, logs in found.items() if len(logs) == len(SHARES)}


def cell(logs: Sequence[float]) -> str:
    """The geometric mean of ratios, with an interval if there are two or more.

    >>> cell([0.0, math.log(4.0)]), cell([0.0])
    ('2.00 (0.03 to 159.10)', '1.00')
    """
    mean = math.fsum(logs) / len(logs)
    if len(logs) < 2:
        return f"{math.exp(mean):.2f}"
    half = float(stdtrit(len(logs) - 1, 0.5 + LEVEL / 2) * np.std(logs, ddof=1)) / math.sqrt(len(logs))
    return f"{math.exp(mean):.2f} ({math.exp(mean - half):.2f} to {math.exp(mean + half):.2f})"


def rows(
    name: str, measure: str, by_problem: Mapping[str, Sequence[Sequence[float]]], *, each: bool
) -> Iterator[list[str]]:
    """The rows of the table: all problems, each group, and each problem if wanted."""
    groups = {group: [p for p in by_problem if find_problem(p).group == group] for group in GROUPS}
    for title, problems in {"all": list(by_problem), **groups}.items():
        if problems:
            columns = zip(*(map(np.mean, by_problem[problem]) for problem in problems), strict=True)
            yield [name, measure, title, str(len(problems)), *map(cell, columns)]
    for problem in by_problem if each else ():
        yield [name, measure, problem, str(len(by_problem[problem][0])), *map(cell, by_problem[problem])]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versions", description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path, nargs="+")
    parser.add_argument("--method", default="flexibo")
    parser.add_argument("--measures", default="confirmed,model", help=f"some of {', '.join(MEASURES)}")
    parser.add_argument("--each", action="store_true", help="a row for each problem, too")
    given = parser.parse_args(arguments)
    before = read_runs(given.before / RESULTS)
    print(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}")
    for folder in given.after:
        after = read_runs(folder / RESULTS)
        for measure in given.measures.split(","):
            by_problem = changes(before, after, given.method, measure)
            if not by_problem:
                sys.exit(f"{given.before} and {folder} have no runs of {given.method} with common problems and seeds.")
            for row in rows(folder.name, measure, by_problem, each=given.each):
                print(f"| {' | '.join(row)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
