"""``flexibo reproduce``: the paper's experiments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from flexibo.cli._completion import experiment_names
from flexibo.cli._options import Jobs, Problems, parsed_names
from flexibo.cli._signals import interruptible_bar
from flexibo.errors import unknown_name


def reproduce(
    experiment: Annotated[
        str, typer.Argument(help="rq1, rq2, rq3, times or motivation.", autocompletion=experiment_names)
    ],
    problems: Problems = None,
    repeats: Annotated[int, typer.Option(min=1, help="Seeds per method and problem.")] = 5,
    initial: Annotated[int, typer.Option(min=2, help="Initial designs, the same for all.")] = 20,
    iterations: Annotated[int, typer.Option(min=1, help="Iterations after them.")] = 200,
    out: Annotated[Path, typer.Option(help="The folder of results; a second call resumes.")] = Path("results/paper"),
    jobs: Jobs = None,
) -> None:
    """Repeat an experiment of the paper, and print where the result agrees with its claims."""
    from flexibo.experiments import EXPERIMENTS, ExperimentSize

    if experiment not in EXPERIMENTS:
        raise unknown_name("experiment", experiment, EXPERIMENTS)
    console = Console()
    size = ExperimentSize(repeats, initial, iterations)
    with interruptible_bar(console, "repeats", f"finished runs are kept in {out}") as update:
        findings = EXPERIMENTS[experiment].run(
            size, parsed_names(problems or []), out, jobs or os.cpu_count() or 1, progress=update
        )
    console.print(findings)
