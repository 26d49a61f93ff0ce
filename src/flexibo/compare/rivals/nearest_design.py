"""The nearest design that can be measured, for a suggestion that is not legal or known already."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, KeyArray, plain
from flexibo.errors import InvalidValueError
from flexibo.space import Categorical, Design, Designs, Option, Ordinal, Real, Space
from flexibo.space.encoding import code_of, expected
from flexibo.space.options import is_number
from flexibo.space.unseen import distances, fresh

LISTED = 200_000
"""All designs of a space of at most this many combinations are considered, and all of a pool."""
STEPS = (1, 2, 4, 8)
"""The distances along an option at which neighbours are considered in a larger space."""
DRAWS = 64
"""The number of perturbations of each real option."""
RANDOM = 1_024
"""The number of random designs that are considered if all neighbours are taken."""

TIE = 1e-12
"""Squared distances that differ by at most this are equal."""

Taken: TypeAlias = Callable[[Designs], BoolArray]
"""Whether each of some designs (m,) is taken."""


def nearest_new(
    space: Space, wanted: Mapping[str, object], taken: set[int] | KeyArray | Taken, rng: np.random.Generator
) -> Design | None:
    """The wanted design if it is legal and not taken, else the nearest that is; None if every design is taken.

    Distances are those of `Designs.encoded()`; the first of several nearest designs is chosen. An illegal value is
    first moved to the nearest legal value of its option. In a space of more than `LISTED` designs, the search considers
    designs that differ in one option, then random ones. Designs are taken by their keys (`Designs.keys()`), or as a
    function says.
    """
    row = np.array([[_nearest_code(space, name, option, wanted) for name, option in space.options.items()]])
    target = space.from_codes(row).settled(rng)
    is_taken = taken if callable(taken) else key_filter(taken)
    if space.legal(target)[0] and not is_taken(target)[0]:
        return target[0]
    if space.pool is not None or math.prod(option.size for option in space.options.values()) <= LISTED:
        return _nearest_listed(space, target, is_taken)
    return _nearest_found(space, target, is_taken, rng)


def key_filter(keys: set[int] | KeyArray, options: Sequence[str] | None = None) -> Taken:
    """Whether designs have one of these keys, in these options (by default, in all)."""
    known = keys if isinstance(keys, np.ndarray) else np.fromiter(keys, dtype=np.uint64, count=len(keys))
    return lambda designs: np.isin(designs.keys(options), known)


@lru_cache(maxsize=4)
def _listing(space: Space) -> tuple[Designs, FloatArray]:
    """Every design of a space, and its encoding by columns (d, m)."""
    designs = space.enumerate()
    return designs, np.ascontiguousarray(designs.encoded().T)


def _nearest_listed(space: Space, target: Designs, is_taken: Taken) -> Design | None:
    """The nearest of all designs that is not taken."""
    designs, columns = _listing(space)
    away = distances(columns.T, target.encoded()[0])
    away[is_taken(designs)] = np.inf
    return designs[_first_least(away)] if away.min() < np.inf else None


def _nearest_found(space: Space, target: Designs, is_taken: Taken, rng: np.random.Generator) -> Design | None:
    """A design near the target that is not taken: a neighbour, else the nearest of some random ones."""
    for steps in STEPS:
        near = _nearest_of(space.neighbours(target, rng, steps=steps, draws=DRAWS), target, is_taken)
        if near is not None:
            return near
    return _nearest_of(fresh(space, (), RANDOM, rng), target, is_taken)


def _nearest_of(designs: Designs, target: Designs, is_taken: Taken) -> Design | None:
    left = designs[~is_taken(designs)]
    return left[_first_least(distances(left.encoded(), target.encoded()[0]))] if len(left) else None


def _first_least(away: FloatArray) -> int:
    """The first position with the smallest distance; a step up and a step down differ in the last digit."""
    return int(np.argmax(away <= away.min() + TIE))


def _nearest_code(space: Space, name: str, option: Option, wanted: Mapping[str, object]) -> float:
    """The code of the legal value nearest to the wanted one; NaN for a conditional option without a value."""
    value = plain(wanted.get(name))
    code = code_of(option, value)
    if code is not None:
        return code
    if value is None and name in space.conditions:
        return math.nan
    levels = option.values if isinstance(option, (Categorical, Ordinal)) else ()
    if not is_number(value) or math.isnan(value) or not all(map(is_number, levels)):
        raise InvalidValueError(f"Option {name!r} is {value!r}; it must be {expected(option, value)}.")
    if isinstance(option, (Categorical, Ordinal)):
        return float(min(range(option.size), key=lambda code: abs(option.values[code] - value)))
    clipped = min(max(value, option.low), option.high)
    return float(clipped if isinstance(option, Real) else round(clipped))
