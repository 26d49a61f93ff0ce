"""Totals: columns for what the options of a family add up to.

Networks and systems repeat options: the operation of each edge, the width of each layer, the state of each core. Their
losses depend on each of them, and often on all of them together: on how many convolutions there are, or on the depth of
all blocks. With ten to forty evaluations, length scales of single options cannot tell. So the columns of the options of
a family (`flexibo.space.Space.families`) are also added up. A total has a length scale of its own, like an option.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.space import Families

WEIGHT = 3.0  # the standard deviation of a total over that of one of its options


@dataclass(frozen=True, slots=True)
class Totals:
    """Appends the totals of families of options to encoded designs."""

    families: Families = ()

    @property
    def count(self) -> int:
        """The number of columns that are appended."""
        return sum(len(family[0]) for family in self.families)

    def appended(self, X: FloatArray) -> FloatArray:
        """The encoded designs X (m, d) and their totals (m, t), beside each other.

        >>> Totals((((0,), (2,)),)).appended(np.array([[1.0, 0.0, 1.0]])).round(2).tolist()
        [[1.0, 0.0, 1.0, 4.24]]
        """
        if not self.families:
            return X
        weighted = ((WEIGHT / math.sqrt(len(family)), np.array(family)) for family in self.families)
        return np.hstack([X, *(weight * X[:, columns].sum(axis=1) for weight, columns in weighted)])

    def groups(self, groups: IntArray) -> IntArray:
        """Groups (d,) of columns, and those (t,) of the totals: each total is a group of its own."""
        widths = [len(family[0]) for family in self.families]
        own = np.repeat(np.arange(len(widths)), widths) + groups.max(initial=-1) + 1
        return np.concatenate([groups, own]).astype(np.int64)
