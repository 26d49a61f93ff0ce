"""Printing what others may have written: names, reasons and designs of a shared study."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from json import dumps
from math import isfinite
from textwrap import wrap
from typing import TYPE_CHECKING

import typer

from flexibo._internal.numbers import format_number
from flexibo._internal.text import printable, printable_line

if TYPE_CHECKING:
    from rich.console import Console

_HARD_SPACE = "\xa0"
_TIMES = re.compile(r"\b\d+(\.\d+)? (s|min|h|d)\b( ago\b)?|\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b")


@contextmanager
def harmless_console() -> Iterator[Console]:
    """A console as wide as the terminal, whose text is printed at the end, without what would command a terminal."""
    from rich.console import Console

    text = io.StringIO()
    console = Console(file=text, width=Console().width, highlight=False, color_system=None, force_terminal=False)
    yield console
    typer.echo(printable(text.getvalue()), nl=False)


def print_json(value: object) -> None:
    """Print a value as strict JSON: a number that is not finite is null, and no character commands a terminal."""
    typer.echo(dumps(_strict(value), indent=2, allow_nan=False))


def _strict(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def in_words(text: str) -> str:
    """A text in one line, its line breaks and margins as single spaces, without what would command a terminal."""
    return printable_line(" ".join(text.split()))


def wrapped(text: str, width: int, *, margin: str = "", hanging: str = "") -> list[str]:
    """The lines of a text, broken between words but never between a number and its unit of time.

    >>> wrapped("the last 2 min ago", 16)
    ['the last', '2 min ago']
    """
    kept = _TIMES.sub(lambda found: found[0].replace(" ", _HARD_SPACE), in_words(text))
    lines = wrap(kept, width, initial_indent=margin, subsequent_indent=hanging, break_on_hyphens=False)
    return [line.replace(_HARD_SPACE, " ") for line in lines]


def duration(seconds: float) -> str:
    """A time for people.

    >>> duration(3.2), duration(300), duration(9000), duration(200000)
    ('3 s', '5 min', '2.5 h', '2.3 d')
    """
    for unit, length, places in (("d", 86400.0, 1), ("h", 3600.0, 1), ("min", 60.0, 0)):
        if seconds >= length:
            return f"{seconds / length:.{places}f} {unit}"
    return f"{max(seconds, 0.0):.0f} s"


def moment(seconds: float | None, now: float) -> str:
    """When something was, in local time, and how long ago."""
    if seconds is None:
        return "-"
    try:
        when = datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return "-"
    return f"{when}, {duration(now - seconds)} ago"


def options(design: dict[str, object]) -> str:
    """A design in one line."""
    return ", ".join(
        f"{name}={format_number(value, 3) if isinstance(value, float) else '-' if value is None else value}"
        for name, value in design.items()
    )
