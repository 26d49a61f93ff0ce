"""``flexibo import``: a new study from exported events, or results from a table for a study that is there."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexibo._internal.text import printable
from flexibo.cli._files import format_of, read_lines
from flexibo.cli._storage_options import StorageURL, storage_url
from flexibo.cli.export import Format

if TYPE_CHECKING:
    from typing import BinaryIO


def import_study(
    file: Annotated[
        Path,
        typer.Argument(
            help="FILE.jsonl of 'flexibo export': a new study. FILE.csv with a column per option and objective: "
            "results for a study that is there. - is the standard input.",
            show_default=False,
        ),
    ],
    storage: StorageURL = "",
    name: Annotated[
        str, typer.Option("--name", help="The study; by default the exported name, or the only study.")
    ] = "",
    form: Format = "",
) -> None:
    """Make a new study from exported events, or bring the results of a table into a study: all or nothing."""
    form = format_of(file, form)
    source = "the standard input" if str(file) == "-" else str(file)
    with read_lines(file) as lines:
        told = _events(lines, source, storage, name) if form == "jsonl" else _results(lines, source, storage, name)
    typer.echo(printable(told))


def _events(lines: BinaryIO, source: str, storage: str, name: str) -> str:
    from flexibo.cli.worker import is_there
    from flexibo.errors import InvalidValueError
    from flexibo.storage import shown_url
    from flexibo.transfer import import_events, read_events

    url = storage_url(storage)
    exported = read_events(lines, source)
    wanted = name or exported.name
    if is_there(url, wanted):
        raise InvalidValueError(
            f"{shown_url(url)} holds a study {wanted!r} already; import it under another name with --name. Nothing was "
            "changed."
        )
    made = import_events(exported, url, wanted)
    return f"{shown_url(url)} has the study {made!r} now, with {len(exported.contents)} events."


def _results(lines: BinaryIO, source: str, storage: str, name: str) -> str:
    from flexibo.study.stored import stored_study
    from flexibo.transfer import import_results, read_results
    from flexibo.transfer.study_copies import copy_of

    url = storage_url(storage)
    place, study, _ = stored_study(url, name or None)
    copy = copy_of(place.read(), study)
    text = io.TextIOWrapper(lines, encoding="utf-8-sig", newline="")
    try:
        results = read_results(text, copy, source)
    finally:
        text.detach()  # who opened the file closes it
    if results.results:
        import_results(results, place, copy)
    empty = f" {results.empty} rows have no values and were passed over." if results.empty else ""
    known = f" {results.known} rows were known to the study and not added again." if results.known else ""
    return f"{len(results.results)} results were added to study {study!r}.{empty}{known}"
