"""``flexibo run``: a study from a file, or of one of the paper's systems."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from flexibo.cli import _options as options
from flexibo.cli._completion import method_names
from flexibo.cli._detail import chosen_detail, chosen_tries
from flexibo.cli._options import (
    FOR_SYSTEMS,
    ExecutionOptions,
    StudyOptions,
    SystemOptions,
    given_options,
    is_typed,
    stored_in,
    typed_option,
)
from flexibo.errors import InvalidValueError

Budget = Annotated[
    str, typed_option("Time for measurements, as in 90s, 30m, 2h or 1d. By default the file's, or 30m for a system.")
]
Method = Annotated[
    str,
    typer.Option(
        help="A name from 'flexibo methods'.", autocompletion=method_names, show_default="the file's, or flexibo"
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        min=0,
        max=2**63 - 1,
        metavar="<int>",
        help="The same seed draws the same designs. Without one in the file, it is drawn when the study starts.",
        show_default="the file's, or 0 for a system",
    ),
]
Storage = Annotated[
    str, stored_in("Where the study is stored; a stored study is resumed. By default the file's, or sqlite:///NAME.db.")
]
Name = Annotated[
    str,
    typer.Option(help="The name of the study. By default the file's, or the system's with what decides its values."),
]
Picture = Annotated[
    Path | None,
    typer.Option(
        help="Where to save the picture. By default NAME.png, unless that file exists and flexibo did not draw it.",
        show_default=False,
    ),
]
Yes = Annotated[
    bool,
    typer.Option("--yes", "-y", help="Change the stored study as its file was changed, without asking."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show the study of a file and its first questions; measure nothing.")
]


Try = Annotated[
    bool | None,
    typer.Option(
        "--try/--no-try",
        help="Only try each command and function of a file once, or do not try them first. By default both are done: "
        "each is tried once, the cheapest first, then the study runs.",
        show_default=False,
    ),
]

_REPLAYED = "for measuring, and --recorded measures nothing"
_REPLAYED_BY_FILE = "for measuring, and recorded: true measures nothing"


def run(
    context: typer.Context,
    what: options.FileOrSystem,
    budget: Budget = "",
    certified_error: options.CertifiedError = "",
    max_evaluations: options.MaxEvaluations = None,
    data: options.Data = None,
    dataset: options.Dataset = "",
    platform: options.Platform = "auto",
    limit: options.Limit = None,
    epochs: options.Epochs = None,
    size: options.Size = "",
    encoder: options.Encoder = None,
    augment: options.Augment = False,
    models: options.Models = Path("models"),
    meter: options.Meter = "auto",
    estimate: options.Estimate = None,
    knobs: options.Knobs = None,
    allow_gpu: options.AllowGPU = False,
    cool: options.Cool = None,
    objectives: options.ExtraObjectives = None,
    recorded: options.Recorded = False,
    method: Method = "flexibo",
    seed: Seed = 0,
    storage: Storage = "",
    name: Name = "",
    only: options.Only = None,
    executor: options.Executor = "inline",
    workers: options.Workers = None,
    address: options.Address = "",
    lease: options.Lease = "60s",
    idle: options.Idle = "",
    longest: options.Longest = "",
    out: Picture = None,
    json: options.OutcomeAsJSON = False,
    dry_run: DryRun = False,
    try_: Try = None,
    yes: Yes = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Run the study that a file describes, or optimise a network of the paper: prediction error against energy.

    Typed options replace those of the file. Ctrl-C stops the run, keeps the measurements and prints how to resume.
    With --only, several machines share a study; start the study of a system where energy is measured, because its
    options are those of that machine.
    """
    from flexibo.cli._run_file import is_study_file, run_file
    from flexibo.cli._run_system import run_system
    from flexibo.cli._system_file import with_system
    from flexibo.studyfile import SystemFile, read_any_file

    given, execution = given_options(StudyOptions, context), given_options(ExecutionOptions, context)
    typed_system = given_options(SystemOptions, context)
    detail, tries = chosen_detail(quiet=quiet, verbose=verbose), chosen_tries(try_, dry_run=dry_run)
    if is_study_file(what):
        path = Path(what)
        file = read_any_file(path)
        if isinstance(file, SystemFile):
            if recorded or file.about.get("recorded"):
                why = _REPLAYED if recorded else _REPLAYED_BY_FILE
                _refuse_system_options(context, why, allowed=("recorded", "objectives"))
            file = with_system(file, typed_system, given, execution.only)
        else:
            _refuse_system_options(context, f"for systems, and {what} is a study file without one")
        again = _typed_system_options(context)
        run_file(
            path,
            file,
            given,
            execution,
            out=out,
            json=json,
            dry_run=dry_run,
            detail=detail,
            tries=tries,
            yes=yes,
            system=again,
        )
        return
    if dry_run:
        raise InvalidValueError(f"--dry-run is for study files, and {what!r} is not one; leave it out.")
    if try_ is not None:
        flag = "--try" if try_ else "--no-try"
        raise InvalidValueError(f"{flag} is for study files, and {what!r} is not one; leave it out.")
    if recorded:
        _refuse_system_options(context, _REPLAYED, allowed=("recorded", "objectives"))
    run_system(what, typed_system, given, execution, out=out, json=json, detail=detail)


def _typed_system_options(context: typer.Context) -> dict[str, object]:
    """The options of systems that were typed, as they are typed again."""
    found = [parameter for parameter in context.command.params if _is_for_systems(parameter)]
    return {one.opts[0]: context.params[str(one.name)] for one in found if is_typed(context, str(one.name))}


def _is_for_systems(parameter: object) -> bool:
    return getattr(parameter, "rich_help_panel", None) == FOR_SYSTEMS


def _refuse_system_options(context: typer.Context, why: str, *, allowed: Collection[str] = ()) -> None:
    """Refuse typed options of systems, all at once, except the allowed ones."""
    refused = [
        parameter.opts[0]
        for parameter in context.command.params
        if _is_for_systems(parameter) and parameter.name not in allowed and is_typed(context, str(parameter.name))
    ]
    if refused:
        verb, it = ("is", "it") if len(refused) == 1 else ("are", "them")
        raise InvalidValueError(f"{', '.join(refused)} {verb} {why}; leave {it} out.")
