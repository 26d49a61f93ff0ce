"""``flexibo backup``: a copy of stored studies, while they are in use."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from flexibo._internal.numbers import format_number
from flexibo._internal.text import printable
from flexibo.cli._files import check_free, whole_file, write_whole
from flexibo.cli._options import StorageURL, StudyName
from flexibo.cli._text import counted, typed_command
from flexibo.cli.verify import place_url
from flexibo.errors import InvalidValueError

DATABASES = (".db", ".sqlite", ".sqlite3")


def backup(
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="[STUDY] FILE",
            help="STUDY is a file, or a URL as for --storage. FILE.db: a SQLite file with all studies, to use as it "
            "is. FILE.jsonl: the events of one study, to import.",
            show_default=False,
        ),
    ],
    storage: StorageURL = "",
    name: StudyName = "",
    checkpoints: Annotated[
        str, typer.Option(help="The folder with checkpoints of objectives with steps, if it is not the usual one.")
    ] = "",
    without_checkpoints: Annotated[
        bool, typer.Option("--without-checkpoints", help="Copy no checkpoints; unfinished trainings begin again then.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Copy stored studies to a file, as they are at one moment, while workers may go on.

    The checkpoints of unfinished trainings are copied to a folder beside FILE.db.
    """
    if len(places) > 2:
        raise InvalidValueError(f"{len(places)} places were given; give STUDY and FILE.")
    out = Path(places[-1])
    url = place_url(places[0] if len(places) > 1 else "", storage)
    check_free(out, force=force)
    folder = Path(checkpoints) if checkpoints else None
    if out.suffix in DATABASES and not (without_checkpoints or force) and os.path.lexists(_beside(out)):
        raise InvalidValueError(f"{_beside(out)} exists already; give another name, or --force to replace what it has.")
    if out.suffix == ".jsonl":
        told = _events(url, name, out, force=force)
    elif out.suffix in DATABASES:
        told = [_database(url, name, out, force=force)]
        told += [] if without_checkpoints else _checkpoints(url, out, folder)
    else:
        raise InvalidValueError(f"{out} has the suffix {out.suffix!r}; give a name that ends in .db or .jsonl.")
    for line in told:
        typer.echo(printable(line))


def _events(url: str, name: str, out: Path, *, force: bool) -> list[str]:
    from flexibo.transfer import event_lines, study_copy, unfinished_trainings

    copy = study_copy(url, name or None)
    write_whole(out, event_lines(copy), force=force)
    events = counted(len(copy.contents), "event")
    command = typed_command(["flexibo", "import", str(out)], {"--storage": f"sqlite:///{_free_database(out)}"})
    told = [f"{out} has the {events} of study {copy.name!r}. Bring it back with: {command}"]
    if left := len(unfinished_trainings(copy.study)):
        told.append(f"It has no checkpoints: {counted(left, 'unfinished training')} would begin again; use a FILE.db.")
    return told


def _database(url: str, name: str, out: Path, *, force: bool) -> str:
    from flexibo.storage.backup import back_up

    if name:
        raise InvalidValueError(f"{out} gets all studies; give a FILE.jsonl for {name!r} alone.")
    with whole_file(out, force=force) as draft:
        found = back_up(url, draft)
    studies = ", ".join(f"{study.name!r} ({counted(study.events, 'event')})" for study in found)
    command = typed_command(
        ["flexibo", "status"], {"--storage": f"sqlite:///{out}", "--name": found[0].name if len(found) > 1 else ""}
    )
    return f"{out} has {studies}. Look at it with: {command}"


def _checkpoints(url: str, out: Path, folder: Path | None) -> list[str]:
    """Copy the checkpoints of unfinished trainings to where a study in the copy looks for them, and say so."""
    from flexibo.storage import stored_studies
    from flexibo.storage.base import DamagedStudyError
    from flexibo.transfer import CopiedCheckpoints, copy_checkpoints, study_copy

    target, copied = _beside(out), CopiedCheckpoints()
    for stored in stored_studies(url):
        with suppress(DamagedStudyError):  # its events are copied as they are
            copied += copy_checkpoints(study_copy(url, stored.name, checkpoints=folder).study, target)
    told = [f"{shown} is not copied: it changes all the time or cannot be read." for shown in copied.left_out]
    if copied.folders:
        trainings = counted(copied.folders, "unfinished training")
        told.insert(0, f"{target} has the checkpoints of {trainings} ({format_number(copied.size / 1e6, 3)} MB).")
    return told


def _beside(out: Path) -> Path:
    """The folder in which a study in a file has its checkpoints."""
    return out.with_name(f"{out.name}.checkpoints")


def _free_database(out: Path) -> Path:
    """A name for the database of a copy that no file has: that of the copy, or with a number."""
    path, number = out.with_suffix(".db"), 1
    while os.path.lexists(path):
        number += 1
        path = out.with_name(f"{out.stem}-{number}.db")
    return path
