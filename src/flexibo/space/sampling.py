"""Drawing designs at random, without duplicates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.errors import InvalidValueError
from flexibo.space.designs import Designs
from flexibo.space.encoding import draw, levels, log_weight
from flexibo.space.legality import legal
from flexibo.space.options import Integer

if TYPE_CHECKING:
    from flexibo.space.space import Space

# A space no larger than this, or than four times the designs wanted, is listed and chosen from.
SMALL = 1_000
# Positions in a larger space do not fit into 64 bits.
LARGEST_INDEXED = 2**62
# Drawing gives up after this many draws, plus twenty per design wanted; sooner if the designs can be listed instead.
DRAWS = 1_000_000
DRAWS_BEFORE_LISTING = 10_000
BATCH = 100_000


def sampled(space: Space, m: int, rng: np.random.Generator, draws: int | None = None) -> Designs:
    """Random designs, as `Space.sample` describes them."""
    if space.pool is not None:
        return space.pool[rng.choice(len(space.pool), size=min(m, len(space.pool)), replace=False)]
    if m == 0:
        return Designs(space, np.empty((0, len(space.names))))
    if _is_plain(space):
        return Designs(space, _indexed(space, m, rng))
    if space._can_enumerate and space._count <= max(4 * m, SMALL):
        return _chosen(space, m, rng)
    most = 20 * m + (DRAWS_BEFORE_LISTING if space._can_enumerate else DRAWS)
    if draws is not None:
        return _accepted(space, m, rng, min(most, draws))
    found = _accepted(space, m, rng, most)
    if len(found) < m and space._can_enumerate:
        return _chosen(space, m, rng)
    if not len(found):
        raise InvalidValueError(f"No legal design was found in {most} draws; loosen the rule of the space.")
    return found


def _is_plain(space: Space) -> bool:
    """Whether all combinations of values are legal, equally likely and few enough to be numbered."""
    uneven = any(isinstance(option, Integer) and option.log for option in space.options.values())
    return space.valid is None and not space.conditions and not uneven and space._count < LARGEST_INDEXED


def _indexed(space: Space, m: int, rng: np.random.Generator) -> FloatArray:
    """The codes (m, k) of combinations chosen by their number, which makes them distinct from the start."""
    size = int(space._count)
    numbers = rng.choice(size, size=min(m, size), replace=False)
    codes = np.empty((len(numbers), len(space.names)), order="F")
    for position, option in reversed(list(enumerate(space.options.values()))):
        numbers, digits = np.divmod(numbers, int(option.size))
        codes[:, position] = levels(option, digits.astype(np.float64))
    return codes


def _chosen(space: Space, m: int, rng: np.random.Generator) -> Designs:
    """Some of all legal designs, as if drawn one after the other and repetitions thrown away.

    Adding Gumbel noise to the logarithms of the weights and keeping the largest is just that (Kool et al. 2019,
    "Stochastic beams and where to find them").
    """
    every = space.enumerate()
    if not len(every):
        raise InvalidValueError(f"The rule of the space forbids all of its {space._count} designs; loosen the rule.")
    score = rng.gumbel(size=len(every))
    for position, option in enumerate(space.options.values()):
        score += log_weight(option, every.codes[:, position])
    return every[np.argsort(-score)[:m]]


def _accepted(space: Space, m: int, rng: np.random.Generator, most: int) -> Designs:
    """Up to m distinct legal designs: draw, drop repetitions and forbidden designs, and draw again, `most` in all."""
    found = Designs(space, np.empty((0, len(space.names))))
    drawn, share = 0, 1.0
    while len(found) < m and drawn < most:
        batch = min(math.ceil((m - len(found)) / share), max(m, BATCH), most - drawn)
        known = len(found)
        fresh = (found + Designs(space, _drawn(space, batch, rng))).unique()[known:]
        found += fresh[legal(space, fresh)]
        drawn += batch
        share = max(0.9 * len(found) / drawn, 1e-3)
    return found[:m]


def _drawn(space: Space, m: int, rng: np.random.Generator) -> FloatArray:
    options = list(space.options.values())
    codes = np.empty((m, len(options)), order="F")
    for position, option in enumerate(options):
        codes[:, position] = draw(option, m, rng)
    space._activity.settle(codes, options)
    return codes
