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
from flexibo.experiments.making import repeats_of
from flexibo.experiments.repeats import ITERATION, PROBLEMS, ExperimentSize, Progress, Repeat

MOMENTS = 41
"""The number of iterations of each repeat in the CSV; figures and tables use all of them."""

DPI = 110

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
        tables = (out / f"{self.name}.csv", out / f"{self.name}-evaluations.csv")
        for path, rows_of in zip(tables, (_moments, _bought), strict=True):
            write_csv(path, [row for repeat in repeats for row in rows_of(repeat)], [])
        figures = []
        try:
            for name, figure in self.figures(repeats, found).items():
                figures.append(out / f"{name}.png")
                figure.savefig(figures[-1], dpi=DPI)
        except MissingExtraError as error:
            result = replace(result, notes=(*result.notes, f"No figures: {error}"))
        report = out / f"{self.name}.md"
        report.write_text(result.markdown(figures), encoding="utf-8")
        return replace(result, files=(report, *tables, *figures))


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
