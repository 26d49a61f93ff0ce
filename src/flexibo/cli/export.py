"""``flexibo export``: a study as events or as a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from flexibo.cli.files import check_free, format_of, write_whole
from flexibo.cli.storage_options import StorageURL, StudyName, storage_url
from flexibo.words import harmless

Format = Annotated[str, typer.Option("--format", help="jsonl or csv; by default what the name ends in.")]


def export(
    out: Annotated[
        Path, typer.Option(help="FILE.jsonl: every event, to import again. FILE.csv: a row per evaluation.")
    ],
    storage: StorageURL = "",
    name: StudyName = "",
    form: Format = "",
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
) -> None:
    """Write a stored study to a file, or to the standard output with --out -."""
    from flexibo.transfer import event_lines, records, study_copy, table_lines

    form = format_of(out, form)
    to_output = str(out) == "-"
    if not to_output:
        check_free(out, force=force)
    copy = study_copy(storage_url(storage), name or None)
    history = copy.study.history
    lines = event_lines(copy) if form == "jsonl" else table_lines(history, records(history, copy.times))
    if not to_output:
        write_whole(out, lines, force=force)
        what = f"{len(copy.contents)} events" if form == "jsonl" else f"{len(history.asked)} evaluations"
        typer.echo(harmless(f"{out} has the {what} of study {copy.name!r}."))
        return
    is_screen = sys.stdout.isatty()
    for line in lines:
        sys.stdout.write(harmless(line) if is_screen else line)  # typer.echo would change what a program is to read
