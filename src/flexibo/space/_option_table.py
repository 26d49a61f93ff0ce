"""OptionTable: the options of a space and their conditions, and the codes of the values that users give."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo._internal.checks import checked_unicode
from flexibo.errors import FlexiBOError, InvalidTypeError, InvalidValueError, raise_all, unknown_name
from flexibo.space._conditions import activity_of, checked_conditions
from flexibo.space.design import Design
from flexibo.space.encoding import code_of, codes_of, expected, legal_codes, width
from flexibo.space.options import Categorical, Option, Ordinal, as_option, with_known_legal

SHOWN_NAMES = 4
NUMBER = re.compile(r"\d+")

Families: TypeAlias = tuple[tuple[tuple[int, ...], ...], ...]
"""For each family of options, such as the widths of several layers, the columns of each option in encoded designs."""


class OptionTable:
    """The columns of a matrix of codes: options, in order, and the conditions under which they are active."""

    def __init__(
        self, options: Mapping[str, object], conditions: object = None, defaults: Mapping[str, Any] | None = None
    ) -> None:
        if not isinstance(options, Mapping):
            raise InvalidTypeError(f"The options are {options!r}; give a mapping of names to values.")
        if not options:
            raise InvalidValueError("The space has no options; give at least one.")
        for name in options:
            if not isinstance(name, str) or not name:
                raise InvalidTypeError(f"An option is named {name!r}; names must be strings that are not empty.")
            checked_unicode("An option is named", name)
        self.options: dict[str, Option] = {name: as_option(name, given) for name, given in options.items()}
        self.names = tuple(self.options)
        self.columns = {name: column for column, name in enumerate(self.names)}
        # For each conditional option, for each parent, the values that keep it active; `activity` is the same in codes.
        self.conditions = checked_conditions(conditions, _with_known(self.options))
        self.activity = activity_of(self.conditions, _with_known(self.options))
        # In a space that was changed, the values that earlier designs have of options that came later; otherwise None.
        self.defaults = None if defaults is None else dict(defaults)
        self._fallback: Mapping[str, Any] = {}
        self.narrowed = {column: option for column, option in enumerate(self.options.values()) if option.known}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OptionTable):
            return NotImplemented
        return self is other or (
            self.names == other.names
            and self.options == other.options
            and self.conditions == other.conditions
            and self.defaults == other.defaults
        )

    def __hash__(self) -> int:
        return hash((self.names, tuple(self.options.values())))

    @cached_property
    def known(self) -> OptionTable:
        """The same columns and codes, where all is legal that was before, and an option that came later has a value."""
        table = OptionTable(_with_known(self.options), self.conditions)
        table.columns = self.columns
        table._fallback = self.defaults or {}
        return table

    def summary(self) -> str:
        """The number of options and the first of their names."""
        shown = ", ".join(self.names[:SHOWN_NAMES]) + (", ..." if len(self.names) > SHOWN_NAMES else "")
        return f"{len(self.names)} options: {shown}"

    def columns_of(self, options: Sequence[str] | None) -> Sequence[int]:
        """The columns of the named options; of all of them for None."""
        if options is None:
            return range(len(self.names))
        if isinstance(options, str):
            raise InvalidTypeError(f"The options are {options!r}; give a list of names.")
        for name in options:
            if name not in self.columns:
                raise unknown_name("option", name, self.names)
        if len(set(options)) < len(options):
            raise InvalidValueError(f"The options are {list(options)}; each may be named once.")
        return [self.columns[name] for name in options]

    def groups(self, options: Sequence[str] | None = None) -> IntArray:
        """For each column (d,) of `Designs.encoded(options)`, the position of its option among `options`."""
        widths = [width(self.options[self.names[column]]) for column in self.columns_of(options)]
        return np.repeat(np.arange(len(widths)), widths).astype(np.int64)

    def families(self, options: Sequence[str] | None = None) -> Families:
        """The options of each family, two or more: for each of them its columns in `Designs.encoded(options)`.

        A family has one list of values, and names that differ in their numbers only. Other options with the same values
        need have nothing in common.
        """
        groups = self.groups(options)
        alike: dict[tuple[str, Option], list[tuple[int, ...]]] = {}
        for place, column in enumerate(self.columns_of(options)):
            own, name = tuple(np.flatnonzero(groups == place).tolist()), self.names[column]
            if own and isinstance(option := self.options[name], (Categorical, Ordinal)):  # a constant has no columns
                alike.setdefault((NUMBER.sub("", name), with_known_legal(option)), []).append(own)
        return tuple(tuple(columns) for columns in alike.values() if len(columns) > 1)

    def codes_of_rows(self, rows: Sequence[Any]) -> FloatArray:
        """The codes (m, k) of mappings of options to values; errors name the row."""
        if not rows:
            return np.empty((0, len(self.names)))
        if all(isinstance(row, Design) and row._positions is self.columns for row in rows):
            values = zip(*(row._values for row in rows), strict=True)
            return np.stack(list(map(codes_of, self.options.values(), values)), axis=1)
        if self._fallback and not self.activity.clauses:
            rows = [{**self._fallback, **row} if isinstance(row, Mapping) else row for row in rows]
        if (found := self._codes_of_whole_rows(rows)) is not None:
            return found
        codes = np.empty((len(rows), len(self.names)))
        number = 0
        try:
            for number, row in enumerate(rows):
                codes[number] = self.codes_of_row(row)
        except (InvalidTypeError, InvalidValueError) as error:
            raise type(error)(f"Row {number}: {error}") from None
        return codes

    def _codes_of_whole_rows(self, rows: Sequence[Any]) -> FloatArray | None:
        """The codes (m, k) of dictionaries that name all options with legal values; None if one does not."""
        if self.activity.clauses or not all(type(row) is dict and len(row) == len(self.names) for row in rows):
            return None
        try:
            columns = [legal_codes(option, [row[name] for row in rows]) for name, option in self.options.items()]
        except KeyError:
            return None
        found = [column for column in columns if column is not None]
        return np.stack(found, axis=1) if len(found) == len(columns) else None

    def codes_of_row(self, values: object) -> list[float]:
        """The codes (k,) of one mapping of options to values; NaN for inactive options. All mistakes are one error."""
        if not isinstance(values, Mapping):
            raise InvalidTypeError(f"A design is {values!r}; it must be a mapping of options to values.")
        mistakes: list[FlexiBOError] = [
            unknown_name("option", name, self.names) for name in values if name not in self.columns
        ]
        codes = [math.nan] * len(self.names)
        unknown = set[int]()  # columns with a mistake, and those of which nobody knows whether they matter
        for column in self.activity.order:
            name = self.names[column]
            clauses = self.activity.clauses.get(column, ())
            if any(parent in unknown for parent, _ in clauses):
                unknown.add(column)
                continue
            try:
                codes[column] = self._code(name, values, all(codes[parent] in allowed for parent, allowed in clauses))
            except InvalidValueError as mistake:
                unknown.add(column)
                mistakes.append(mistake)
        raise_all(mistakes)
        return codes

    def _code(self, name: str, values: Mapping[str, object], is_active: bool) -> float:
        option = self.options[name]
        if not is_active:
            if values.get(name) is None:
                return math.nan
            raise InvalidValueError(
                f"Option {name!r} is {values[name]!r}; it is inactive here, so it must be None or left out."
            )
        if name not in values and name not in self._fallback:
            raise InvalidValueError(f"Option {name!r} is missing; it must be {expected(option, 0)}.")
        value = values[name] if name in values else self._fallback[name]
        code = code_of(option, value)
        if code is None:
            raise InvalidValueError(f"Option {name!r} is {value!r}; it must be {expected(option, value)}.")
        return code


def _with_known(options: Mapping[str, Option]) -> dict[str, Option]:
    return {name: with_known_legal(option) for name, option in options.items()}
