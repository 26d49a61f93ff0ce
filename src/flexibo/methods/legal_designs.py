"""Legal designs for a proposal: the nearest to an illegal one, fresh ones, and which are left to ask about."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray, KeyArray
from flexibo.history import History
from flexibo.space import ENUMERATION_LIMIT, Designs, Space

DRAWS = 100_000  # the most draws of fresh designs, or 50 per design wanted, where a rule forbids most designs
DRAWS_FOR_ONE = 1_000  # a design without a legal neighbour is replaced by a legal one among this many draws


def distances(X: FloatArray, x: FloatArray) -> FloatArray:
    """The squared distance (m,) of each row of X (m, d) to x (d,)."""
    # Added column by column: ties, frequent among discrete options, are then the same on every machine.
    result = np.zeros(len(X))
    for column, value in zip(X.T, x, strict=True):
        result += (column - value) ** 2
    return result


def nearest_legal(space: Space, designs: Designs, rng: np.random.Generator) -> tuple[Designs, IntArray]:
    """The designs with those replaced that are not legal, and the positions of those for which there is a design.

    In a pool it is the nearest member. Under a rule it is the nearest legal design that differs in one option, or else
    a legal design drawn at random; a rule that forbids nearly everything may leave nothing.
    """
    allowed = space.legal(designs)
    kept = np.ones(len(designs), dtype=np.bool_)
    codes = designs.codes.copy()
    for i in np.flatnonzero(~allowed).tolist():
        around = designs[[i]]
        near = _near(space, around, rng)
        kept[i] = len(near) > 0
        if kept[i]:
            away = distances(near.encoded(), around.encoded()[0])
            codes[i] = near.codes[rng.choice(np.flatnonzero(away == away.min()))]
    return space.from_codes(codes[kept]), np.flatnonzero(kept)


def _near(space: Space, design: Designs, rng: np.random.Generator) -> Designs:
    """Legal designs near a single design that is not legal: a pool's members, or neighbours, or a random design."""
    if space.pool is not None:
        return space.pool
    near = space.neighbours(design, rng, steps=1, draws=4)
    return near if len(near) else space.sample(1, rng, draws=DRAWS_FOR_ONE)


def fresh(space: Space, seen: Collection[int], count: int, rng: np.random.Generator) -> Designs:
    """Up to `count` random legal designs whose keys are not in `seen`; none only if none is left or can be found."""
    # A draw gives distinct designs, so this many hold `count` new ones, if they exist.
    wanted = len(seen) + count
    drawn = space.sample(wanted, rng, draws=max(DRAWS, 50 * wanted))
    left = drawn[is_new(drawn, seen)][:count]
    if not len(left) and space.size <= ENUMERATION_LIMIT:
        every = space.enumerate()
        left = every[rng.permutation(np.flatnonzero(is_new(every, seen)))[:count]]
    return left


def is_new(designs: Designs, seen: Collection[int]) -> BoolArray:
    """Whether the key of each design (m,) is not in `seen`."""
    return np.fromiter((key not in seen for key in designs.keys().tolist()), dtype=np.bool_, count=len(designs))


def keys_by_options(history: History, designs: Designs) -> dict[tuple[str, ...] | None, KeyArray]:
    """The keys (m,) of designs for every set of options that an objective or a purchase depends on."""
    sets = {objective.depends_on for objective in history.objectives} | {p.options for p in history.purchases}
    return {options: designs.keys(options) for options in sets}


def askable(history: History, designs: Designs) -> BoolArray:
    """Whether anything of each design (m,) is neither known, nor being measured, nor failed for good."""
    keys = keys_by_options(history, designs)
    result = np.zeros(len(designs), dtype=np.bool_)
    for p, purchase in enumerate(history.purchases):
        known = np.ones(len(designs), dtype=np.bool_)
        for j in purchase.members:
            latest = history.known(j)
            known &= np.isin(keys[history.objectives[j].depends_on], np.fromiter(latest, np.uint64, len(latest)))
        result |= ~known & ~np.isin(keys[purchase.options], history.closed(p))
    return result
