"""``flexibo reproduce``: the paper's experiments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from flexibo.cli._completion import experiment_names, problem_names
from flexibo.cli._parse import names
from flexibo.cli._progress_bar import bar
from flexibo.cli._signals import interruptible


def reproduce(
    experiment: Annotated[
        str, typer.Argument(help="rq1, rq2, rq3, times or motivation.", autocompletion=experiment_names)
    ],
    problems: Annotated[
        list[str] | None,
        typer.Option(
            help="Names that 'flexibo problems' lists, with commas or repeated.", autocompletion=problem_names
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Seeds per method and problem.")] = 5,
    initial: Annotated[int, typer.Option(min=2, help="Initial designs, the same for all.")] = 20,
    iterations: Annotated[int, typer.Option(min=1, help="Iterations after them.")] = 200,
    out: Annotated[Path, typer.Option(help="Where results are kept; called again, it goes on.")] = Path(
        "results/paper"
    ),
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes at once; as many as cores by default.")] = None,
) -> None:
    """Repeat an experiment of the paper, and say where the result agrees with its claims."""
    from rich.console import Console

    from flexibo.errors import unknown_name
    from flexibo.experiments import EXPERIMENTS, ExperimentSize

    if experiment not in EXPERIMENTS:
        raise unknown_name("experiment", experiment, EXPERIMENTS)
    console = Console()
    size = ExperimentSize(repeats, initial, iterations)
    with interruptible(console, f"what was finished is kept in {out}"), bar(console, "repeats") as update:
        findings = EXPERIMENTS[experiment].run(
            size, names(problems or []), out, jobs or os.cpu_count() or 1, progress=update
        )
    console.print(findings)
