"""Pools: tables that list the only legal designs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray, plain
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.space.encoding import codes_of
from flexibo.space.options import Level, Option, is_number, option_of


def read_pool(rows: object) -> tuple[dict[str, Option], FloatArray]:
    """The options of a table, inferred from its values, and the codes (m, k) of its rows.

    >>> options, codes = read_pool([{"cores": 4, "gpu": True}, {"cores": 2, "gpu": True}])
    >>> options
    {'cores': Ordinal(values=(2, 4)), 'gpu': Categorical(values=(True,))}
    >>> codes.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    table = _columns(rows)
    options: dict[str, Option] = {}
    codes = []
    for name, column in table.items():
        distinct = _distinct(name, column)
        # Sorted, so that the order of the rows does not decide the order of the categories.
        options[name] = option_of(sorted(distinct, key=_place))
        codes.append(codes_of(options[name], column))
    if not options:
        raise InvalidValueError("The rows of the pool have no columns; give each design at least one option.")
    return options, np.stack(codes, axis=1)


def _place(value: Level) -> tuple[int, Level]:
    """The sort key of a value: booleans, then numbers, then strings."""
    return 2 * isinstance(value, str) + is_number(value), value


def _columns(rows: object) -> dict[str, list[Any]]:
    """The columns of a list of mappings, of a mapping of columns, or of a data frame."""
    if isinstance(rows, Mapping):
        return _columns_of_mapping(rows)
    records = rows.to_dict("records") if hasattr(rows, "to_dict") else rows
    if not isinstance(records, Iterable) or isinstance(records, (str, bytes)):
        raise InvalidTypeError(f"The pool is {rows!r}; give a list of designs, a mapping of columns or a data frame.")
    listed = list(records)
    if not listed:
        raise InvalidValueError("The pool has no designs; give at least one.")
    for number, row in enumerate(listed):
        if not isinstance(row, Mapping):
            raise InvalidTypeError(f"Row {number} of the pool is {row!r}; it must be a mapping of options to values.")
        if row.keys() != listed[0].keys():
            odd = sorted(map(str, row.keys() ^ listed[0].keys()))
            raise InvalidValueError(
                f"Row {number} of the pool and row 0 do not both have {', '.join(map(repr, odd))}; "
                "every row needs every option."
            )
    return {name: _plain_column([row[name] for row in listed]) for name in listed[0]}


def _columns_of_mapping(table: Mapping[Any, Any]) -> dict[str, list[Any]]:
    columns = {}
    for name, column in table.items():
        if isinstance(column, (str, bytes)) or not isinstance(column, Iterable):
            raise InvalidTypeError(f"Column {name!r} of the pool is {column!r}; it must be a list of values.")
        columns[name] = _plain_column(column)
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InvalidValueError(f"The columns of the pool have lengths {lengths}; every row needs every option.")
    if not any(lengths.values()):
        raise InvalidValueError("The pool has no designs; give at least one.")
    return columns


def _plain_column(column: Iterable[Any]) -> list[Any]:
    values = list(column)
    scalars = any(issubclass(kind, np.generic) for kind in set(map(type, values)))
    return [plain(value) for value in values] if scalars else values


def _distinct(name: str, column: list[Any]) -> set[Level]:
    """The distinct values of a column; an error names the row of an unusable one."""
    ordinary = all(issubclass(kind, (str, int, float)) for kind in set(map(type, column)))
    if not all(map(_is_usable, set(column) if ordinary else column)):
        number = next(number for number, value in enumerate(column) if not _is_usable(value))
        raise InvalidValueError(
            f"Row {number} of the pool has {column[number]!r} for option {name!r}; "
            "it must be a string, a finite number or a boolean."
        )
    return set(column)


def _is_usable(value: object) -> bool:
    return isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))
