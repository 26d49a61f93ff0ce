"""The corners of a space: designs whose numbers are all at an end of their range."""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import BoolArray
from flexibo.space._legal_designs import LegalDesigns
from flexibo.space._sampling import sampled
from flexibo.space.designs import Designs
from flexibo.space.encoding import at_ends, is_at_end
from flexibo.space.options import Categorical


def corners(legal: LegalDesigns, count: int, rng: np.random.Generator) -> Designs:
    """At most `count` legal designs, as `Space.corners` describes them."""
    options = list(legal.table.options.values())
    if legal.pool is not None or all(isinstance(option, Categorical) for option in options):
        return Designs(legal.table, np.empty((0, len(options))))
    codes = sampled(legal, count, rng, draws=count).codes.copy()
    for position, option in enumerate(options):
        inactive = np.isnan(codes[:, position])
        codes[:, position] = np.where(inactive, np.nan, at_ends(option, codes[:, position], rng))
    # A parent that moved makes its children active, with random values, or inactive.
    legal.table.activity.settle(codes, options, rng)
    found = Designs(legal.table, codes).unique()
    return found[legal.allows(found)]


def is_corner(designs: Designs) -> BoolArray:
    """Whether all numbers of each design (m,) are at an end of their range."""
    options = designs.table.options.values()
    ends = [is_at_end(option, designs.codes[:, position]) for position, option in enumerate(options)]
    return np.asarray(np.all(ends, axis=0))
