"""Drawing designs at random, without duplicates."""

from __future__ import annotations

import math

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.errors import InvalidValueError
from flexibo.space._legal_designs import LegalDesigns
from flexibo.space.designs import Designs
from flexibo.space.encoding import draw, levels, log_weight
from flexibo.space.options import Integer

SMALL = 1_000  # a space of at most this many designs, or four times the number wanted, is listed and chosen from
LARGEST_INDEXED = 2**62  # the indices of a larger space do not fit into 64 bits
DRAWS = 1_000_000  # the most draws, plus twenty per design wanted; fewer if the designs can be listed instead
DRAWS_BEFORE_LISTING = 10_000
BATCH = 100_000


def sampled(legal: LegalDesigns, m: int, rng: np.random.Generator, draws: int | None = None) -> Designs:
    """Random designs, as `Space.sample` describes them."""
    if legal.pool is not None:
        return legal.pool[rng.choice(len(legal.pool), size=min(m, len(legal.pool)), replace=False)]
    if m == 0:
        return Designs(legal.table, np.empty((0, len(legal.table.names))))
    if _is_plain(legal):
        return Designs(legal.table, _indexed(legal, m, rng))
    if legal.can_enumerate and legal.combinations <= max(4 * m, SMALL):
        return _chosen(legal, m, rng)
    most = 20 * m + (DRAWS_BEFORE_LISTING if legal.can_enumerate else DRAWS)
    if draws is not None:
        return _accepted(legal, m, rng, min(most, draws))
    found = _accepted(legal, m, rng, most)
    if len(found) < m and legal.can_enumerate:
        return _chosen(legal, m, rng)
    if not len(found):
        raise InvalidValueError(f"No legal design was found in {most} draws; loosen the rule of the space.")
    return found


def _is_plain(legal: LegalDesigns) -> bool:
    """Whether all combinations of values are legal, equally likely and few enough to index."""
    uneven = any(isinstance(option, Integer) and option.log for option in legal.table.options.values())
    return legal.rule is None and not legal.table.conditions and not uneven and legal.combinations < LARGEST_INDEXED


def _indexed(legal: LegalDesigns, m: int, rng: np.random.Generator) -> FloatArray:
    """The codes (m, k) of combinations drawn by their index, without repetition."""
    size = int(legal.combinations)
    numbers = rng.choice(size, size=min(m, size), replace=False)
    codes = np.empty((len(numbers), len(legal.table.names)), order="F")
    for position, option in reversed(list(enumerate(legal.table.options.values()))):
        numbers, digits = np.divmod(numbers, int(option.size))
        codes[:, position] = levels(option, digits.astype(np.float64))
    return codes


def _chosen(legal: LegalDesigns, m: int, rng: np.random.Generator) -> Designs:
    """M of all legal designs, as if drawn one after the other without repetition.

    The largest log weights plus Gumbel noise have this distribution (Kool et al. 2019, "Stochastic beams and where to
    find them").
    """
    every = legal.enumerate()
    if not len(every):
        raise InvalidValueError(
            f"The rule of the space forbids all of its {legal.combinations} designs; loosen the rule."
        )
    score = rng.gumbel(size=len(every))
    for position, option in enumerate(legal.table.options.values()):
        score += log_weight(option, every.codes[:, position])
    return every[np.argsort(-score)[:m]]


def _accepted(legal: LegalDesigns, m: int, rng: np.random.Generator, most: int) -> Designs:
    """Up to m distinct legal designs among at most `most` draws."""
    found = Designs(legal.table, np.empty((0, len(legal.table.names))))
    drawn, share = 0, 1.0
    while len(found) < m and drawn < most:
        batch = min(math.ceil((m - len(found)) / share), max(m, BATCH), most - drawn)
        known = len(found)
        fresh = (found + Designs(legal.table, _drawn(legal, batch, rng))).unique()[known:]
        found += fresh[legal.allows(fresh)]
        drawn += batch
        share = max(0.9 * len(found) / drawn, 1e-3)
    return found[:m]


def _drawn(legal: LegalDesigns, m: int, rng: np.random.Generator) -> FloatArray:
    options = list(legal.table.options.values())
    codes = np.empty((m, len(options)), order="F")
    for position, option in enumerate(options):
        codes[:, position] = draw(option, m, rng)
    legal.table.activity.settle(codes, options)
    return codes
