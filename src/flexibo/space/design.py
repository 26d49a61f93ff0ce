"""Design: one value per option, immutable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flexibo.space.options import Value


class Design(Mapping[str, Value]):
    """One value per option, immutable; the value of an inactive option is None.

    Designs are compared and hashed by value; the order of the options does not matter. `Space.design` makes them and
    checks the values, this class does not.

    >>> Design({"filters": 16, "kernel": "3x3"})
    Design(filters=16, kernel='3x3')
    >>> Design({"a": 1, "b": 2}) == Design({"b": 2, "a": 1})
    True
    """

    __slots__ = ("_positions", "_values")
    _positions: Mapping[str, int]
    _values: tuple[Value, ...]

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._positions = {name: position for position, name in enumerate(values)}
        self._values = tuple(values.values())

    @classmethod
    def _of(cls, positions: Mapping[str, int], values: tuple[Value, ...]) -> Design:
        """A design that shares the table of positions with the other designs of its space."""
        design = cls.__new__(cls)
        design._positions = positions
        design._values = values
        return design

    def __getitem__(self, name: str) -> Value:
        return self._values[self._positions[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Design) and other._positions is self._positions:
            return self._values == other._values
        if isinstance(other, Mapping):
            return dict(self) == dict(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(zip(self._positions, self._values, strict=True)))

    def __repr__(self) -> str:
        if all(name.isidentifier() for name in self._positions):
            return f"Design({', '.join(f'{name}={value!r}' for name, value in self.items())})"
        return f"Design({dict(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # The shared table is not pickled: a design carries its own names and nothing of its space.
        return Design, (dict(self),)
