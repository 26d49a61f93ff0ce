"""The domains of the test functions: the unit cube, or a finite mixed space whose designs lie in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.space import Categorical, Designs, Integer, Ordinal, Space
from flexibo.space.options import Option

N_DISTANCE = 5
"""The number of options that decide the distance to the front of ZDT and DTLZ."""

SIZES: dict[int, tuple[int, tuple[int, ...]]] = {
    2: (65, (5, 5, 5, 4, 3)),
    3: (9, (5, 5, 5, 4, 2)),
    4: (7, (4, 4, 4, 2, 2)),
    5: (5, (4, 3, 3, 2, 2)),
}
"""For n objectives, the number of values of each position option, and of the distance options: 97,500, 81,000, 87,808
and 90,000 designs."""

LEVELS: dict[float, tuple[float, ...]] = {0.0: (0.0, 0.5, 0.125, 0.25, 0.0625), 0.5: (0.5, 0.25, 1.0, 0.625, 0.0)}
"""The values of distance options, by their optimum; an option with fewer values has the first of these."""

HIDDEN = (3, 1, 4, 0, 2, 8, 6, 9, 5, 7)
"""The order of the values of letters, so that the alphabet is not the order of the values."""


@dataclass(frozen=True, slots=True)
class Domain:
    """A space, and the positions (m, d) of its designs in the unit cube."""

    space: Space
    positions: Callable[[Designs], FloatArray]


def unit_cube(d: int) -> Domain:
    """The domain of d real options x1, x2, ... from 0 to 1."""
    return Domain(Space({f"x{i}": (0.0, 1.0) for i in range(1, d + 1)}), lambda designs: designs.codes)


def mixed_grid(n: int, optimum: float) -> Domain:
    """The finite domain of ZDT and DTLZ with n objectives, in which the distance is least at an optimum, 0 or 0.5.

    Position options are evenly spread integers and ordered values; distance options are ordered values, integers and
    letters that hide their order.
    """
    n_place, sizes = SIZES[n]
    even = np.linspace(0.0, 1.0, n_place)
    options: dict[str, Option] = {"x1": Integer(0, n_place - 1)}
    levels: list[FloatArray] = [even] * (n - 1)
    for i in range(2, n):
        options[f"x{i}"] = Ordinal(even.tolist())
    kinds = (_ordered, _whole, _lettered, _ordered, _lettered)
    for i, (kind, size) in enumerate(zip(kinds, sizes, strict=True), start=n):
        options[f"x{i}"], values = kind(sorted(LEVELS[optimum][:size]))
        levels.append(values)
    return Domain(Space(options), lambda designs: _looked_up(designs, levels))


def branin_currin_grid() -> Domain:
    """The finite domain of Branin-Currin, 10,100 designs: x in 101 values; y in ten lettered stretches of ten steps."""
    x = np.linspace(0.0, 1.0, 101)
    letters, stretch = _lettered([10.0 * i for i in range(10)])
    space = Space({"x": Ordinal(x.round(2).tolist()), "y_stretch": letters, "y_step": Integer(0, 9)})

    def positions(designs: Designs) -> FloatArray:
        at, begin, step = _looked_up(designs, [x, stretch, np.arange(10.0)]).T
        return np.column_stack([at, (begin + step) / 99.0])

    return Domain(space, positions)


def _looked_up(designs: Designs, levels: Sequence[FloatArray]) -> FloatArray:
    """The level (m, k) of each code (m, k); codes count from 0."""
    codes = designs.codes.astype(np.int64)
    return np.column_stack([values[codes[:, i]] for i, values in enumerate(levels)])


def _ordered(levels: list[float]) -> tuple[Option, FloatArray]:
    return Ordinal(levels), np.array(levels)


def _whole(levels: list[float]) -> tuple[Option, FloatArray]:
    return Integer(0, len(levels) - 1), np.array(levels)


def _lettered(levels: list[float]) -> tuple[Option, FloatArray]:
    order = [i for i in HIDDEN if i < len(levels)]
    return Categorical([chr(ord("a") + i) for i in range(len(levels))]), np.array(levels)[order]
