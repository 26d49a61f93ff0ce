"""The designs next to a design."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flexibo.arrays import FloatArray
from flexibo.space.designs import Designs
from flexibo.space.encoding import near
from flexibo.space.legality import legal

if TYPE_CHECKING:
    from flexibo.space.space import Space

# How many members of a pool count as neighbours of one of them.
POOL_NEIGHBOURS = 20


def neighbours(space: Space, design: Designs, rng: np.random.Generator, *, steps: int = 1, draws: int = 4) -> Designs:
    """The legal designs that differ in one option from the single design given."""
    row = design.codes[0]
    if space.pool is not None:
        return _nearest_members(space.pool, row, rng)
    options = list(space.options.values())
    changed: list[FloatArray] = []
    for position, option in enumerate(options):
        if np.isnan(row[position]):
            continue
        codes = near(option, float(row[position]), rng, steps=steps, draws=draws)
        rows = np.repeat(row[None, :], len(codes), axis=0)
        rows[:, position] = codes
        changed.append(rows)
    codes = np.concatenate(changed)
    # A changed parent switches its children on, with drawn values, or off.
    space._activity.settle(codes, options, rng)
    around = Designs(space, codes)
    return around[legal(space, around)]


def _nearest_members(pool: Designs, row: FloatArray, rng: np.random.Generator) -> Designs:
    """The members that differ from `row` in the fewest options; chance decides between equals."""
    differing = np.zeros(len(pool), dtype=np.int16)
    for column, value in zip(pool.codes.T, row, strict=True):  # numpy sums long columns faster than short rows
        differing += column != value
    rank = differing + rng.random(len(pool))
    rank[differing == 0] = np.inf
    wanted = min(POOL_NEIGHBOURS, len(pool) - int((differing == 0).sum()))
    nearest = np.argpartition(rank, wanted - 1)[:wanted] if wanted else np.empty(0, dtype=np.int64)
    return pool[nearest[np.argsort(rank[nearest])]]
