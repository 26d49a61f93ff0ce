"""``flexibo resume``: continue a stored study of a study file or of a system."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flexibo.cli import _options as options
from flexibo.cli._detail import Tries, chosen_detail
from flexibo.cli._options import ExecutionOptions, StudyOptions, SystemOptions, given_options, typed_option

Budget = Annotated[str, typed_option("Time for all measurements, as in 2h. By default the stored budget.")]


def resume(
    context: typer.Context,
    storage: options.StorageURL = "",
    name: options.StudyName = "",
    file: options.StudyFilePath = None,
    budget: Budget = "",
    certified_error: options.CertifiedError = "",
    max_evaluations: options.MaxEvaluations = None,
    data: options.Data = None,
    encoder: options.Encoder = None,
    models: options.Models = Path("models"),
    only: options.Only = None,
    executor: options.Executor = "inline",
    workers: options.Workers = None,
    address: options.Address = "",
    lease: options.Lease = "60s",
    idle: options.Idle = "",
    longest: options.Longest = "",
    allow_gpu: options.AllowGPU = False,
    cool: options.Cool = None,
    json: options.OutcomeAsJSON = False,
    no_try: Annotated[
        bool, typer.Option("--no-try", help="Do not try objectives of a study file first that have no value yet.")
    ] = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Resume a study that 'flexibo run' started: the same file or system, pending evaluations first.

    Functions and commands come from the study file that you name, or from the one that the study was created from if
    it has not changed; never from the database.
    """
    from flexibo.cli._run_file import join_study, resume_file
    from flexibo.cli._run_system import resume_system

    given, execution = given_options(StudyOptions, context), given_options(ExecutionOptions, context)
    detail, tries = chosen_detail(quiet=quiet, verbose=verbose), Tries.NO if no_try else Tries.FIRST
    system = given_options(SystemOptions, context)
    if joined := join_study(given, file, system, execution.only):
        resume_file(joined, given, execution, named=file, json=json, detail=detail, tries=tries)
    else:
        resume_system(system, given, execution, json=json, detail=detail)
