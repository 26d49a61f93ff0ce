"""``flexibo list``: the studies of a storage."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from flexibo._internal.numbers import format_spent
from flexibo.cli._options import JSONFlag, StorageURL
from flexibo.cli._storage import storage_url
from flexibo.cli._text import duration, print_json, printable_console, squeezed
from flexibo.errors import FlexiBOError
from flexibo.storage import shown_url, stored_studies


def list_studies(storage: StorageURL = "", json: JSONFlag = False) -> None:
    """List the studies of a storage with their progress; nothing is changed."""
    url = storage_url(storage)
    rows = [_row(url, study.name, study.events) for study in stored_studies(url)]
    if json:
        print_json(rows)
        return
    if not rows:
        typer.echo(f"{shown_url(url)} holds no studies.")
        return
    _print(rows, time.time())


def _row(url: str, name: str, events: int) -> dict[str, Any]:
    """The numbers of one study; an unreadable one does not hide the others."""
    from flexibo.transfer import records, study_copy
    from flexibo.views.status import overview

    try:
        copy = study_copy(url, name)
        found = overview(copy, records(copy.study.history, copy.times))
        return {**found, "cost_unit": copy.study.history.cost_unit}
    except FlexiBOError as error:
        return {"name": name, "events": events, "error": str(error)}


def _print(rows: Sequence[dict[str, Any]], now: float) -> None:
    headings = ("study", "method", "measured", "pending", "failed", "spent", "last event")
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        number = heading in ("pending", "failed", "spent")
        table.add_column(heading, justify="right" if number else "left", no_wrap=number, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, _cells(row, now)))
    with printable_console() as console:
        console.print(table)
        for row in rows:
            if "error" in row:
                console.print(Text(f"{row['name']} cannot be read: {row['error']}"))


def _cells(row: dict[str, Any], now: float) -> tuple[str, ...]:
    if "error" in row:
        return row["name"], "?", "?", "", "", "", ""
    objectives, last = row["objectives"], row["last_event"]
    return (
        row["name"],
        row["method"],
        "\n".join(map(_measured, objectives)),
        str(sum(objective["pending"] for objective in objectives)),
        str(sum(objective["failed"] for objective in objectives)),
        format_spent(row["spent"], row["budget"], row["cost_unit"]),
        f"{duration(now - datetime.fromisoformat(last).timestamp())} ago" if last else "-",
    )


def _measured(objective: Mapping[str, Any]) -> str:
    """How often an objective was measured, and how many values were added."""
    number = objective["values"] - objective["added"] if objective["measured_with"] else objective["measured"]
    added = f" (+{objective['added']} added)" if objective["added"] else ""
    return f"{squeezed(objective['name'])} {number}{added}"
