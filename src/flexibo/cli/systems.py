"""``flexibo systems``: what can be optimised here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from flexibo.cli._text import print_json


def systems(
    data: Annotated[
        Path | None, typer.Option(help="Look for training data here too.", envvar="FLEXIBO_DATA", show_envvar=True)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the systems: networks of the paper, their options, and the data that is there to train them."""
    from rich.console import Console
    from rich.table import Table

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
    console = Console()
    console.print(table)
    console.print("Run one with: flexibo run NAME --data FOLDER --budget 30m", highlight=False)
    if any(row["recorded"] for row in rows):
        console.print("Without data or a GPU, from what is recorded: flexibo run NAME --recorded", highlight=False)


def _rows(data: Path | None) -> list[dict[str, Any]]:
    import math

    from flexibo.errors import FlexiBOError
    from flexibo.systems.catalogue import SYSTEMS
    from flexibo.systems.data.catalogue import find_dataset
    from flexibo.systems.recorded import recordings

    rows = []
    for entry in SYSTEMS.values():
        try:
            found = find_dataset(entry.datasets, data) if data else ""
        except FlexiBOError:  # what is there may be damaged; running the system says how
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
