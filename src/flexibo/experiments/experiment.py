"""Experiment: which methods run, what is read off their repeats, and what is drawn and written."""

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
"""How many moments of each repeat are written to the CSV; the figures and tables use all iterations."""

DPI = 110

Figures = dict[str, Any]
"""Matplotlib figures by file name, without its ending."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One of the paper's experiments.

    Attributes:
        name: What users type.
        summary: One line.
        methods: What runs.
        findings: What the repeats show, given the problems by name.
        figures: What is drawn of them.
        problems: What it runs on unless told otherwise.
    """

    name: str
    summary: str
    methods: tuple[str, ...]
    findings: Callable[[Sequence[Repeat], Mapping[str, Problem]], ExperimentResult] = field(repr=False)
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
        """Make what is missing, judge it, draw it and write it to a folder.

        Args:
            size: What everybody gets; the paper's by default.
            problems: Names of problems; the experiment's own by default.
            out: The folder. Repeats that it holds, of this or another experiment, are used and not made again.
            jobs: How many processes.
            progress: Told whenever a repeat is finished.
        """
        size = size or ExperimentSize()
        found = {problem.name: problem for problem in map(find_problem, problems or self.problems)}
        if not found:
            raise InvalidValueError("No problem is given; name at least one.")
        out = Path(out)
        repeats = repeats_of(size, list(found.values()), self.methods, out, jobs=jobs, progress=progress)
        findings = self.findings(repeats, found)
        findings = replace(findings, notes=(f"{size}. {ITERATION}", *findings.notes))
        tables = write_tables(out, self.name, repeats)
        try:
            figures = [saved(out, name, figure) for name, figure in self.figures(repeats, found).items()]
        except MissingExtraError as error:
            figures = []
            findings = replace(findings, notes=(*findings.notes, f"No figures: {error}"))
        report = out / f"{self.name}.md"
        report.write_text(findings.markdown(figures), encoding="utf-8")
        return replace(findings, files=(report, *tables, *figures))


def write_tables(out: Path, name: str, repeats: Sequence[Repeat]) -> list[Path]:
    """Write two tidy CSVs: the moments of each repeat, and what it bought."""
    moments, bought = out / f"{name}.csv", out / f"{name}-evaluations.csv"
    write_csv(moments, [row for repeat in repeats for row in _moments(repeat)], [])
    write_csv(bought, [row for repeat in repeats for row in _bought(repeat)], [])
    return [moments, bought]


def saved(out: Path, name: str, figure: Any) -> Path:
    """Save a figure; its file name."""
    path = out / f"{name}.png"
    figure.savefig(path, dpi=DPI)
    return path


def _moments(repeat: Repeat) -> list[dict[str, Any]]:
    last = len(repeat.iterations) - 1
    chosen = sorted({round(number) for number in np.linspace(0, last, MOMENTS)})
    thinking = np.cumsum([iteration.overhead_s for iteration in repeat.iterations])
    return [
        {
            "problem": repeat.problem,
            "method": repeat.method,
            "seed": repeat.seed,
            "iteration": iteration.number,
            "spent": iteration.spent,
            "log_spent": iteration.log_spent,
            "thinking_s": f"{thinking[iteration.number]:.6g}",
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
