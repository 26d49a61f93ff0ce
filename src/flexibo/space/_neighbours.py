"""The designs next to a design."""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.space._legal_designs import LegalDesigns
from flexibo.space.designs import Designs
from flexibo.space.encoding import near, stepped

POOL_NEIGHBOURS = 20  # the most neighbours that a member of a pool has
SCALES = (1e-3, 0.3)  # least and greatest standard deviation of a random step, as a share of an option's scale


def neighbours(legal: LegalDesigns, design: Designs, rng: np.random.Generator, *, steps: int, draws: int) -> Designs:
    """The legal designs that differ in one option from a single design; see `Space.neighbours`."""
    row = design.codes[0]
    if legal.pool is not None:
        return _nearest_members(legal.pool, row, rng)
    options = list(legal.table.options.values())
    changed: list[FloatArray] = []
    for position, option in enumerate(options):
        if np.isnan(row[position]):
            continue
        codes = near(option, float(row[position]), rng, steps=steps, draws=draws)
        rows = np.repeat(row[None, :], len(codes), axis=0)
        rows[:, position] = codes
        changed.append(rows)
    codes = np.concatenate(changed)
    # A changed parent makes its children active, with random values, or inactive.
    legal.table.activity.settle(codes, options, rng)
    around = Designs(legal.table, codes)
    return around[legal.allows(around)]


def steps_away(legal: LegalDesigns, parents: Designs, count: int, rng: np.random.Generator) -> Designs:
    """At most `count` legal designs, each a random step away from a random parent; see `Space.steps_away`."""
    if legal.pool is not None or not len(parents):
        return parents[:0]
    options = list(legal.table.options.values())
    codes = parents.codes[rng.integers(len(parents), size=count)]
    scales = _log_uniform(*SCALES, count, rng)
    changed = rng.random(codes.shape) < _log_uniform(1.0 / len(options), 1.0, count, rng)[:, None]
    changed[np.arange(count), rng.integers(len(options), size=count)] = True
    for position, option in enumerate(options):
        moved = stepped(option, codes[:, position], scales, rng)
        codes[:, position] = np.where(changed[:, position], moved, codes[:, position])
    legal.table.activity.settle(codes, options, rng)
    around = Designs(legal.table, codes)
    return around[legal.allows(around)]


def _log_uniform(low: float, high: float, count: int, rng: np.random.Generator) -> FloatArray:
    return np.exp(rng.uniform(np.log(low), np.log(high), size=count))


def _nearest_members(pool: Designs, row: FloatArray, rng: np.random.Generator) -> Designs:
    """The members that differ from `row` in the fewest options; ties are broken at random."""
    differing = np.zeros(len(pool), dtype=np.int16)
    for column, value in zip(pool.codes.T, row, strict=True):  # numpy sums long columns faster than short rows
        differing += column != value
    rank = differing + rng.random(len(pool))
    rank[differing == 0] = np.inf
    wanted = min(POOL_NEIGHBOURS, len(pool) - int((differing == 0).sum()))
    nearest = np.argpartition(rank, wanted - 1)[:wanted] if wanted else np.empty(0, dtype=np.int64)
    return pool[nearest[np.argsort(rank[nearest])]]
