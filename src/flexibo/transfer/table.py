"""A study as a table for people and other programs: one row per evaluation."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from flexibo.history import History
from flexibo.transfer.records import Record

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
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def table_lines(history: History, found: Iterable[Record]) -> Iterator[str]:
    """The table as CSV, line by line: a heading, then a row per record.

    Options and objectives have a column each; times are UTC.
    """
    options, values = headings(history)
    yield _line([*BEFORE, *options, *values, *AFTER])
    for record in found:
        yield _line(
            [
                record.number,
                record.objective,
                *(record.design[name] for name in history.space.names),
                *(record.values.get(name) for name in history.names),
                record.cost,
                record.lost_cost,
                record.state,
                _tamed(record.reason),
                record.attempt,
                _tamed(record.worker),
                iso_time(record.asked),
                iso_time(record.answered),
                record.gain,
                record.expected_cost,
                _tamed(record.why),
            ]
        )


def headings(history: History) -> tuple[list[str], list[str]]:
    """The columns of the options and of the objectives; where a name is not free, what it names stands before it."""
    options, objectives = history.space.names, history.names
    own = {*BEFORE, *AFTER}
    return (
        [_heading("option", name, own | set(objectives)) for name in options],
        [_heading("value", name, own | set(options)) for name in objectives],
    )


def iso_time(seconds: float | None) -> str:
    """A time in seconds since 1970 as text, in UTC; empty where there is none.

    >>> iso_time(0)
    '1970-01-01T00:00:00+00:00'
    """
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):  # a clock that was never set
        return ""


def _heading(what: str, name: str, taken: Collection[str]) -> str:
    return f"{what} {name}" if name in taken else name


def _line(cells: Sequence[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def _tamed(text: str) -> str:
    """A text that a spreadsheet does not take for a formula: reasons may hold a stranger's words."""
    return f"'{text}" if text.startswith(_FORMULA) else text
