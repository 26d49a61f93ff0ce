"""``flexibo models``: the trained models of a study, and the weights of a design of its front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from flexibo._internal.numbers import format_number
from flexibo.cli._exit_status import ExitStatus
from flexibo.cli._options import JSONFlag, StorageURL, StudyName
from flexibo.cli._storage import storage_url
from flexibo.cli._text import counted, duration, print_json, printable_console
from flexibo.errors import InvalidValueError

if TYPE_CHECKING:
    from flexibo.history import History
    from flexibo.space import Design
    from flexibo.systems.stored_models import ModelEntry


def models(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[fetch ROW]", help="Fetch the weights of this row of 'flexibo front'.", show_default=False
        ),
    ] = None,
    storage: StorageURL = "",
    name: StudyName = "",
    place: Annotated[
        str, typer.Option("--from", help="Where the models are: a folder, or HOST:FOLDER of a worker, by ssh.")
    ] = "models",
    to: Annotated[Path, typer.Option("--to", help="The folder of this machine that fetched weights go to.")] = Path(
        "models"
    ),
    json: JSONFlag = False,
) -> None:
    """List the trained models of a study of one of the paper's systems, or fetch the weights of one.

    A model belongs to a study if its network, data, training settings and seed are those of the study. Weights are
    checked against the hash that was stored with them. Exit status 1 means that there is no such model.
    """
    from flexibo.systems.catalogue import find_system
    from flexibo.systems.stored_models import fetch_model, is_network_of, models_of, place_of
    from flexibo.transfer import study_copy

    row = _row(what or [])
    study = study_copy(storage_url(storage), name or None).study
    origin = study.history.origin
    if origin.get("recorded"):
        raise InvalidValueError("The study replays a recorded table: nothing is trained, so it has no models.")
    if not origin.get("training"):
        raise InvalidValueError("The study is not of one of the paper's systems that train networks: it has no models.")
    system = find_system(str(origin["system"]))
    source, seed = place_of(place), int(origin.get("seed") or 0)
    found = models_of(source, network=system.network, training=str(origin["training"]), seed=seed)
    shown = study.hand_over(include="possible")
    designs = {one.number: one.design for one in (*shown.front, *shown.promising)}
    if row is not None:
        entry = _model_of_row(row, designs, found)
        if entry is None:
            typer.echo(f"There is no model of row {row} in {place}.{_elsewhere(study.history)}", err=True)
            raise typer.Exit(ExitStatus.NOTHING)
        weights = fetch_model(source, entry, to)
        typer.echo(f"{weights} has the weights of row {row}: error {format_number(entry.error_percent)} % as trained.")
        typer.echo(f"They are a dictionary of tensors: torch.load({str(weights)!r}, weights_only=True).")
        return
    rows = [_facts(one, [n for n, design in designs.items() if is_network_of(one, design)]) for one in found]
    if json:
        print_json(rows)
    elif rows:
        _print(rows)
        typer.echo(
            f"{counted(len(rows), 'model')} in {place}; 'flexibo models fetch ROW' brings the weights of a row here."
        )
    else:
        typer.echo(f"There is no model of this study in {place}.{_elsewhere(study.history)}", err=True)
    if not rows:
        raise typer.Exit(ExitStatus.NOTHING)


def _row(words: Sequence[str]) -> int | None:
    """The row to fetch; None to list the models."""
    if not words:
        return None
    if len(words) != 2 or words[0] != "fetch" or not words[1].isdecimal():
        raise InvalidValueError(
            f"{' '.join(words)!r} was given; give nothing, or fetch and the number of a row of 'flexibo front'."
        )
    return int(words[1])


def _model_of_row(row: int, designs: Mapping[int, Design], found: Sequence[ModelEntry]) -> ModelEntry | None:
    from flexibo.systems.stored_models import is_network_of

    if row not in designs:
        numbers = ", ".join(map(str, sorted(designs))) or "none"
        raise InvalidValueError(f"The row is {row}; the rows of 'flexibo front' are {numbers}.")
    return next((one for one in found if is_network_of(one, designs[row])), None)


def _elsewhere(history: History) -> str:
    """Where to look, as a hint: workers have no names here that tell their machines."""
    if not _answers(history):
        return ""
    return (
        " Weights stay on the machine that trained them: give --from FOLDER (the folder models where 'flexibo run' or "
        "'flexibo worker' was started, or its --models), or --from HOST:FOLDER if that was on another machine."
    )


def _answers(history: History) -> list[Any]:
    from flexibo.history.events import Told
    from flexibo.systems.dnn import ERROR

    return [event for event in history.events if isinstance(event, Told) and ERROR in event.values]


def _facts(entry: ModelEntry, rows: Sequence[int]) -> dict[str, Any]:
    return {
        "rows": list(rows),
        "error_percent": entry.error_percent,
        "seconds": entry.seconds,
        "epochs": entry.epochs,
        "machines": list(entry.machines),
        "name": entry.name,
        "design": dict(entry.design),
    }


def _print(rows: Sequence[Mapping[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("row", "error [%]", "training", "epochs", "trained on", "network"):
        table.add_column(heading, justify="right" if heading in ("row", "error [%]", "training", "epochs") else "left")
    for row in rows:
        options = ", ".join(f"{name}={value}" for name, value in row["design"].items())
        cells = (
            " ".join(map(str, row["rows"])) or "-",
            format_number(row["error_percent"]),
            duration(row["seconds"]),
            str(row["epochs"]),
            " and ".join(row["machines"]),
            options,
        )
        table.add_row(*map(Text, cells))
    with printable_console() as console:
        console.print(table)
