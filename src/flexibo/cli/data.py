"""``flexibo data``: the recorded tables that problems need, and where their originals can be had."""

from __future__ import annotations

import os
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from flexibo.benchmarks.datasets import Status


def data(
    rebuild: Annotated[
        str | None, typer.Option(help="Rebuild this table, or 'all', from the originals that you have.")
    ] = None,
    originals: Annotated[
        Path | None, typer.Option(help="The folder of the originals, such as a clone of their repository.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a table that is there already.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print a list of objects instead.")] = False,
) -> None:
    """Say which recorded tables are in the folder FLEXIBO_DATA, and where the originals can be had."""
    from flexibo.benchmarks.datasets import VARIABLE, data_folder, status

    if rebuild is not None:
        _rebuild(rebuild, originals, replace)
        return
    folder = data_folder() if os.environ.get(VARIABLE) else None
    found = status(folder)
    if json:
        typer.echo(dumps([_described(one) for one in found], indent=2))
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console()
    where = f"{VARIABLE} is {folder}." if folder else f"{VARIABLE} is not set; set it to the folder for these tables."
    console.print(Text(where))
    for one in found:
        console.print(Text.assemble((one.dataset.name, "bold"), f"  {_state(one)}"))
        lines = [
            f"{one.dataset.summary}. For {', '.join(one.dataset.problems)}.",
            f"Original: {one.dataset.original}, from {one.dataset.url}. Licence: {one.dataset.licence}.",
        ]
        for line in lines:
            console.print(Padding(Text(line), (0, 0, 0, 4)))
    console.print(Text("\nRebuild a table: flexibo data --rebuild accel --originals PATH/TO/CLONE"))


def _rebuild(name: str, originals: Path | None, replace: bool) -> None:
    from flexibo.benchmarks.datasets import DATASETS, data_folder
    from flexibo.benchmarks.datasets import rebuild as rebuilt
    from flexibo.errors import FlexiBOError, InvalidValueError

    if originals is None:
        raise InvalidValueError("The originals are missing; give their folder as --originals PATH.")
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
        raise typer.Exit(1)


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
    }


def _state(one: Status) -> str:
    if not one.present:
        return f"missing: {one.dataset.file}"
    if one.fault:
        return f"there, but {one.fault}"
    return f"there, {one.n_rows:,} rows" + ("" if one.complete else f" of {one.dataset.n_rows:,}")
