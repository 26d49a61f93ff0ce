"""The options of a study file: all that a `Space` can express, or the rows of a CSV file as a fixed pool of designs."""

from __future__ import annotations

import csv
import io
import os
import stat
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from flexibo.errors import FlexiBOError
from flexibo.space import Categorical, Integer, Ordinal, Real, Rule, Space
from flexibo.space.options import Option, as_option, named
from flexibo.studyfile._board import KEY as BOARD
from flexibo.studyfile._board import board_knobs
from flexibo.studyfile._fields import Fields, is_number, shown
from flexibo.studyfile._yaml_nodes import Node, YamlList, YamlMapping, YamlScalar
from flexibo.studyfile.machine_settings import KNOB_NAMES
from flexibo.studyfile.mistakes import Mistakes, Position, nearest

OPTION_KEYS = ("from", "to", "log", "whole", "ordered", "unordered", "when")
FORMS = "a list such as [16, 32, 64], or {from: 1, to: 6}"
MOST_TABLE_BYTES = 100_000_000  # a table of designs is read into memory, where it takes several times its size
Made = TypeVar("Made")


def space_of(fields: Fields, folder: Path, rule: Rule | None) -> Space | None:
    """The space that the keys `options` or `designs` describe; None if they have mistakes."""
    if fields.has("knobs") and fields.has("designs"):
        fields.note("knobs", "Both knobs and designs are given; a table of designs has all options, so leave one out.")
        return None
    if fields.has("options") and fields.has("designs"):
        fields.note("designs", "Both options and designs are given; the designs of a table bring their own options.")
        return None
    if fields.has("designs"):
        return _pool(fields, folder)
    before = len(fields.mistakes.found)
    knobs = _knobs(fields)
    inner = fields.inner("options", " of options", "a mapping of names to values")
    if inner is None and (fields.has("options") or knobs is None):
        if not fields.has("options"):
            fields.note("options", "There are no options; say what may be varied under the key options.")
        return None
    if inner is not None and not inner.table.entries:
        fields.note("options", "options is empty; name at least one option.")
        return None
    tables = [table for table in (None if inner is None else inner.table, knobs) if table is not None]
    whole = YamlMapping(tuple(entry for table in tables for entry in table.entries), tables[0].place)
    found = _space(whole, fields.mistakes, rule)
    return None if len(fields.mistakes.found) > before else found


def knob_names(fields: Fields) -> tuple[str, ...]:
    """The options that are settings of the machine."""
    node = fields.table.get("knobs")
    return tuple(entry.key for entry in node.entries) if isinstance(node, YamlMapping) else ()


def _knobs(fields: Fields) -> YamlMapping | None:
    """The table of settings of the machine with their values; what is no knob is noted."""
    inner = fields.inner("knobs", " of knobs", "a mapping such as {cpu_governor: [performance, powersave]}")
    if inner is None:
        return None
    options = fields.table.get("options")
    has_board = fields.has(BOARD)
    known, where = (board_knobs(fields), "board check") if has_board else (KNOB_NAMES, "knobs list")
    for entry in inner.table.entries:
        if entry.key not in known:
            hint = nearest(entry.key, known)
            fields.mistakes.add(entry.place, f"Unknown knob {entry.key!r}{hint} 'flexibo {where}' shows them.")
        elif isinstance(options, YamlMapping) and options.get(entry.key) is not None:
            fields.mistakes.add(entry.place, f"{entry.key!r} is both an option and a knob; leave one out.")
    if not inner.table.entries:
        fields.note("knobs", "knobs is empty; name a setting of 'flexibo knobs list', or leave it out.")
        return None
    return inner.table


def _space(table: YamlMapping, mistakes: Mistakes, rule: Rule | None) -> Space | None:
    options: dict[str, Option] = {}
    conditions: dict[str, dict[str, list[Any]]] = {}
    before = len(mistakes.found)
    for entry in table.entries:
        option = option_of_node(entry.key, entry.node, entry.place, mistakes)
        if option is not None:
            options[entry.key] = option
    for entry in table.entries:
        if isinstance(entry.node, YamlMapping) and entry.node.get("when") is not None:
            conditions[entry.key] = _condition(entry.key, entry.node, [e.key for e in table.entries], mistakes)
    if len(mistakes.found) > before:
        return None
    for child, parents in conditions.items():  # one by one, so that each error has its position
        tried(table.place_of(child), mistakes, partial(Space, options, conditions={child: parents}))
    if len(mistakes.found) > before:
        return None
    place = next((table.place_of(child) for child in conditions), table.place)
    return tried(place, mistakes, lambda: Space(options, valid=rule, conditions=conditions))


def option_of_node(name: str, node: Node, place: Position, mistakes: Mistakes) -> Option | None:
    if isinstance(node, YamlList):
        values = _levels(name, node, mistakes)
        return None if values is None else tried(place, mistakes, lambda: as_option(name, values))
    if not isinstance(node, YamlMapping):
        if not (isinstance(node, YamlScalar) and node.value is None and node.text):
            mistakes.add(node.place, f"Option {name!r} is {shown(node)}; give {FORMS}.")
        return None
    fields = Fields(node, mistakes, f" of option {name!r}")
    fields.check_keys(OPTION_KEYS)
    listed = [key for key in ("ordered", "unordered") if fields.has(key)]
    if len(listed) == 2 or (listed and any(fields.has(key) for key in ("from", "to", "log", "whole"))):
        fields.note(listed[0], f"Option {name!r} mixes a list with bounds or another list; give one of them: {FORMS}.")
        return None
    if listed:
        return _listed(name, listed[0], fields)
    return _interval(name, fields)


def _listed(name: str, kind: str, fields: Fields) -> Option | None:
    node = fields.table.get(kind)
    if not isinstance(node, YamlList):
        fields.note(kind, f"{kind}{fields.of} must be a list of values.")
        return None
    values = _levels(name, node, fields.mistakes)
    if values is None:
        return None
    make = Ordinal if kind == "ordered" else Categorical
    return tried(fields.place(kind), fields.mistakes, lambda: named(name, lambda: make(values)))


def _interval(name: str, fields: Fields) -> Option | None:
    missing = [key for key in ("from", "to") if not fields.has(key)]
    if missing:
        known = any(entry.key in OPTION_KEYS for entry in fields.table.entries)
        if known or not fields.table.entries:
            fields.mistakes.add(fields.table.place, f"Option {name!r} lacks {' and '.join(missing)}; give {FORMS}.")
        return None
    low, high = fields.number("from"), fields.number("to")
    log, whole = fields.flag("log"), fields.flag("whole")
    if low is None or high is None:
        return None
    if whole is None:
        whole = isinstance(low, int) and isinstance(high, int)

    def make() -> Option:
        # Integer itself refuses what is not a whole number.
        return Integer(low, high, log=log) if whole else Real(low, high, log=log)  # type: ignore[arg-type]

    return tried(fields.place("from"), fields.mistakes, lambda: named(name, make))


def _levels(name: str, node: YamlList, mistakes: Mistakes) -> list[Any] | None:
    """The values of a list: texts, numbers and booleans."""
    values = []
    for item in node.items:
        if isinstance(item, YamlScalar) and item.value is not None:
            values.append(item.value)
        elif not (isinstance(item, YamlScalar) and item.text and item.text not in ("~", "null")):
            mistakes.add(item.place, f"Option {name!r} has {shown(item)} among its values; give texts or numbers.")
    return values if len(values) == len(node.items) else None


def _condition(child: str, node: YamlMapping, names: list[str], mistakes: Mistakes) -> dict[str, list[Any]]:
    """For each parent the values that keep the option active."""
    fields = Fields(node, mistakes, f" of option {child!r}").inner(
        "when", f" of option {child!r}", "a mapping such as {optimiser: [sgd]}"
    )
    found: dict[str, list[Any]] = {}
    for entry in () if fields is None else fields.table.entries:
        items = entry.node.items if isinstance(entry.node, YamlList) else (entry.node,)
        if entry.key not in names:
            hint = nearest(entry.key, names)
            mistakes.add(entry.place, f"Unknown option {entry.key!r} in when of option {child!r}{hint}")
        found[entry.key] = [item.value for item in items if isinstance(item, YamlScalar)]
    return found


def tried(place: Position, mistakes: Mistakes, make: Callable[[], Made]) -> Made | None:
    """What `make` returns; None and a mistake if it raises."""
    try:
        return make()
    except FlexiBOError as error:
        mistakes.add(place, str(error))
        return None


class PoolError(FlexiBOError):
    """A table of designs that cannot be used."""


def _pool(fields: Fields, folder: Path) -> Space | None:
    if fields.has("valid"):
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
    path = folder / Path(name).expanduser()
    return tried(fields.place("designs"), fields.mistakes, lambda: Space.from_designs(_table(path, name, columns)))


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
            data = file.read(MOST_TABLE_BYTES + 1) if is_regular else b""
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise PoolError(f"{shown_name} cannot be read: {why}; it is looked for beside the file.") from None
    if len(data) > MOST_TABLE_BYTES:
        raise PoolError(f"{shown_name} is larger than {MOST_TABLE_BYTES} bytes; leave out columns or rows.")
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
