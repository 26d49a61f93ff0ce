"""``flexibo worker``: measures for a stored study, on a board, a GPU machine or next to another process."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flexibo.cli import _options as options
from flexibo.cli._options import (
    StudyOptions,
    SystemOptions,
    given_options,
    parsed_names,
    parsed_resources,
    parsed_seconds,
)
from flexibo.errors import InvalidValueError


def worker(
    context: typer.Context,
    storage: options.StorageURL = "",
    name: options.StudyName = "",
    file: options.StudyFilePath = None,
    system: Annotated[
        str, typer.Option(help="Measure this system. By default the system of the study.", show_default=False)
    ] = "",
    functions: Annotated[
        str, typer.Option(help="MODULE:NAME of your functions by objective, instead of a system.", show_default=False)
    ] = "",
    only: options.Only = None,
    resources: Annotated[
        list[str] | None,
        typer.Option(
            help="The resources of this machine, as in jetson=1. Objectives that need others are left to other workers."
        ),
    ] = None,
    idle: Annotated[str, typer.Option(help="Stop after this time without work, or without the study.")] = "10m",
    data: options.Data = None,
    dataset: Annotated[str, typer.Option(help="The dataset to train on. By default the study's.")] = "",
    platform: Annotated[
        str, typer.Option(help="Where it runs. By default the study's platform, or auto to measure the error alone.")
    ] = "",
    limit: options.Limit = None,
    epochs: options.Epochs = None,
    size: options.Size = "",
    encoder: options.Encoder = None,
    augment: options.Augment = False,
    models: options.Models = Path("models"),
    meter: Annotated[
        str, typer.Option(help="A meter of 'flexibo doctor', as in rapl or nvml. By default the study's.")
    ] = "",
    estimate: options.Estimate = None,
    lease: options.Lease = "60s",
    longest: options.Longest = "",
    allow_gpu: options.AllowGPU = False,
    cool: options.Cool = None,
    checkpoints: Annotated[
        str,
        typer.Option(help="The folder for checkpoints of objectives with steps, if all machines share one."),
    ] = "",
) -> None:
    """Measure for a stored study until it is finished or there is nothing to do; many workers may share one study.

    Ctrl-C or SIGTERM stops the worker; it releases what it was measuring.
    """
    from flexibo.cli import _work

    chosen = [flag for flag, value in (("--system", system), ("--functions", functions), ("--file", file)) if value]
    if len(chosen) > 1:
        raise InvalidValueError(f"Both {' and '.join(chosen[:2])} are given; give one of them.")
    given, typed_system = given_options(StudyOptions, context), given_options(SystemOptions, context)
    here, patience = parsed_resources(resources or []), parsed_seconds(idle, "--idle")
    needs_file = not (system or functions)
    may_be_silent = parsed_seconds(lease, "--lease")
    mine = parsed_names(only or [])
    study, found, place = _work.find_study(
        given, file, typed_system, mine, needs_file=needs_file, lease=may_be_silent, patience=patience
    )
    objectives = _work.chosen_objectives(study, mine, here, found, place)
    measures = _work.chosen_functions(study, objectives, typed_system, system=system, functions=functions, file=found)
    _work.work(study, measures, idle=patience)
