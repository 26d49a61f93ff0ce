"""Designs: many designs of one space as a matrix of codes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import repeat
from typing import Any, overload

import numpy as np

from flexibo._internal.arrays import AnyArray, FloatArray, KeyArray
from flexibo.errors import InvalidValueError
from flexibo.space._option_table import OptionTable
from flexibo.space.design import Design
from flexibo.space.encoding import decode, encode, mixed, value_of, values_of, width
from flexibo.space.options import Value

BLOCK = 4096  # keys, and designs when iterating, are made a block at a time, which needs little memory


class Designs(Sequence[Design]):
    """Many designs of one space; a `Design` object is made only when one is needed.

    Attributes:
        table: The options of the space.
        codes: One row per design and one column per option (m, k): the position of the value for a `Categorical` or
            `Ordinal`, the number itself for an `Integer` or `Real`, NaN where the option is inactive. Read-only.

    An int gives a `Design`; a slice, or an array of positions or of booleans, gives `Designs`.
    """

    __slots__ = ("_encoded", "_keys", "codes", "table")
    table: OptionTable
    codes: FloatArray

    def __init__(self, table: OptionTable, codes: FloatArray) -> None:
        view = np.asarray(codes, dtype=np.float64).view()
        if view.ndim != 2 or view.shape[1] != len(table.names):
            raise InvalidValueError(f"The codes have shape {view.shape}; it must be (m, {len(table.names)}).")
        view.flags.writeable = False
        self.table = table
        self.codes = view
        self._encoded: dict[tuple[int, ...], FloatArray] = {}
        self._keys: dict[tuple[int, ...], KeyArray] = {}

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, rows: int) -> Design: ...
    @overload
    def __getitem__(self, rows: slice | Sequence[int] | AnyArray) -> Designs: ...
    def __getitem__(self, rows: int | slice | Sequence[int] | AnyArray) -> Design | Designs:
        if isinstance(rows, (int, np.integer)):
            if not -len(self) <= rows < len(self):
                raise IndexError(f"There is no design {rows}; there are {len(self)} designs.")
            values = map(value_of, self.table.options.values(), self.codes[rows].tolist())
            return Design._of(self.table.columns, tuple(values))
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            rows = rows if rows.size or rows.dtype == np.bool_ else rows.astype(np.int64)
        chosen = Designs(self.table, self.codes[rows])
        chosen._keys = {options: _read_only(keys[rows]) for options, keys in self._keys.items()}
        return chosen

    def __iter__(self) -> Iterator[Design]:
        for start in range(0, len(self), BLOCK):
            yield from self._made(start, start + BLOCK)

    def __add__(self, other: Designs) -> Designs:
        if not isinstance(other, Designs):
            return NotImplemented
        if other.table != self.table:
            raise InvalidValueError(
                "These designs belong to different spaces; only designs of one space can be joined."
            )
        return Designs(self.table, np.concatenate([self.codes, other.codes]))

    def __repr__(self) -> str:
        return f"Designs({len(self)}; {self.table.summary()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Designs, (self.table, self.codes)

    def encoded(self, options: Sequence[str] | None = None) -> FloatArray:
        """The input of a surrogate: the designs as rows (m, d) of numbers in [0, 1], read-only.

        Args:
            options: The options to encode, in this order; all of them by default.

        An `Ordinal` is a column with the rank of the value, an `Integer` or `Real` a column with its position between
        the bounds (on its logarithmic scale, if it has one), a `Categorical` one column per value, of which one is
        sqrt(1/2) and the others 0. With more than 256 values it has 128 columns instead, of which each value has its
        own half at 1/8, so that any two are about as far apart. A constant option has no column. An inactive option is
        0.5, or all zeros.
        """
        columns = tuple(self.table.columns_of(options))
        if columns not in self._encoded:
            self._encoded[columns] = _encoded(self, columns)
        return self._encoded[columns]

    def keys(self, options: Sequence[str] | None = None) -> KeyArray:
        """One 64-bit number per design (m,), equal when the designs agree in these options (by default, in all).

        Keys are the same in every process and on every machine, and do not depend on the order of `options`. They are
        read-only and computed once, since one question needs them dozens of times.
        """
        columns = tuple(self.table.columns_of(options))
        if columns not in self._keys:
            names = [self.table.names[column] for column in columns]
            self._keys[columns] = _read_only(keys_of(names, self.codes[:, columns]))
        return self._keys[columns]

    def unique(self) -> Designs:
        """These designs without repetitions, in the order of their first occurrence."""
        _, first = np.unique(self.keys(), return_index=True)
        return self if len(first) == len(self) else self[np.sort(first)]

    def settled(self, rng: np.random.Generator) -> Designs:
        """These designs with their conditions applied: inactive options become None, newly active ones are drawn."""
        codes = self.codes.copy()
        self.table.activity.settle(codes, list(self.table.options.values()), rng)
        return Designs(self.table, codes)

    def _made(self, start: int, stop: int) -> Iterator[Design]:
        columns: list[list[Value]] = list(map(values_of, self.table.options.values(), self.codes[start:stop].T))
        return map(Design._of, repeat(self.table.columns), zip(*columns, strict=True))


def decoded(table: OptionTable, X: FloatArray) -> Designs:
    """The designs whose encoding is nearest to the rows of X (m, d), option by option; see `Space.decode`."""
    X = np.asarray(X, dtype=np.float64)
    groups = table.groups()
    if X.ndim != 2 or X.shape[1] != len(groups) or not np.isfinite(X).all():
        raise InvalidValueError(f"X has shape {X.shape}; it must be (m, {len(groups)}) with finite numbers.")
    options = list(table.options.values())
    codes = np.stack([decode(option, X[:, groups == place]) for place, option in enumerate(options)], axis=1)
    table.activity.settle(codes, options)
    return Designs(table, codes)


def _read_only(keys: KeyArray) -> KeyArray:
    keys.flags.writeable = False
    return keys


def _encoded(designs: Designs, columns: Sequence[int]) -> FloatArray:
    options = [designs.table.options[designs.table.names[column]] for column in columns]
    X = np.empty((len(designs), sum(map(width, options))))
    start = 0
    for option, column in zip(options, columns, strict=True):
        stop = start + width(option)
        X[:, start:stop] = encode(option, designs.codes[:, column])
        start = stop
    X.flags.writeable = False
    return X


def keys_of(names: Sequence[str], codes: FloatArray) -> KeyArray:
    """The keys (m,) of m designs, given their codes (m, k), one column for each named option.

    A key is one 64-bit number, equal when designs agree in these options. Each column is salted by the name of its
    option and mixed with the finaliser of splitmix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number
    generators"), and the mixed columns are added. So keys do not depend on the order of the options, nor on the process
    or machine. Designs that differ share a key with a probability of 2**-64.

    >>> first, second = keys_of(["cores"], np.array([[1.0], [2.0]]))
    >>> bool(first == second)
    False
    """
    salts = np.array([_salt(name) for name in names], dtype=np.uint64)
    blocks = [_sums(codes[start : start + BLOCK], salts) for start in range(0, len(codes), BLOCK)]
    return np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.uint64)


def _sums(codes: FloatArray, salts: KeyArray) -> KeyArray:
    numbers = codes + 0.0  # makes -0.0 and 0.0 one number
    numbers[np.isnan(numbers)] = np.nan  # and every NaN one pattern of bits
    return np.asarray(mixed(numbers.view(np.uint64) ^ salts).sum(axis=1, dtype=np.uint64))


@cache
def _salt(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
