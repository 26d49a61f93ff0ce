"""``flexibo import``: a new study from exported events, or results from a table for an existing study."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from flexibo._internal.text import printable
from flexibo.cli._files import format_of, read_lines
from flexibo.cli._options import StorageURL
from flexibo.cli._storage import is_stored, storage_url
from flexibo.cli._text import counted
from flexibo.cli.export import Format
from flexibo.errors import InvalidValueError
from flexibo.storage import shown_url


def import_study(
    file: Annotated[
        Path,
        typer.Argument(
            help="FILE.jsonl of 'flexibo export': a new study. FILE.csv with a column per option and objective, or "
            "FILE.unstored.jsonl with answers that were refused: results for an existing study. - is standard input.",
            show_default=False,
        ),
    ],
    storage: StorageURL = "",
    name: Annotated[
        str, typer.Option("--name", help="The study. By default the exported name, or the only study.")
    ] = "",
    form: Format = "",
) -> None:
    """Create a study from exported events, or add results or refused answers to a study: all or nothing."""
    form = format_of(file, form)
    source = "the standard input" if str(file) == "-" else str(file)
    with read_lines(file) as lines:
        told = _events(lines, source, storage, name) if form == "jsonl" else _results(lines, source, storage, name)
    typer.echo(printable(told))


def _events(lines: BinaryIO, source: str, storage: str, name: str) -> str:
    from flexibo.transfer import holds_answers, import_events, read_events

    url = storage_url(storage)
    first = lines.readline()
    everything = itertools.chain([first], lines)
    if holds_answers(first):
        return _answers(everything, source, url, name)
    exported = read_events(everything, source)
    wanted = name or exported.name
    if is_stored(url, wanted):
        raise InvalidValueError(
            f"{shown_url(url)} holds a study {wanted!r} already; import it under another name with --name. Nothing was "
            "changed."
        )
    made = import_events(exported, url, wanted)
    return f"{shown_url(url)} has the study {made!r} now, with {counted(len(exported.contents), 'event')}."


def _answers(lines: Iterable[bytes], source: str, url: str, name: str) -> str:
    from flexibo.study.stored import stored_study
    from flexibo.transfer import import_answers, read_answers
    from flexibo.transfer.study_copies import copy_of

    answers = read_answers(lines, source)
    wanted = name or (answers[0].study if is_stored(url, answers[0].study) else "")
    place, study, _ = stored_study(url, wanted or None)
    counts, conflicts = import_answers(answers, place, copy_of(place.read(), study), source)
    said = [
        f"{counts['told']} of {counted(len(answers), 'answer')} {_were(len(answers))} told to study {study!r}, which "
        f"is charged for {'it' if len(answers) == 1 else 'them'}",
        f"{counts['added']} whose question it does not have {_were(counts['added'])} added as results"
        if counts["added"]
        else "",
        f"{counts['known']} {_were(counts['known'])} known already" if counts["known"] else "",
        f"{counted(counts['failures'], 'failure')} of unknown questions {_were(counts['failures'])} passed over"
        if counts["failures"]
        else "",
    ]
    return "\n".join(["; ".join(part for part in said if part) + ".", *(f"Left out. {one}" for one in conflicts)])


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
        text.detach()  # the caller closes the file
    if results.results:
        import_results(results, place, copy)
    empty = (
        f" {counted(results.empty, 'row')} without values {_were(results.empty)} passed over." if results.empty else ""
    )
    known = (
        f" {counted(results.known, 'row')} {_were(results.known)} known to the study and not added again."
        if results.known
        else ""
    )
    added = len(results.results)
    return f"{counted(added, 'result')} {_were(added)} added to study {study!r}.{empty}{known}"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"
