"""``flexibo data``: the recorded tables that problems need, and where to get their originals."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexibo.cli._options import JSONFlag
from flexibo.cli._text import counted, output_width, print_json, wrapped
from flexibo.errors import FlexiBOError, InvalidValueError

if TYPE_CHECKING:
    from flexibo.compare.problems.datasets import Status


def data(
    rebuild: Annotated[str | None, typer.Option(help="Rebuild this table, or 'all', from its originals.")] = None,
    originals: Annotated[
        Path | None, typer.Option(help="The folder with the originals, such as a clone of their repository.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing table.")] = False,
    all: Annotated[bool, typer.Option("--all", help="Also print the origin of complete tables.")] = False,  # noqa: A002
    json: JSONFlag = False,
) -> None:
    """List the recorded tables in the folder FLEXIBO_DATA, and where to get the originals of missing ones."""
    from flexibo.compare.problems.datasets import VARIABLE, data_folder, status

    if rebuild is not None:
        if all or json:
            raise InvalidValueError("--all and --json are for the list of tables; leave them out with --rebuild.")
        _rebuild(rebuild, originals, replace)
        return
    if originals is not None or replace:
        raise InvalidValueError("--originals and --replace are for rebuilding; name the table with --rebuild NAME.")
    folder = data_folder() if os.environ.get(VARIABLE) else None
    found = status(folder)
    if json:
        print_json([_described(one) for one in found])
        return
    width = output_width()
    typer.echo("\n".join(_lines(folder, found, width, everything=all)))


def _lines(folder: Path | None, found: list[Status], width: int, *, everything: bool) -> list[str]:
    """A line for complete tables; for the others, their origin and how to rebuild them."""
    from flexibo.compare.problems.datasets import FOLDER, VARIABLE

    good = [one for one in found if one.complete]
    if folder is None:
        lines = _wrapped(f"{VARIABLE} is not set; set it to a folder whose {FOLDER}/ holds these tables.", width)
    else:
        lines = _wrapped(f"{VARIABLE} is {folder}: {len(good)} of {len(found)} tables are complete.", width)
    for group in sorted(_grouped(found), key=lambda group: not group[0].complete):
        names = _listed(one.dataset.name for one in group)
        state = _state(group[0]) + (" each" if group[0].complete and len(group) > 1 else "")
        if not group[0].complete or everything:
            lines += ["", *_wrapped(f"{names}: {state}", width)]
            lines += [line for text in _origin(group) for line in _wrapped(text, width, indent=4)]
        else:
            lines += _wrapped(f"{names}: {state}", width, indent=2)
    if everything or len(good) < len(found):
        lines += ["", *_wrapped("To rebuild: flexibo data --rebuild NAME --originals FOLDER (NAME may be all)", width)]
    return lines


def _wrapped(text: str, width: int, indent: int = 0) -> list[str]:
    margin = " " * indent
    return wrapped(text, width, margin=margin, hanging=f"{margin}  ", breaks_words=False)


def _grouped(found: Iterable[Status]) -> list[list[Status]]:
    groups: dict[tuple[object, ...], list[Status]] = {}
    for one in found:
        key = one.dataset.kind or one.dataset.name
        groups.setdefault((key, one.present, one.fault, one.n_rows), []).append(one)
    return list(groups.values())


def _listed(names: Iterable[str]) -> str:
    """Names, with a common prefix printed once.

    >>> _listed(["tx2-xception-200", "tx2-xception-400", "accel"])
    'tx2-xception-200/400, accel'
    """
    endings: dict[str, list[str]] = {}
    for name in names:
        stem, _, ending = name.rpartition("-")
        endings.setdefault(stem, []).append(ending)
    return ", ".join(f"{stem}-{'/'.join(found)}" if stem else ", ".join(found) for stem, found in endings.items())


def _origin(group: list[Status]) -> list[str]:
    """What tables are, which problems need them, and where to get their original."""
    first = group[0].dataset
    alone = len(group) == 1
    problems = [name for one in group for name in one.dataset.problems]
    told = [f"{first.summary if alone else first.kind}."]
    if problems != [one.dataset.name for one in group]:
        told.append(f"Problems: {', '.join(problems)}")
    told.append(f"Original: {first.original if alone else first.kind_original}")
    told.append(f"From: {first.url}")
    told.append(f"Licence: {first.licence}")
    return [*told, f"Note: {first.note}."] if first.note else told


def _rebuild(name: str, originals: Path | None, replace: bool) -> None:
    from flexibo.compare.problems.datasets import DATASETS, data_folder
    from flexibo.compare.problems.datasets import rebuild as rebuilt

    if originals is None:
        raise InvalidValueError("The folder with the originals is missing; give --originals FOLDER.")
    folder = data_folder()
    if name != "all":
        typer.echo(f"{name}: {_state(rebuilt(name, originals, folder, replace=replace))}")
        return
    done = 0
    for dataset in DATASETS:
        try:
            typer.echo(f"{dataset}: {_state(rebuilt(dataset, originals, folder, replace=replace))}")
            done += 1
        except FlexiBOError as error:
            typer.echo(f"{dataset}: not rebuilt. {error}")
    if not done:
        raise InvalidValueError(f"No table was rebuilt from {originals}; give the folder of an original.")


def _described(one: Status) -> dict[str, object]:
    dataset = one.dataset
    return {
        "name": dataset.name,
        "file": dataset.file,
        "present": one.present,
        "complete": one.complete,
        "rows": one.n_rows,
        "problem": one.fault,
        "summary": dataset.summary,
        "problems": list(dataset.problems),
        "original": dataset.original,
        "url": dataset.url,
        "licence": dataset.licence,
        "read_twice": dataset.n_repeated,
        "note": dataset.note,
    }


def _state(one: Status) -> str:
    if not one.present:
        return "missing"
    if one.fault:
        return f"there, but {one.fault}"
    repeated = one.dataset.n_repeated
    twice = f" ({counted(repeated, 'design')} {'was' if repeated == 1 else 'were'} read twice)" if repeated else ""
    return f"{one.n_rows:,} {'row' if one.n_rows == 1 else 'rows'}{twice}"
