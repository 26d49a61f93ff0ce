"""``flexibo reproduce``: the paper's experiments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from flexibo.cli._completion import experiment_names, problem_names
from flexibo.cli._parse import parsed_names
from flexibo.cli._progress_bar import bar
from flexibo.cli._signals import interruptible
from flexibo.errors import unknown_name


def reproduce(
    experiment: Annotated[
        str, typer.Argument(help="rq1, rq2, rq3, times or motivation.", autocompletion=experiment_names)
    ],
    problems: Annotated[
        list[str] | None,
        typer.Option(help="Names from 'flexibo problems', comma-separated or repeated.", autocompletion=problem_names),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Seeds per method and problem.")] = 5,
    initial: Annotated[int, typer.Option(min=2, help="Initial designs, the same for all.")] = 20,
    iterations: Annotated[int, typer.Option(min=1, help="Iterations after them.")] = 200,
    out: Annotated[Path, typer.Option(help="The folder of results; a second call resumes.")] = Path("results/paper"),
    jobs: Annotated[
        int | None, typer.Option(min=1, help="The number of parallel processes; by default the number of cores.")
    ] = None,
) -> None:
    """Repeat an experiment of the paper, and print where the result agrees with its claims."""
    from flexibo.experiments import EXPERIMENTS, ExperimentSize

    if experiment not in EXPERIMENTS:
        raise unknown_name("experiment", experiment, EXPERIMENTS)
    console = Console()
    size = ExperimentSize(repeats, initial, iterations)
    with interruptible(console, f"finished runs are kept in {out}"), bar(console, "repeats") as update:
        findings = EXPERIMENTS[experiment].run(
            size, parsed_names(problems or []), out, jobs or os.cpu_count() or 1, progress=update
        )
    console.print(findings)
