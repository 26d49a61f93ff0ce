"""Experiment: runs methods, evaluates their repeats, and writes tables, figures and a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from flexibo._internal.records import write_csv
from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.table import find_problem
from flexibo.errors import InvalidValueError, MissingExtraError
from flexibo.experiments.claims import ExperimentResult
from flexibo.experiments.parallel_repeats import repeats_of
from flexibo.experiments.repeats import ITERATION, PROBLEMS, ExperimentSize, Progress, Repeat

MOMENTS = 41
"""The number of iterations of each repeat in the CSV; figures and tables use all of them."""

DPI = 110

Figures = dict[str, Any]
"""Matplotlib figures by file name without extension."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One of the paper's experiments.

    Attributes:
        name: What users type.
        summary: One line.
        methods: The methods.
        evaluate: The result of repeats, given the problems by name.
        figures: The figures of repeats, likewise.
        problems: The default problems.
    """

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
            size: The size of the experiment; the paper's by default.
            problems: Names of problems; the experiment's own by default.
            out: The output folder. Finished repeats in it, of this or another experiment, are reused.
            jobs: The number of processes.
            progress: Called whenever a repeat is finished.
        """
        size = size or ExperimentSize()
        found = {problem.name: problem for problem in map(find_problem, problems or self.problems)}
        if not found:
            raise InvalidValueError("There is no problem; give at least one.")
        out = Path(out)
        repeats = repeats_of(size, list(found.values()), self.methods, out, jobs=jobs, progress=progress)
        result = self.evaluate(repeats, found)
        result = replace(result, notes=(f"{size}. {ITERATION}", *result.notes))
        tables = write_tables(out, self.name, repeats)
        try:
            figures = [saved(out, name, figure) for name, figure in self.figures(repeats, found).items()]
        except MissingExtraError as error:
            figures = []
            result = replace(result, notes=(*result.notes, f"No figures: {error}"))
        report = out / f"{self.name}.md"
        report.write_text(result.markdown(figures), encoding="utf-8")
        return replace(result, files=(report, *tables, *figures))


def write_tables(out: Path, name: str, repeats: Sequence[Repeat]) -> list[Path]:
    """Write two tidy CSVs: the iterations of each repeat, and its evaluations."""
    moments, bought = out / f"{name}.csv", out / f"{name}-evaluations.csv"
    write_csv(moments, [row for repeat in repeats for row in _moments(repeat)], [])
    write_csv(bought, [row for repeat in repeats for row in _bought(repeat)], [])
    return [moments, bought]


def saved(out: Path, name: str, figure: Any) -> Path:
    """Save a figure; returns its path."""
    path = out / f"{name}.png"
    figure.savefig(path, dpi=DPI)
    return path


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
