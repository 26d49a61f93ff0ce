"""``flexibo verify``: whether stored studies are whole."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexibo._internal.text import printable
from flexibo.cli._exit_status import ExitStatus
from flexibo.cli._files import read_lines
from flexibo.cli._options import JSONFlag, StorageURL, StudyName
from flexibo.cli._storage import STORAGE_VARIABLE, has_password, short_url, storage_url
from flexibo.cli._text import counted, print_json, typed_command
from flexibo.errors import InvalidValueError
from flexibo.storage import shown_url

if TYPE_CHECKING:
    from flexibo.transfer import Verified

StudyPlace = Annotated[
    str,
    typer.Argument(metavar="[STUDY]", help="A file, or a URL as for --storage.", show_default=False),
]
SHOWN = 10  # numbers of events in a line


def verify(study: StudyPlace = "", storage: StorageURL = "", name: StudyName = "", json: JSONFlag = False) -> None:
    """Read and replay every event and compare it with its checksum; nothing is changed.

    STUDY may also be a FILE.jsonl of 'flexibo export'. Exit status 1 means that something is damaged.
    """
    from flexibo.transfer import verified, verified_lines

    if is_export(study):
        place = study
        with read_lines(Path(study)) as lines:
            found = [verified_lines(lines, study)]
    else:
        url = place_url(study, storage)
        place, found = short_place(url), verified(url, name)
    if json:
        print_json([asdict(one) for one in found])
    else:
        for one in found:
            typer.echo(printable(_said(one, place)))
    if any(one.problem for one in found):
        raise typer.Exit(ExitStatus.NOTHING)


def place_url(study: str, storage: str) -> str:
    """The URL of a study that is named by its file or its URL, or of the storage to use by default."""
    if study and storage and study != storage and storage != os.environ.get(STORAGE_VARIABLE):
        raise InvalidValueError(f"Two places were given, {study} and {shown_url(storage)}; give one of them.")
    if not study:
        return storage_url(storage)
    return study if "://" in study else f"sqlite:///{study}"


def shown_numbers(numbers: tuple[int, ...]) -> str:
    """The numbers of events in words, the first few of many.

    >>> shown_numbers((3, 4, 9))
    '3, 4 and 9'
    """
    texts = [str(number) for number in numbers[:SHOWN]]
    if len(numbers) > SHOWN:
        texts.append(f"{len(numbers) - SHOWN} more")
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def is_export(study: str) -> bool:
    """Whether a place is the file of an export."""
    return study.endswith(".jsonl") and "://" not in study


def short_place(url: str) -> str:
    """A storage as it can be given to commands: a file, or a URL; empty if that has a password."""
    shown = short_url(url)
    return "" if has_password(url) else shown.removeprefix("sqlite:///") or shown


def _said(one: Verified, place: str) -> str:
    counts = f"{counted(one.events, 'event')} with {counted(one.measurements, 'measurement')}"
    if not one.problem:
        how = (
            "and agree with their checksums"
            if one.has_checksums
            else "and fit together; they have no checksums, as an export or a study of an older version"
        )
        return f"Study {one.name!r} is whole: {counts} can be read {how}."
    parts = [f"Study {one.name!r} is damaged: {one.problem.rstrip('.')}."]
    if one.missing:
        parts.append(f"Missing: event {shown_numbers(one.missing)}.")
    if one.changed:
        parts.append(f"Changed: event {shown_numbers(one.changed)}.")
    salvage = typed_command(["flexibo", "salvage", *[place] * bool(place)], {"--out": "salvaged.db"})
    parts.append(f"Readable: {counts}. Bring them out with: {salvage}")
    return " ".join(parts)
