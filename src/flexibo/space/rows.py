"""Values that users give, checked and turned into codes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.space.design import Design
from flexibo.space.encoding import code_of, codes_of, expected

if TYPE_CHECKING:
    from flexibo.space.space import Space


def codes_of_rows(space: Space, rows: Sequence[Any]) -> FloatArray:
    """The codes (m, k) of many mappings; errors say in which row."""
    if not rows:
        return np.empty((0, len(space.names)))
    if all(isinstance(row, Design) and row._positions is space._index for row in rows):
        columns = zip(*(row._values for row in rows), strict=True)
        options = space._options.values()
        return np.stack([codes_of(option, column) for option, column in zip(options, columns, strict=True)], axis=1)
    codes = np.empty((len(rows), len(space.names)))
    number = 0
    try:
        for number, row in enumerate(rows):
            codes[number] = codes_of_row(space, row)
    except (InvalidTypeError, InvalidValueError) as error:
        raise type(error)(f"Row {number}: {error}") from None
    return codes


def codes_of_row(space: Space, values: object) -> list[float]:
    """The codes (k,) of one mapping of options to values, each value checked, NaN for inactive options."""
    if not isinstance(values, Mapping):
        raise InvalidTypeError(f"A design is {values!r}; it must be a mapping of options to values.")
    for name in values:
        if name not in space._index:
            raise unknown_name("option", name, space.names)
    codes = [math.nan] * len(space.names)
    for position in space._activity.order:
        name = space.names[position]
        clauses = space._activity.clauses.get(position, ())
        if all(codes[parent] in allowed for parent, allowed in clauses):
            codes[position] = _code(space, name, values)
        elif values.get(name) is not None:
            raise InvalidValueError(
                f"Option {name!r} is {values[name]!r}; it is inactive here, so it must be None or left out."
            )
    return codes


def _code(space: Space, name: str, values: Mapping[str, object]) -> float:
    if name not in values:
        raise InvalidValueError(f"Option {name!r} is missing; it must be {expected(space._options[name], 0)}.")
    code = code_of(space._options[name], values[name])
    if code is None:
        value = values[name]
        raise InvalidValueError(f"Option {name!r} is {value!r}; it must be {expected(space._options[name], value)}.")
    return code
