"""Text for the terminal: names, reasons and designs of a shared study may hold anything."""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from textwrap import wrap

import typer
from rich.console import Console

from flexibo._internal.numbers import format_number
from flexibo._internal.text import json_text, printable, printable_line

UNBROKEN = 10_000  # columns, as where nobody breaks lines
_HARD_SPACE = "\xa0"
_TIMES = re.compile(r"\b\d+(\.\d+)? (s|min|h|d)\b( ago\b)?|\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b")


def output_console() -> Console:
    """A console that prints at once, to lines of `output_width`."""
    return Console(width=output_width())


@contextmanager
def printable_console() -> Iterator[Console]:
    """A console of `output_width` whose text is printed at the end, without control characters."""
    text = io.StringIO()
    yield Console(file=text, width=output_width(), highlight=False, color_system=None, force_terminal=False)
    typer.echo(printable(text.getvalue()), nl=False)


def output_width() -> int:
    """How wide lines may be: as the terminal; in a file or a pipe, whose reader breaks lines, as `COLUMNS` or any."""
    return Console().width if sys.stdout.isatty() or os.environ.get("COLUMNS") else UNBROKEN


def print_json(value: object) -> None:
    """Print a value as strict JSON: numbers that are not finite are null, and control characters are escaped."""
    typer.echo(json_text(value, indent=2))


def squeezed(text: str) -> str:
    """A text in one line, with single spaces and without control characters."""
    return printable_line(" ".join(text.split()))


def wrapped(text: str, width: int, *, margin: str = "", hanging: str = "", breaks_words: bool = True) -> list[str]:
    """The lines of a text, broken between words but never between a number and its unit of time.

    >>> wrapped("the last 2 min ago", 16)
    ['the last', '2 min ago']
    """
    kept = _TIMES.sub(lambda found: found[0].replace(" ", _HARD_SPACE), squeezed(text))
    lines = wrap(
        kept,
        width,
        initial_indent=margin,
        subsequent_indent=hanging,
        break_on_hyphens=False,
        break_long_words=breaks_words,
    )
    return [line.replace(_HARD_SPACE, " ") for line in lines]


def duration(seconds: float) -> str:
    """A duration for people.

    >>> duration(3.2), duration(300), duration(9000), duration(200000)
    ('3 s', '5 min', '2.5 h', '2.3 d')
    """
    for unit, length, places in (("d", 86400.0, 1), ("h", 3600.0, 1), ("min", 60.0, 0)):
        if seconds >= length:
            return f"{seconds / length:.{places}f} {unit}"
    return f"{max(seconds, 0.0):.0f} s"


def moment(seconds: float | None, now: float) -> str:
    if seconds is None:
        return "-"
    try:
        when = datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return "-"
    return f"{when}, {duration(now - seconds)} ago"


def design_line(design: dict[str, object]) -> str:
    return ", ".join(
        f"{name}={format_number(value, 3) if isinstance(value, float) else '-' if value is None else value}"
        for name, value in design.items()
    )


def count_of_designs(number: float) -> str:
    """The number of designs of a space.

    >>> count_of_designs(12554), count_of_designs(float("inf"))
    ('12,554', 'infinitely many')
    """
    return "infinitely many" if number == float("inf") else f"{number:,}"


def row_ranges(numbers: Sequence[int]) -> str:
    """Numbers in ascending order, with neighbours as ranges.

    >>> row_ranges([6, 7, 8, 10, 11]), row_ranges([3])
    ('6 to 8, 10, 11', '3')
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    listed = [f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return ", ".join(listed)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number of things.

    >>> counted(1, "row"), counted(2, "row"), counted(0, "entry", "entries")
    ('1 row', '2 rows', '0 entries')
    """
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def stop_text(limits: Mapping[str, float]) -> str:
    """The stop rules of a study.

    >>> stop_text({"max_evaluations": 90, "max_seconds": 7200.0, "certified_error": 0.05})
    'max_evaluations 90, max_seconds 7200 s, certified_error 5%'
    """
    amounts = {"max_seconds": lambda limit: f"{limit:g} s", "certified_error": lambda limit: f"{100.0 * limit:g}%"}
    return ", ".join(f"{rule} {amounts.get(rule, '{:g}'.format)(limit)}" for rule, limit in limits.items())


def typed_command(words: Sequence[str], options: Mapping[str, object]) -> str:
    """A command as it can be typed; options that are None, False or empty are left out, a list is repeated.

    >>> typed_command(["flexibo", "run", "my study.yaml"], {"--only": ["a", "b"], "--json": True, "--name": ""})
    "flexibo run 'my study.yaml' --only a --only b --json"
    """
    found = list(words)
    for option, value in options.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            if one is True:
                found.append(option)
            elif one not in (None, False, ""):
                found += [option, str(one)]
    return shlex.join(found)
