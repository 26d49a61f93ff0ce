"""The table of a recording: a compressed CSV whose first line, a comment, describes how it was made."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexibo._internal.files import write_atomically
from flexibo._internal.text import printable_line
from flexibo.errors import InvalidValueError

MEASURED = (  # the columns that follow the options
    "error_percent",
    "training_seconds",
    "energy_joules",
    "latency_ms",
    "power_watts",
    "reading_seconds",
    "energy_joules_again",
)
FURTHER = (  # columns that older tables do not have; empty ones are left out
    "energy_spread",
    "latency_spread",
    "windows",
    "deployed_error_percent",
)


Curve = tuple[tuple[float, float], ...]
"""Seconds up to each step of a training, and the error after it."""


@dataclass(frozen=True, slots=True)
class RecordedTable:
    """A measured grid of networks and deployments."""

    heading: Mapping[str, Any]  # system, data, machine, versions, date, and the options of network and deployment
    rows: tuple[Mapping[str, Any], ...]  # option values, `MEASURED`, maybe `FURTHER`; None if a measurement failed

    @property
    def network_options(self) -> tuple[str, ...]:
        """The options that decide the error."""
        return tuple(self.heading["network_options"])

    @property
    def deployment_options(self) -> tuple[str, ...]:
        """The options that decide only energy and latency."""
        return tuple(self.heading["deployment_options"])

    @property
    def curves(self) -> tuple[Curve, ...]:
        """The learning curve of each network, in the order of the rows: seconds up to an epoch, error after it.

        The seconds are those of the epochs so far and of one test. Empty if the errors after each epoch were not kept.
        """
        kept = (self.heading.get(name, ()) for name in ("epoch_errors", "epoch_seconds", "test_seconds"))
        return tuple(
            tuple((seconds * epoch + test, error) for epoch, error in enumerate(errors or (), 1))
            for errors, seconds, test in zip(*kept, strict=True)
        )


def common_steps(curves: Sequence[Curve]) -> tuple[Curve, ...]:
    """Learning curves with equally many steps: epochs, or shares of a training where their number differs.

    Trainings of 8 and 32 epochs have eight steps, of one and of four epochs. Empty if a curve is, or if the numbers of
    epochs have no common divisor.

    >>> common_steps([((1.0, 50.0), (2.0, 40.0)), ((3.0, 60.0), (6.0, 50.0), (9.0, 40.0), (12.0, 30.0))])
    (((1.0, 50.0), (2.0, 40.0)), ((6.0, 50.0), (12.0, 30.0)))
    """
    lengths = {len(curve) for curve in curves}
    steps = math.gcd(*lengths)
    if 0 in lengths or (steps == 1 and len(lengths) > 1):
        return ()
    return tuple(curve[len(curve) // steps - 1 :: len(curve) // steps] for curve in curves)


def write_table(path: Path, table: RecordedTable) -> None:
    """Write a table atomically; equal tables give equal bytes."""
    further = (name for name in FURTHER if any(row.get(name) is not None for row in table.rows))
    names = (*table.network_options, *table.deployment_options, *MEASURED, *further)
    text = io.StringIO(newline="")
    text.write(f"# {json.dumps(dict(table.heading), sort_keys=True)}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_text(row.get(name)) for name in names] for row in table.rows)
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as file:
        file.write(text.getvalue().encode())
    write_atomically(path, packed.getvalue())


def read_table(path: Path) -> RecordedTable:
    """The table in a file."""
    try:
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        heading = json.loads(lines[0].removeprefix("# "))
        names, *rows = csv.reader(lines[1:])
        options = (*heading["network_options"], *heading["deployment_options"])
        kinds = {option: tuple(heading["values"][option]) for option in options}
    except (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError, RecursionError) as error:
        raise _refused(f"{path} is no table that 'flexibo record' wrote: {error}.") from None
    if tuple(names) != (*options, *MEASURED, *(name for name in FURTHER if name in names)):
        raise _refused(f"{path} has the columns {', '.join(names)}; {', '.join((*options, *MEASURED))} wanted.")
    return RecordedTable(heading, tuple(_row(names, row, kinds, path) for row in rows))


def _row(names: Sequence[str], row: Sequence[str], kinds: Mapping[str, Sequence[Any]], path: Path) -> dict[str, Any]:
    if len(row) != len(names):
        raise _refused(f"{path} has a row of {len(row)} cells; {len(names)} wanted.")
    values: dict[str, Any] = {}
    for name, text in zip(names, row, strict=True):
        if name in MEASURED or name in FURTHER:
            values[name] = _number(text, name, path) if text else None
            continue
        known = {_text(value): value for value in kinds[name]}
        if text not in known:
            raise _refused(f"{path} has {text!r} in the column {name!r}; one of {', '.join(known)} wanted.")
        values[name] = known[text]
    return values


def _number(text: str, name: str, path: Path) -> float:
    try:
        return float(text)
    except ValueError:
        raise _refused(f"{path} has {text!r} in the column {name!r}; a number wanted.") from None


def _refused(message: str) -> InvalidValueError:
    """An error about a table, with control characters of untrusted content escaped."""
    return InvalidValueError(printable_line(message))


def _text(value: Any) -> str:
    """A cell: numbers to seven digits, more than any meter has; empty for None."""
    if value is None:
        return ""
    return f"{value:.7g}" if isinstance(value, float) else str(value)
