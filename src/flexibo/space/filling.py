"""Designs that fill a space evenly: a scrambled Sobol sequence, read on the scales of the options.

Sobol: On the distribution of points in a cube and the approximate evaluation of integrals. USSR Computational
Mathematics and Mathematical Physics 7, 1967. One dimension for each option that varies; how the sequence is made is in
`flexibo.space.sobol`.

Differences from the sequence on the unit cube:
- Each coordinate is read on the scale of its option: equal slices for the values of a `Categorical`, `Ordinal` or
  `Integer`, the logarithmic scale where an option has one.
- Options that a condition makes inactive drop out; designs that come twice or that a rule forbids are left out. When
  `MOST_MISSES` in a row were, the rest is drawn at random from the designs not proposed yet.
- In a pool, each element of the sequence stands for the nearest member not proposed yet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.space.designs import Designs
from flexibo.space.encoding import among_known, decode, levels
from flexibo.space.options import Integer, Option, Real, without_known
from flexibo.space.sobol import sobol
from flexibo.space.space import Space
from flexibo.space.unseen import distances, fresh, is_new

BLOCK = 64  # the sequence is made this many elements at a time; a power of two
POOL_BLOCK = 16  # members of a pool are found this many at a time; each is compared with the whole pool
MOST_MISSES = 10_000  # after this many elements in a row without a new legal design, designs are drawn at random


def filling(space: Space, rng: np.random.Generator) -> Iterator[Designs]:
    """Distinct legal designs in blocks, each of which fills the gaps of those before; it ends when none is left."""
    return _distinct(space, rng) if space.pool is None else _members(space, space.pool, rng)


def _distinct(space: Space, rng: np.random.Generator) -> Iterator[Designs]:
    """Distinct legal designs, in blocks: those of the sequence, and when it has no new ones, drawn ones."""
    seen: set[int] = set()
    misses = 0
    for designs in _elements(space, rng):
        new = designs[is_new(designs, seen)].unique()
        new = new[space.legal(new)]
        seen.update(new.keys().tolist())
        if len(new):
            misses = 0
            yield new
        elif (misses := misses + len(designs)) >= MOST_MISSES:
            break
    while len(drawn := fresh(space, seen, BLOCK, rng)):
        seen.update(drawn.keys().tolist())
        yield drawn


def _members(space: Space, pool: Designs, rng: np.random.Generator) -> Iterator[Designs]:
    """Every member of a pool, in blocks: to each element of the sequence the nearest that is left."""
    X = pool.encoded()
    left = np.ones(len(pool), dtype=np.bool_)
    chosen: list[int] = []
    for x in (x for designs in _elements(space, rng) for x in designs.encoded()):
        chosen.append(int(np.argmin(np.where(left, distances(X, x), np.inf))))
        left[chosen[-1]] = False
        if len(chosen) == POOL_BLOCK or not left.any():
            yield pool[chosen]
            chosen = []
        if not left.any():
            return


def _elements(space: Space, rng: np.random.Generator) -> Iterator[Designs]:
    """The sequence in blocks, every element read as a design, legal or not."""
    options = list(space.options.values())
    varying = [position for position, option in enumerate(options) if option.size > 1]
    codes = np.stack([levels(option, np.zeros(BLOCK)) for option in options], axis=1)
    if not varying:
        yield space.from_codes(codes[:1])
        return
    for block in sobol(len(varying), BLOCK, rng):
        codes = codes.copy()
        for position, u in zip(varying, block.T, strict=True):
            codes[:, position] = codes_at(options[position], u)
        # Through the encoding and back, which settles what conditions make inactive.
        yield space.decode(space.from_codes(codes).encoded()) if space.conditions else space.from_codes(codes)


def codes_at(option: Option, u: FloatArray) -> FloatArray:
    """The codes (m,) at positions u (m,) in [0, 1) of an option's scale.

    >>> codes_at(Integer(1, 4), np.array([0.0, 0.24, 0.25, 0.99])).tolist()
    [1.0, 1.0, 2.0, 4.0]
    """
    if option.known:
        return among_known(option, codes_at(without_known(option), u))
    if isinstance(option, Real):
        return decode(option, u[:, None])
    if isinstance(option, Integer) and option.log:
        # Each whole number owns the stretch of the scale half a unit to either side, as in `Space.sample`.
        low, high = math.log(option.low - 0.5), math.log(option.high + 0.5)
        return np.clip(np.rint(np.exp(low + (high - low) * u)), option.low, option.high)
    return levels(option, np.minimum(np.floor(u * option.size), option.size - 1))


def spread(designs: Designs) -> Designs:
    """The same designs in another order: one near their middle first, then always the one farthest from those before.

    So the first few of them, whatever their number, are far apart.
    """
    X = designs.encoded()
    if not len(X):
        return designs
    order = [int(np.argmin(distances(X, X.mean(axis=0))))]
    nearest = distances(X, X[order[0]])
    while len(order) < len(X):
        nearest[order] = -1.0
        order.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, distances(X, X[order[-1]]))
    return designs[order]
