"""A study as a CSV table: one row per evaluation."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from flexibo.history import History
from flexibo.transfer.evaluations import Record

BEFORE = ("number", "objective")
AFTER = (
    "cost",
    "lost_cost",
    "state",
    "reason",
    "attempt",
    "worker",
    "asked",
    "answered",
    "gain",
    "expected_cost",
    "why",
)
COST_OF = "cost of "
"""The prefix of the cost column of an objective, where rows have several objectives."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def table_lines(history: History, found: Iterable[Record]) -> Iterator[str]:
    """The table as CSV, line by line: a heading, then a row per record.

    Options and objectives have a column each; times are UTC. No text is a formula for a spreadsheet.
    """
    options, values = headings(history)
    yield _line(list(map(without_formula, [*BEFORE, *options, *values, *AFTER])))
    for record in found:
        yield _line(
            [
                record.number,
                without_formula(record.objective),
                *(without_formula(record.design[name]) for name in history.space.names),
                *(record.values.get(name) for name in history.names),
                record.cost,
                record.lost_cost,
                record.state,
                without_formula(record.reason),
                record.attempt,
                without_formula(record.worker),
                iso_time(record.asked),
                iso_time(record.answered),
                record.gain,
                record.expected_cost,
                without_formula(record.why),
            ]
        )


def headings(history: History) -> tuple[list[str], list[str]]:
    """The columns of the options and of the objectives; a name that is taken gets a prefix."""
    options, objectives = history.space.names, history.names
    taken = {*BEFORE, *AFTER, *(f"{COST_OF}{name}" for name in objectives), *(set(options) & set(objectives))}
    free = (set(options) | set(objectives)) - taken
    found = []
    for what, names in (("option", options), ("value", objectives)):
        columns = []
        for name in names:
            column = name
            if name in taken:
                column = f"{what} {name}"
                while column in taken or column in free:
                    column = f"{what} {column}"
                taken.add(column)
            columns.append(column)
        found.append(columns)
    return found[0], found[1]


def without_formula(value: Any) -> Any:
    """A text that a spreadsheet does not read as a formula; other values unchanged.

    >>> without_formula("=1+1"), without_formula("'=1+1"), without_formula("a"), without_formula(-1.5)
    ("'=1+1", "''=1+1", 'a', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.lstrip("'").startswith(_FORMULA) else value


def iso_time(seconds: float | None) -> str:
    """A time in seconds since 1970 as text, in UTC; empty for None.

    >>> iso_time(0)
    '1970-01-01T00:00:00+00:00'
    """
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):  # a clock that was never set
        return ""


def _line(cells: Sequence[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
