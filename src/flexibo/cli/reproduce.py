"""``flexibo reproduce``: the paper's experiments."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from flexibo.cli._completion import experiment_names
from flexibo.cli._options import Jobs, Problems, parsed_names
from flexibo.cli._signals import interruptible_bar
from flexibo.cli._text import output_console
from flexibo.errors import InvalidValueError, unknown_name


def reproduce(
    experiment: Annotated[
        str, typer.Argument(help="rq1, rq2, rq3, times, motivation or authors.", autocompletion=experiment_names)
    ],
    problems: Problems = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Seeds per method and problem; 5.")] = None,
    initial: Annotated[
        int | None,
        typer.Option(min=2, help="Initial designs, the same for all; 20, or 6 if a problem has few."),
    ] = None,
    iterations: Annotated[int | None, typer.Option(min=1, help="Iterations after them; 200, or fewer then.")] = None,
    out: Annotated[Path, typer.Option(help="The folder of results; a second call resumes.")] = Path("results/paper"),
    jobs: Jobs = None,
) -> None:
    """Repeat an experiment of the paper, and print where the result agrees with its claims."""
    from flexibo.compare.problems.table import find_problem
    from flexibo.experiments import AUTHORS, EXPERIMENTS
    from flexibo.experiments.experiment import usual_size

    console = output_console()
    given = {"repeats": repeats, "n_initial": initial, "iterations": iterations}
    chosen = {name: value for name, value in given.items() if value is not None}
    if experiment == AUTHORS:
        if problems or chosen:
            raise InvalidValueError(
                "'authors' reads the authors' records and runs nothing; of the options it takes only --out."
            )
        from flexibo.compare.problems.datasets import data_folder
        from flexibo.experiments import authors

        console.print(authors.run(data_folder(), out))
        return
    if experiment not in EXPERIMENTS:
        raise unknown_name("experiment", experiment, (*EXPERIMENTS, AUTHORS))
    names = parsed_names(problems or [])
    usual = usual_size(map(find_problem, names or EXPERIMENTS[experiment].problems))
    size = replace(usual, **chosen)
    with interruptible_bar(console, "repeats", f"finished runs are kept in {out}") as update:
        findings = EXPERIMENTS[experiment].run(size, names, out, jobs or os.cpu_count() or 1, progress=update)
    console.print(findings)
