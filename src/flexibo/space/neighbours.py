"""The designs next to a design."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.space.designs import Designs
from flexibo.space.encoding import near, stepped
from flexibo.space.legality import legal

if TYPE_CHECKING:
    from flexibo.space.space import Space

# How many members of a pool count as neighbours of one of them.
POOL_NEIGHBOURS = 20
# The least and the greatest deviation of a random step, as a share of an option's scale.
SCALES = (1e-3, 0.3)


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


def steps_away(space: Space, parents: Designs, count: int, rng: np.random.Generator) -> Designs:
    """At most `count` legal designs a random step away from a random one of the parents; none where there is a pool.

    How far a step goes, and how many options it changes, differ by orders of magnitude: which of them helps depends on
    the space and on how much is known already.
    """
    if space.pool is not None or not len(parents):
        return parents[:0]
    options = list(space.options.values())
    codes = parents.codes[rng.integers(len(parents), size=count)]
    scales = _log_uniform(*SCALES, count, rng)
    changed = rng.random(codes.shape) < _log_uniform(1.0 / len(options), 1.0, count, rng)[:, None]
    changed[np.arange(count), rng.integers(len(options), size=count)] = True
    for position, option in enumerate(options):
        moved = stepped(option, codes[:, position], scales, rng)
        codes[:, position] = np.where(changed[:, position], moved, codes[:, position])
    space._activity.settle(codes, options, rng)
    around = Designs(space, codes)
    return around[legal(space, around)]


def _log_uniform(low: float, high: float, count: int, rng: np.random.Generator) -> FloatArray:
    return np.exp(rng.uniform(np.log(low), np.log(high), size=count))


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
