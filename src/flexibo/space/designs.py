"""Designs: many designs of one space as a matrix of codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from flexibo._internal.arrays import AnyArray, FloatArray, KeyArray
from flexibo.errors import InvalidValueError
from flexibo.space.design import Design
from flexibo.space.encoding import encode, value_of, values_of, width
from flexibo.space.keys import keys_of
from flexibo.space.options import Value

if TYPE_CHECKING:
    from flexibo.space.space import Space

# Designs are made a block at a time, so that iterating over many needs little memory.
BLOCK = 4096


class Designs(Sequence[Design]):
    """Many designs of one space; `Design` objects are made only when one is asked for.

    Attributes:
        space: The space the designs belong to.
        codes: One row per design and one column per option (m, k): the position of the value for a `Categorical` or
            `Ordinal`, the number itself for an `Integer` or `Real`, NaN where the option is inactive. Read-only.

    An int gives a `Design`; a slice, or an array of positions or of booleans, gives `Designs`.
    """

    __slots__ = ("_encoded", "_keys", "codes", "space")
    space: Space
    codes: FloatArray

    def __init__(self, space: Space, codes: FloatArray) -> None:
        view = np.asarray(codes, dtype=np.float64).view()
        if view.ndim != 2 or view.shape[1] != len(space.names):
            raise InvalidValueError(f"The codes have shape {view.shape}; it must be (m, {len(space.names)}).")
        view.flags.writeable = False
        self.space = space
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
            values = map(value_of, self.space._options.values(), self.codes[rows].tolist())
            return Design._of(self.space._index, tuple(values))
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            rows = rows if rows.size or rows.dtype == np.bool_ else rows.astype(np.int64)
        chosen = Designs(self.space, self.codes[rows])
        chosen._keys = {options: _read_only(keys[rows]) for options, keys in self._keys.items()}
        return chosen

    def __iter__(self) -> Iterator[Design]:
        for start in range(0, len(self), BLOCK):
            yield from self._made(start, start + BLOCK)

    def __add__(self, other: Designs) -> Designs:
        if not isinstance(other, Designs):
            return NotImplemented
        if other.space is not self.space and other.space != self.space:
            raise InvalidValueError(
                "These designs belong to different spaces; only designs of one space can be joined."
            )
        return Designs(self.space, np.concatenate([self.codes, other.codes]))

    def __repr__(self) -> str:
        return f"Designs({len(self)} of {self.space!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Designs, (self.space, self.codes)

    def encoded(self, options: Sequence[str] | None = None) -> FloatArray:
        """What a surrogate sees: the designs as rows (m, d) of numbers in [0, 1], read-only.

        Args:
            options: The options to encode, in this order; all of them by default.

        An `Ordinal` is a column with the rank of the value, an `Integer` or `Real` a column with its position between
        the bounds (on its logarithmic scale, if it has one), a `Categorical` one column per value, of which one is
        sqrt(1/2) and the others 0. A constant option has no column. An inactive option is 0.5, or all zeros.
        """
        positions = tuple(self.space._positions(options))
        if positions not in self._encoded:
            self._encoded[positions] = _encoded(self, positions)
        return self._encoded[positions]

    def keys(self, options: Sequence[str] | None = None) -> KeyArray:
        """One 64-bit number per design (m,), equal when the designs agree in these options (by default, in all).

        Keys are the same in every process and on every machine, and do not depend on the order of `options`. They are
        read-only and made once: a question asks for them dozens of times.
        """
        positions = tuple(self.space._positions(options))
        if positions not in self._keys:
            names = [self.space.names[position] for position in positions]
            self._keys[positions] = _read_only(keys_of(names, self.codes[:, positions]))
        return self._keys[positions]

    def unique(self) -> Designs:
        """These designs without repetitions, in the order of their first occurrence."""
        _, first = np.unique(self.keys(), return_index=True)
        return self if len(first) == len(self) else self[np.sort(first)]

    def _made(self, start: int, stop: int) -> Iterator[Design]:
        block = self.codes[start:stop]
        columns: list[list[Value]] = [
            values_of(option, column) for option, column in zip(self.space._options.values(), block.T, strict=True)
        ]
        return map(Design._of, repeat(self.space._index), zip(*columns, strict=True))


def _read_only(keys: KeyArray) -> KeyArray:
    keys.flags.writeable = False
    return keys


def _encoded(designs: Designs, positions: Sequence[int]) -> FloatArray:
    options = [designs.space._options[designs.space.names[position]] for position in positions]
    X = np.empty((len(designs), sum(map(width, options))))
    start = 0
    for option, position in zip(options, positions, strict=True):
        stop = start + width(option)
        X[:, start:stop] = encode(option, designs.codes[:, position])
        start = stop
    X.flags.writeable = False
    return X
