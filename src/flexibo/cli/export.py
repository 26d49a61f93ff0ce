"""``flexibo export``: a study as events or as a table."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexibo._internal.text import printable
from flexibo.cli._files import check_free, format_of, write_whole
from flexibo.cli._options import StorageURL, StudyName
from flexibo.cli._storage import storage_url
from flexibo.cli._text import counted

if TYPE_CHECKING:
    from flexibo.transfer import Record

Format = Annotated[str, typer.Option("--format", help="jsonl or csv. By default the suffix of the name.")]


def export(
    out: Annotated[
        Path, typer.Option(help="FILE.jsonl: every event, to import again. FILE.csv: a row per evaluation.")
    ],
    storage: StorageURL = "",
    name: StudyName = "",
    form: Format = "",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a stored study to a file, or with --out - to standard output."""
    from flexibo.transfer import event_lines, records, study_copy, table_lines

    form = format_of(out, form)
    to_output = str(out) == "-"
    if not to_output:
        check_free(out, force=force)
    copy = study_copy(storage_url(storage), name or None)
    history = copy.study.history
    found = records(history, copy.times)
    lines = event_lines(copy) if form == "jsonl" else table_lines(history, found)
    if not to_output:
        write_whole(out, lines, force=force)
        events = f"the {counted(len(copy.contents), 'event')} of study {copy.name!r}"
        typer.echo(printable(f"{out} has {events if form == 'jsonl' else _contents(found, copy.name)}."))
        return
    is_screen = sys.stdout.isatty()
    for line in lines:
        sys.stdout.write(printable(line) if is_screen else line)  # typer.echo would change what a program reads


def _contents(found: Sequence[Record], study: str) -> str:
    """What a table holds, as in "12 attempts of study 'net': 10 measured, 2 failed"."""
    states = Counter("added" if record.number is None else record.state for record in found)
    added = states.pop("added", 0)
    count = states.total()
    what = f"{count} attempt{'s' * (count != 1)} of study {study!r}"
    parts = [f"{number} {state}" for state, number in states.items()]
    if added:
        parts.append(f"and {added} result{' that was' if added == 1 else 's that were'} brought in")
    return f"{what}: {', '.join(parts)}" if parts else what
