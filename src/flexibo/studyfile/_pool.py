"""A fixed pool of designs: the rows of a CSV file."""

from __future__ import annotations

import csv
import io
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flexibo.errors import FlexiBOError
from flexibo.space import Space
from flexibo.studyfile._fields import Fields, is_number
from flexibo.studyfile._yaml_nodes import YamlMapping
from flexibo.studyfile.mistakes import nearest

MOST_BYTES = 100_000_000
"""A table is read into memory, where it takes several times its size."""


class PoolError(FlexiBOError):
    """A table of designs that cannot be used."""


def pool_of(fields: Fields, folder: Path, *, has_rule: bool) -> Space | None:
    """The space of the designs that a CSV file lists."""
    if has_rule:
        fields.note("valid", "designs lists the only legal designs, so that valid has nothing to forbid; leave it out.")
    node = fields.table.get("designs")
    if isinstance(node, YamlMapping):
        inner = Fields(node, fields.mistakes, " of designs")
        inner.check_keys(("file", "columns"))
        name, columns = inner.text("file"), inner.names("columns", None, "option")
        if not inner.has("file"):
            fields.note("designs", "designs lacks the key file, the CSV file with a design in each row.")
    else:
        name, columns = fields.text("designs"), None
    if name is None:
        return None

    try:
        return Space.from_designs(_table(folder / Path(name).expanduser(), name, columns))
    except FlexiBOError as error:
        fields.note("designs", str(error))
        return None


def _table(path: Path, shown_name: str, columns: tuple[str, ...] | None) -> Mapping[str, list[Any]]:
    """The columns of a CSV file; a column of numbers only holds numbers."""
    text = _text(path, shown_name)
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    except csv.Error as error:
        raise PoolError(f"{shown_name} is not a CSV file: {error}; give one.") from None
    heading, rows = rows[:1], rows[1:]
    if not heading or not rows:
        raise PoolError(f"{shown_name} has no designs; give a line with the options' names and a line per design.")
    names = heading[0]
    if len(set(names)) < len(names) or not all(name.strip() for name in names):
        raise PoolError(f"{shown_name} has the heading {', '.join(names)}; each column needs a name of its own.")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(names):
            raise PoolError(f"{shown_name} has {len(row)} values in row {number}; its heading has {len(names)}.")
    for name in columns or ():
        if name not in names:
            raise PoolError(f"{shown_name} has no column {name!r}{nearest(name, names)}")
    chosen = [(place, name) for place, name in enumerate(names) if columns is None or name in columns]
    return {name: _typed([row[place] for row in rows]) for place, name in chosen}


def _text(path: Path, shown_name: str) -> str:
    """The text of a file; devices and pipes are refused, because reading them may never end."""
    try:
        if path.exists() and not path.is_file():
            raise PoolError(f"{shown_name} is not a file; give a CSV file.")
        with open(path, "rb") as file:
            is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            data = file.read(MOST_BYTES + 1) if is_regular else b""
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise PoolError(f"{shown_name} cannot be read: {why}; it is looked for beside the file.") from None
    if len(data) > MOST_BYTES:
        raise PoolError(f"{shown_name} is larger than {MOST_BYTES} bytes; leave out columns or rows.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PoolError(f"{shown_name} is not UTF-8 text; give a CSV file.") from None


def _typed(column: list[str]) -> list[Any]:
    """The values of a column: whole numbers if all are, numbers if all are, otherwise texts."""
    for kind in (int, float):
        try:
            values: list[Any] = [kind(text) for text in column]
        except ValueError:
            continue
        if all(is_number(value) and abs(value) < float("inf") for value in values):
            return values
    return list(column)
