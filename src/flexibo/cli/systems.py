"""``flexibo systems``: the systems that can be optimised."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from flexibo.cli._options import JSONFlag
from flexibo.cli._text import output_console, print_json
from flexibo.errors import FlexiBOError


def systems(
    data: Annotated[
        Path | None, typer.Option(help="The folder with training data.", envvar="FLEXIBO_DATA", show_envvar=True)
    ] = None,
    json: JSONFlag = False,
) -> None:
    """List the systems: networks of the paper, their options, and the available training data."""
    rows = _rows(data)
    if json:
        print_json(rows)
        return
    table = Table(title="Systems")
    for title in ("system", "options", "networks", "data", "recorded"):
        table.add_column(title, justify="right" if title in ("options", "networks") else "left")
    for row in rows:
        found = row["found"] or f"not here: {' or '.join(row['datasets'])}"
        recorded = ", ".join(row["recorded"]) or "-"
        table.add_row(row["name"], str(len(row["options"])), f"{row['designs']:,}", found, recorded)
    console = output_console()
    console.print(table)
    console.print("Run one with: flexibo run NAME --data FOLDER --budget 30m", highlight=False)
    if any(row["recorded"] for row in rows):
        console.print(
            "Without data or a GPU, from the newest recorded table: flexibo run NAME --recorded; from another one: "
            "flexibo run TABLE --recorded",
            highlight=False,
        )


def _rows(data: Path | None) -> list[dict[str, Any]]:
    from flexibo.systems.catalogue import SYSTEMS
    from flexibo.systems.data.catalogue import find_dataset
    from flexibo.systems.recorded import recordings

    rows = []
    for entry in SYSTEMS.values():
        try:
            found = find_dataset(entry.datasets, data) if data else ""
        except FlexiBOError:  # the data may be damaged; flexibo run reports how
            found = ""
        rows.append(
            {
                "name": entry.name,
                "summary": entry.summary,
                "options": {name: list(values) for name, values in entry.options.items()},
                "designs": math.prod(len(values) for values in entry.options.values()),
                "datasets": list(entry.datasets),
                "found": found,
                "recorded": recordings(entry.name),
            }
        )
    return rows
