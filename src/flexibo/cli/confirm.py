"""``flexibo confirm``: measure what promising designs of a stored study lack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexibo.cli import _options as options
from flexibo.cli._detail import chosen_detail
from flexibo.cli._options import (
    ExecutionOptions,
    StudyOptions,
    SystemOptions,
    given_options,
    parsed_seconds,
    typed_option,
)
from flexibo.errors import InvalidValueError

if TYPE_CHECKING:
    from flexibo.cli._measure import Confirming

Rows = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ROW...]", help="Row numbers from 'flexibo front'. By default all.", show_default=False),
]
Budget = Annotated[
    str,
    typed_option(
        "Spend at most this on confirming, as in 10m. If less is left of the study's budget, that is raised. By "
        "default what is left of it."
    ),
]


def confirm(
    context: typer.Context,
    rows: Rows = None,
    budget: Budget = "",
    readings: Annotated[
        int, typer.Option(min=1, help="Readings of each noisy objective, also of designs that are confirmed.")
    ] = 1,
    later: Annotated[
        bool, typer.Option("--later", help="Only queue them, for workers, 'flexibo ask' or 'flexibo resume'.")
    ] = False,
    storage: options.StorageURL = "",
    name: options.StudyName = "",
    file: options.StudyFilePath = None,
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
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Measure what is missing of promising designs, and what else is queued; nothing new is searched for.

    Without rows, designs are confirmed in the order of what they are expected to add to the front per cost, as far as
    the budget pays for them. Named rows are confirmed all or, if the budget is too small, not at all. The designs are
    queued first, so an interrupted 'flexibo confirm' continues with the next one, or with 'flexibo resume'.
    """
    from flexibo.cli._measure import Confirming
    from flexibo.cli._run_file import join_study, resume_file
    from flexibo.cli._run_system import resume_system

    detail = chosen_detail(quiet=quiet, verbose=verbose)
    granted = parsed_seconds(budget, "--budget") if budget else None
    wish = Confirming(_row_numbers(rows or []), granted, readings)
    given, execution = (
        replace(given_options(StudyOptions, context), budget=""),
        given_options(ExecutionOptions, context),
    )
    if later:
        _queue_only(given, file, wish, json=json)
        return
    system = given_options(SystemOptions, context)
    if joined := join_study(given, file, system, execution.only):
        resume_file(joined, given, execution, named=file, json=json, detail=detail, confirming=wish)
    else:
        resume_system(system, given, execution, json=json, detail=detail, confirming=wish)


def _row_numbers(typed: list[str]) -> tuple[int, ...] | None:
    """The row numbers, which may be separated by commas too; None if there are none."""
    found = options.parsed_names(typed)
    for text in found:
        if not text.isascii() or not text.isdigit() or not 0 < len(text) < 10 or int(text) < 1:
            raise InvalidValueError(f"The row is {text!r}; give a row number that 'flexibo front' lists, such as 3.")
    return tuple(map(int, found)) or None


def _queue_only(given: StudyOptions, file: Path | None, wish: Confirming, *, json: bool) -> None:
    """Put the designs into the queue, for others to measure."""
    from dataclasses import asdict

    from flexibo.cli._advice import StudyPlace
    from flexibo.cli._run_file import join_study
    from flexibo.cli._storage import load_study, storage_url
    from flexibo.cli._system_file import chosen_storage
    from flexibo.cli._text import print_json, squeezed
    from flexibo.cli.enqueue import LEASE_SECONDS, next_line, queued_facts, queued_line
    from flexibo.studyfile import StudyFile, SystemFile, read_any_file

    read = None if file is None else read_any_file(file)
    if isinstance(read, SystemFile):  # nothing is measured, so the system is not built
        given = replace(given, storage=chosen_storage(read, given), name=given.name or read.name)
    joined = join_study(given, file) if isinstance(read, StudyFile) else None
    lease = given.lease_seconds or LEASE_SECONDS
    study = joined[0] if joined else load_study(storage_url(given.storage), given.name, lease=lease)
    with study:
        found = study.confirm(**asdict(wish))
        if json:
            print_json({"study": study.name, "queued": [queued_facts(one) for one in found]})
            return
        if not found:
            typer.echo("Nothing was queued: every promising design is measured, being measured or queued already.")
            return
        for one in found:
            typer.echo(squeezed(queued_line(study, one)))
        typer.echo(squeezed(next_line(StudyPlace.typed(given.storage, given.name, study.history.origin))))
