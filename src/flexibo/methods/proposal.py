"""The second contract between a method and the loop: designs in the order in which they should be measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from flexibo._internal.arrays import BoolArray, KeyArray
from flexibo.history import History
from flexibo.space import Design, Designs


class Proposal(Protocol):
    """Names designs in the order in which they should be measured, all objectives together.

    A pure function: the same history, initial designs and seed give the same designs. What an implementation keeps for
    speed it must be able to derive from these.
    """

    def __call__(self, history: History, initial: Sequence[Design], seed: int) -> Iterator[Design]:
        """Designs in order; the loop skips those that are measured or being measured and asks the first that is not.

        The iterator is lazy. It ends when nothing can be proposed before a pending evaluation is told, or when every
        legal design was proposed.
        """
        ...


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
