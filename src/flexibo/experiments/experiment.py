"""Experiment: runs methods, evaluates their repeats, and writes tables, figures and a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from flexibo._internal.records import write_csv
from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.table import find_problem
from flexibo.errors import InvalidValueError, MissingExtraError
from flexibo.experiments.claims import ExperimentResult
from flexibo.experiments.making import repeats_of
from flexibo.experiments.repeats import ITERATION, PROBLEMS, ExperimentSize, Progress, Repeat

MOMENTS = 41
"""The number of iterations of each repeat in the CSV; figures and tables use all of them."""

DPI = 110
FEWEST_DESIGNS = 1000
"""A problem with fewer designs is a small table."""
FEW_INITIAL = 6
"""The initial designs on a small table."""

Figures = dict[str, Any]
"""Matplotlib figures by file name without extension."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One of the paper's experiments: the result and the figures of repeats, given the problems by name."""

    name: str
    summary: str
    methods: tuple[str, ...]
    evaluate: Callable[[Sequence[Repeat], Mapping[str, Problem]], ExperimentResult] = field(repr=False)
    figures: Callable[[Sequence[Repeat], Mapping[str, Problem]], Figures] = field(repr=False)
    problems: tuple[str, ...] = PROBLEMS

    def run(
        self,
        size: ExperimentSize | None = None,
        problems: Sequence[str] = (),
        out: Path | str = "results",
        jobs: int = 1,
        progress: Progress | None = None,
    ) -> ExperimentResult:
        """Make the missing repeats, evaluate all of them, and write tables, figures and a report.

        Args:
            size: The size of the experiment; by default the one of `usual_size`.
            problems: Names of problems; the experiment's own by default.
            out: The output folder. Finished repeats in it, of this or another experiment, are reused.
            jobs: The number of processes.
            progress: Called whenever a repeat is finished.
        """
        found = {problem.name: problem for problem in map(find_problem, problems or self.problems)}
        if not found:
            raise InvalidValueError("There is no problem; give at least one.")
        size = size or usual_size(found.values())
        out = Path(out)
        repeats = repeats_of(size, list(found.values()), self.methods, out, jobs=jobs, progress=progress)
        result = self.evaluate(repeats, found)
        result = replace(result, notes=(f"{size}. {ITERATION}", *result.notes))
        tables = {
            f"{self.name}{ending}.csv": [row for repeat in repeats for row in rows_of(repeat)]
            for ending, rows_of in (("", _moments), ("-evaluations", _bought))
        }
        return written(result, tables, lambda: self.figures(repeats, found), out)


def usual_size(problems: Iterable[Problem]) -> ExperimentSize:
    """The paper's size; on a small table 6 initial designs, and iterations for a quarter of its designs.

    In 20 initial designs and 200 iterations every method would measure nearly all of a table of 224 designs.
    """
    smallest = min(problem.space.size for problem in problems)
    paper = ExperimentSize()
    if smallest >= FEWEST_DESIGNS:
        return paper
    return replace(paper, n_initial=FEW_INITIAL, iterations=max(1, min(paper.iterations, int(smallest) // 4)))


def written(
    result: ExperimentResult,
    tables: Mapping[str, list[dict[str, Any]]],
    figures_of: Callable[[], Figures],
    out: Path,
) -> ExperimentResult:
    """Write a report, CSV tables by file name, and figures to a folder; returns the result with these files."""
    out.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        write_csv(out / name, rows, [])
    figures = []
    try:
        for name, figure in figures_of().items():
            figures.append(out / f"{name}.png")
            figure.savefig(figures[-1], dpi=DPI)
    except MissingExtraError as error:
        result = replace(result, notes=(*result.notes, f"No figures: {error}"))
    report = out / f"{result.name}.md"
    report.write_text(result.markdown(figures), encoding="utf-8")
    return replace(result, files=(report, *(out / name for name in tables), *figures))


def _moments(repeat: Repeat) -> list[dict[str, Any]]:
    last = len(repeat.iterations) - 1
    chosen = sorted({round(number) for number in np.linspace(0, last, MOMENTS)})
    overhead = np.cumsum([iteration.overhead_s for iteration in repeat.iterations])
    return [
        {
            "problem": repeat.problem,
            "method": repeat.method,
            "seed": repeat.seed,
            "iteration": iteration.number,
            "spent": iteration.spent,
            "log_spent": iteration.log_spent,
            "thinking_s": f"{overhead[iteration.number]:.6g}",
            "error": iteration.error,
            "confirmed": "" if iteration.confirmed is None else iteration.confirmed,
            "in_target": iteration.in_target,
        }
        for iteration in (repeat.iterations[number] for number in chosen)
    ]


def _bought(repeat: Repeat) -> list[dict[str, Any]]:
    return [
        {
            "problem": repeat.problem,
            "method": repeat.method,
            "seed": repeat.seed,
            "objective": objective,
            "evaluations": repeat.count(objective),
            "cost": f"{repeat.cost(objective):.9g}",
            "unit": repeat.unit,
        }
        for objective in repeat.leads
    ]
