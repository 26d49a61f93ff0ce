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
from flexibo._internal.text import printable_line, shortened_words
from flexibo._internal.untrusted_json import untrusted_json
from flexibo.errors import InvalidValueError
from flexibo.systems.recording.columns import CURVES, FURTHER, MEASURED, curve_fault, is_scalar, number_fault

ADVICE = "Copy the table again, or make it again with 'flexibo record --finish'."
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
        """The options that decide energy and latency, and of the error only its precision."""
        return tuple(self.heading["deployment_options"])

    @property
    def curves(self) -> tuple[Curve, ...]:
        """The learning curve of each network, in the order of the rows: seconds up to an epoch, error after it.

        The seconds are those of the epochs so far and of one test. Empty if the errors after each epoch were not kept.
        """
        kept = (self.heading.get(name, ()) for name in CURVES)
        return tuple(
            () if None in (errors, seconds, test) else tuple((seconds * n + test, e) for n, e in enumerate(errors, 1))
            for errors, seconds, test in zip(*kept, strict=True)
        )

    @property
    def test_seconds(self) -> tuple[float | None, ...]:
        """The seconds that a test of each network takes, in the order of the rows; empty if they were not kept."""
        return tuple(self.heading.get(CURVES[2], ()))

    @property
    def has_deployed_errors(self) -> bool:
        """Whether it has the error in the precision of the deployment, besides that as trained."""
        return any(row.get("deployed_error_percent") is not None for row in self.rows)

    @property
    def chance(self) -> tuple[float, int] | None:
        """The error in percent of the best answer without learning, and the number of held-out examples.

        None if the table does not say, as those of version 0.1.
        """
        settings = self.heading["settings"]
        return (settings["chance_percent"], settings["test_examples"]) if "chance_percent" in settings else None


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
    """Write a table atomically; equal tables give equal bytes. One that could not be read again is refused."""
    further = (name for name in FURTHER if any(row.get(name) is not None for row in table.rows))
    names = (*table.network_options, *table.deployment_options, *MEASURED, *further)
    text = io.StringIO(newline="")
    text.write(f"# {json.dumps(dict(table.heading), sort_keys=True)}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_text(row.get(name)) for name in names] for row in table.rows)
    try:
        _parsed(text.getvalue(), path)
    except InvalidValueError as error:
        raise InvalidValueError(f"The table is not written, because it could not be read again: {error}") from None
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as file:
        file.write(text.getvalue().encode())
    write_atomically(path, packed.getvalue())


def read_table(path: Path) -> RecordedTable:
    """The table in a file; one that says something impossible is refused."""
    try:
        text = gzip.decompress(path.read_bytes()).decode()
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise _no_table(path, error) from None
    return _parsed(text, path)


def _parsed(text: str, path: Path) -> RecordedTable:
    """The table of a text, which may come from anywhere."""
    first, _, rest = text.partition("\n")
    try:
        heading = untrusted_json(first.removeprefix("# "))
        _check_heading(heading)
        names, *rows = csv.reader(io.StringIO(rest, newline="")) if rest else [[]]
    except (ValueError, csv.Error) as error:
        raise _no_table(path, error) from None
    options = (*heading["network_options"], *heading["deployment_options"])
    if tuple(names) != (*options, *MEASURED, *(name for name in FURTHER if name in names)):
        raise _refused(f"{path} has the columns {', '.join(names)}; {', '.join((*options, *MEASURED))} wanted.")
    if not rows:
        raise _refused(f"{path} has no rows. {ADVICE}")
    known = {option: {_text(value): value for value in heading["values"][option]} for option in options}
    table = RecordedTable(heading, tuple(_row(names, row, known, f"{path}, row {n}") for n, row in enumerate(rows, 1)))
    _check_curves(table, path)
    return table


def _check_heading(heading: Any) -> None:
    """Raise ValueError unless a heading has what every table has, in the right form."""
    if not isinstance(heading, dict):
        raise ValueError("its first line is no JSON object")
    for name in ("system", "date", "meter"):
        if not isinstance(heading.get(name), str):
            raise ValueError(f"its heading has no text {name!r}")
    if "machine" not in heading:
        raise ValueError("its heading names no machine")
    _check_settings(heading.get("settings"))
    parts = [heading.get(name, []) for name in ("network_options", "deployment_options", "training_only")]
    if not all(isinstance(part, list) and all(isinstance(name, str) for name in part) for part in parts):
        raise ValueError("its heading has options that are no list of names")
    options = [*parts[0], *parts[1]]
    if not parts[0] or not parts[1] or len({*options, *MEASURED, *FURTHER}) < len([*options, *MEASURED, *FURTHER]):
        raise ValueError("its heading has no options, or two columns of the same name")
    values = heading.get("values")
    for option in options:
        of_option = values.get(option) if isinstance(values, dict) else None
        if not isinstance(of_option, list) or not all(map(is_scalar, of_option)):
            raise ValueError(f"its heading has no list of values of {option!r}")
        if len(set(map(_text, of_option))) < len(of_option):
            raise ValueError(f"its heading has two values of {option!r} that look the same")


def _check_settings(settings: Any) -> None:
    if not isinstance(settings, dict) or not isinstance(settings.get("dataset"), str):
        raise ValueError("its heading has no settings with the name of a dataset")
    if "chance_percent" not in settings:
        return
    fault = number_fault("error_percent", settings["chance_percent"])
    if fault:
        raise ValueError(f"its level of chance cannot be: {fault}")
    if type(settings.get("test_examples")) is not int or settings["test_examples"] < 1:
        raise ValueError("its heading has a level of chance, and no number of test_examples")


def _row(
    names: Sequence[str], row: Sequence[str], known: Mapping[str, Mapping[str, Any]], place: str
) -> dict[str, Any]:
    if len(row) != len(names):
        raise _refused(f"{place} has {len(row)} cells; {len(names)} wanted.")
    values: dict[str, Any] = {}
    for name, text in zip(names, row, strict=True):
        if name not in known:
            values[name] = _number(text, name, place) if text else None
        elif text in known[name]:
            values[name] = known[name][text]
        else:
            raise _refused(f"{place} has {text!r} in the column {name!r}; one of {', '.join(known[name])} wanted.")
    return values


def _number(text: str, name: str, place: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise _refused(f"{place} has {text!r} in the column {name!r}; a number wanted.") from None
    if fault := number_fault(name, number):
        raise _refused(f"{place}: {fault}. {ADVICE}")
    return number


def _check_curves(table: RecordedTable, path: Path) -> None:
    """Raise an error unless each network has a curve that ends at its error, or none."""
    found = [table.heading[name] for name in CURVES if name in table.heading]
    networks: dict[tuple[Any, ...], int] = {}
    for row in table.rows:
        networks.setdefault(_network(row, table), len(networks))
    if not found:
        return
    if len(found) < len(CURVES) or any(not isinstance(one, list) or len(one) != len(networks) for one in found):
        raise _refused(f"{path} has {len(networks)} networks, and not as many {', '.join(CURVES)}. {ADVICE}")
    errors, seconds, tests = found
    for n, row in enumerate(table.rows, 1):
        place = networks[_network(row, table)]
        faults = [
            "" if errors[place] is None else curve_fault(errors[place], row["error_percent"]),
            *(
                "" if values[place] is None else number_fault(name, values[place])
                for name, values in zip(CURVES[1:], (seconds, tests), strict=True)
            ),
        ]
        if fault := next(filter(None, faults), ""):
            raise _refused(f"{path}, row {n}, network {place + 1}: {fault}. {ADVICE}")


def _network(row: Mapping[str, Any], table: RecordedTable) -> tuple[Any, ...]:
    return tuple(row[option] for option in table.network_options)


def _no_table(path: Path, error: Exception) -> InvalidValueError:
    return _refused(f"{path} is no table that 'flexibo record' wrote: {str(error) or type(error).__name__}. {ADVICE}")


def _refused(message: str) -> InvalidValueError:
    """An error about a table, with control characters of untrusted content escaped."""
    return InvalidValueError(shortened_words(printable_line(message)))


def _text(value: Any) -> str:
    """A cell: numbers to seven digits, more than any meter has; empty for None."""
    if value is None:
        return ""
    return f"{value:.7g}" if isinstance(value, float) else str(value)
