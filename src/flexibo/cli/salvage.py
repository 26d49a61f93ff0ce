"""``flexibo salvage``: a new file with what can be read of damaged studies."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexibo._internal.numbers import format_budget
from flexibo._internal.text import printable
from flexibo.cli._exit_status import ExitStatus
from flexibo.cli._files import check_free, read_lines, whole_file
from flexibo.cli._options import JSONFlag, StorageURL, StudyName
from flexibo.cli._text import counted, print_json, typed_command
from flexibo.cli.verify import StudyPlace, is_export, place_url, shown_numbers
from flexibo.errors import InvalidValueError
from flexibo.storage import StorageError
from flexibo.storage.base import Content

if TYPE_CHECKING:
    from flexibo.transfer import Salvaged

MOST_REASONS = 5


def salvage(
    out: Annotated[Path, typer.Option(help="The new SQLite file.")],
    study: StudyPlace = "",
    storage: StorageURL = "",
    name: StudyName = "",
    json: JSONFlag = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Bring out everything that can be read of damaged studies into a new file, and say what is lost.

    STUDY may also be a FILE.jsonl of 'flexibo export' or 'flexibo backup', which is read line by line. The damaged
    storage is only read. Events that do not agree with their checksum are left out. Exit status 1 means that something
    is lost or uncertain.
    """
    from flexibo.transfer import salvaged, salvaged_lines

    check_free(out, force=force)
    _check_other(out, study, storage)
    if is_export(study):
        with read_lines(Path(study)) as lines:
            found = [salvaged_lines(lines, study)]
    else:
        found = salvaged(place_url(study, storage), name)
    usable = [one for one in found if one.contents]
    if usable:
        _write(usable, out, force=force)
    if json:
        facts = [{**asdict(one), "contents": None, "events": len(one.contents)} for one in found]
        print_json([{key: value for key, value in one.items() if key != "contents"} for one in facts])
    else:
        for one in found:
            typer.echo(printable("\n".join(_said(one, out, is_only=len(usable) == 1))))
    if not all(one.is_whole for one in found):
        raise typer.Exit(ExitStatus.NOTHING)


def _check_other(out: Path, study: str, storage: str) -> None:
    """Refuse to replace what is to be read, under this or another name: it may hold more than was brought out."""
    from flexibo.storage.sql import file_of

    source = Path(study) if is_export(study) else file_of(place_url(study, storage))
    if source is not None and os.path.exists(source) and out.exists() and out.samefile(source):
        raise InvalidValueError(f"{out} is the damaged storage itself, which is only read; give another name.")


def _write(found: list[Salvaged], out: Path, *, force: bool) -> None:
    """Write a file that appears complete or not at all."""
    from flexibo.storage.sql import SQLStorage

    with whole_file(out, force=force) as draft:
        for one in found:
            with closing(SQLStorage(f"sqlite:///{draft.absolute()}", one.name)) as storage:
                storage.commit(0, partial(_contents, one))
        log = draft.with_name(f"{draft.name}-wal")
        if log.exists() and log.stat().st_size:
            raise StorageError(f"{out} could not be completed; try again.")


def _contents(one: Salvaged, _: object) -> Sequence[Content]:
    return one.contents


def _said(one: Salvaged, out: Path, *, is_only: bool) -> list[str]:
    """The report on one study, a line for each kind of loss."""
    if not one.contents:
        lines = [f"Study {one.name!r}: nothing could be brought out, as what it was created with is lost."]
    else:
        budget = (
            "without a budget" if one.budget is None else f"with a budget of {format_budget(one.budget, one.cost_unit)}"
        )
        counts = f"{counted(len(one.contents), 'event')} with {counted(one.measurements, 'measurement')}"
        lines = [f"Study {one.name!r}: {out} has {counts}, {budget}."]
    if one.missing:
        lines.append(f"  Lost: event {shown_numbers(one.missing)}. What was lost at the end is not known.")
    if one.changed:
        lines.append(f"  Left out, as it does not agree with its checksum: event {shown_numbers(one.changed)}.")
    if one.unchecked:
        lines.append(f"  Not checked, as the event before is lost: event {shown_numbers(one.unchecked)}.")
    if not one.has_checksums:
        lines.append("  No value could be checked: exports and studies of older versions have no checksums.")
    for number, reason in list(one.dropped.items())[:MOST_REASONS] if one.contents else ():
        lines.append(f"  Left out: event {number}, {reason}")
    if one.contents and len(one.dropped) > MOST_REASONS:
        lines.append(f"  ... and {len(one.dropped) - MOST_REASONS} more; --json has them all.")
    if one.problem and not one.missing:
        lines.append(f"  What was lost at the end is not known: {one.problem}")
    if one.missing or one.changed or one.problem:
        lines.append("  Check the budget and the rules for stopping: a later change may be among what is lost.")
    if one.contents:
        can_resume = bool(one.contents[0].get("origin"))  # otherwise its functions are in a program
        next_command = typed_command(
            ["flexibo", "resume" if can_resume else "status"],
            {"--storage": f"sqlite:///{out}", "--name": "" if is_only else one.name},
        )
        lines.append(f"  {'Resume' if can_resume else 'Look at it'} with: {next_command}")
    return lines
