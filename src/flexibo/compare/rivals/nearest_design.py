"""The nearest design that can be measured, for a suggestion that is not legal or known already."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from flexibo._internal.arrays import FloatArray, KeyArray, plain
from flexibo.errors import InvalidValueError
from flexibo.methods.legal_designs import distances, fresh
from flexibo.space import Categorical, Design, Designs, Option, Ordinal, Real, Space
from flexibo.space.encoding import code_of, expected
from flexibo.space.options import is_number

LISTED = 200_000
"""All designs of a space of at most this many combinations are considered, and all of a pool."""
STEPS = (1, 2, 4, 8)
"""The distances along an option at which neighbours are considered in a larger space."""
DRAWS = 64
"""The number of random designs if all neighbours are taken, and of perturbations of each real option."""

TIE = 1e-12
"""Squared distances that differ by at most this are equal."""


def nearest_new(
    space: Space, wanted: Mapping[str, object], taken: set[int] | KeyArray, rng: np.random.Generator
) -> Design | None:
    """The wanted design if it is legal and not taken, else the nearest that is; None if every design is taken.

    Distances are those of `Designs.encoded()`; the first of several nearest designs is chosen. An illegal value is
    first moved to the nearest legal value of its option. In a space of more than `LISTED` designs, the search considers
    designs that differ in one option, then random ones. Designs are taken by their keys (`Designs.keys()`).
    """
    row = np.array([[_nearest_code(space, name, option, wanted) for name, option in space.options.items()]])
    target = space.from_codes(row).settled(rng)
    keys = taken if isinstance(taken, np.ndarray) else np.fromiter(taken, dtype=np.uint64, count=len(taken))
    if space.legal(target)[0] and target.keys()[0] not in keys:
        return target[0]
    if space.pool is not None or math.prod(option.size for option in space.options.values()) <= LISTED:
        return _nearest_listed(space, target, keys)
    return _nearest_found(space, target, keys, rng)


@lru_cache(maxsize=4)
def _listing(space: Space) -> tuple[Designs, KeyArray, FloatArray]:
    """Every design of a space, with its key (m,) and its encoding by columns (d, m)."""
    designs = space.enumerate()
    return designs, designs.keys(), np.ascontiguousarray(designs.encoded().T)


def _nearest_listed(space: Space, target: Designs, taken: KeyArray) -> Design | None:
    """The nearest of all designs that is not taken."""
    designs, keys, columns = _listing(space)
    away = distances(columns.T, target.encoded()[0])
    away[np.isin(keys, taken)] = np.inf
    return designs[_first_least(away)] if away.min() < np.inf else None


def _nearest_found(space: Space, target: Designs, taken: KeyArray, rng: np.random.Generator) -> Design | None:
    """A design near the target that is not taken: a neighbour, else the nearest of some random ones."""
    for steps in STEPS:
        near = _nearest_of(space.neighbours(target, rng, steps=steps, draws=DRAWS), target, taken)
        if near is not None:
            return near
    return _nearest_of(fresh(space, set(taken.tolist()), DRAWS, rng), target, taken)


def _nearest_of(designs: Designs, target: Designs, taken: KeyArray) -> Design | None:
    left = designs[~np.isin(designs.keys(), taken)]
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
