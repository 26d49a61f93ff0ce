"""Legal designs for a proposal: the nearest to an illegal one, and which are left to ask about."""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import BoolArray, IntArray, KeyArray
from flexibo.history import History
from flexibo.space import Designs, Space
from flexibo.space.unseen import distances

DRAWS_FOR_ONE = 1_000  # a design without a legal neighbour is replaced by a legal one among this many draws


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


def keys_by_options(history: History, designs: Designs) -> dict[tuple[str, ...] | None, KeyArray]:
    """The keys (m,) of designs for every set of options that an objective or a purchase depends on."""
    sets = {objective.depends_on for objective in history.quantities} | {p.options for p in history.purchases}
    return {options: designs.keys(options) for options in sets}


def askable(history: History, designs: Designs) -> BoolArray:
    """Whether anything of each design (m,) is neither known, nor being measured, nor failed for good."""
    keys = keys_by_options(history, designs)
    result = np.zeros(len(designs), dtype=np.bool_)
    for p, purchase in history.counting:
        known = np.ones(len(designs), dtype=np.bool_)
        for j in purchase.members:
            latest = history.known(j)
            known &= np.isin(keys[history.objectives[j].depends_on], np.fromiter(latest, np.uint64, len(latest)))
        result |= ~known & ~np.isin(keys[purchase.options], history.closed(p))
    return result
