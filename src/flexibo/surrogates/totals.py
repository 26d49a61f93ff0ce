"""Totals: columns for what the options of a family add up to.

Networks and systems repeat options: the operation of each edge, the width of each layer, the state of each core. Their
losses depend on each of them, and often on all of them together: on how many convolutions there are, or on the depth of
all blocks. With ten to forty evaluations, length scales of single options cannot tell. So the columns of the options of
a family (`flexibo.space.Space.families`) are also added up. A total has a length scale of its own, like an option.

The options of a family may also be tied: their columns share a length scale, that of the same category where they are
categories. It tells which operation matters, where length scales of single options tell which edge does.
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
    """Appends the totals of families of options to encoded designs.

    Attributes:
        families: The columns of the options of each family.
        tied: Whether the options of a family share their length scales.
    """

    families: Families = ()
    tied: bool = False

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
        """Groups (d,) of columns, and those (t,) of the totals: a group for each family; if tied, for each column.

        >>> Totals((((0, 1), (2, 3)),)).groups(np.array([0, 0, 1, 1])).tolist()
        [0, 0, 1, 1, 2, 2]
        >>> Totals((((0, 1), (2, 3)),), tied=True).groups(np.array([0, 0, 1, 1])).tolist()
        [0, 1, 0, 1, 2, 3]
        """
        if not self.tied:
            widths = [len(family[0]) for family in self.families]
            own = np.repeat(np.arange(len(widths)), widths) + groups.max(initial=-1) + 1
            return np.concatenate([groups, own]).astype(np.int64)
        new = np.arange(len(groups), len(groups) + self.count)  # above all groups
        shared, tied = groups.copy(), iter(new)
        for family in self.families:
            for columns in zip(*family, strict=True):
                shared[list(columns)] = next(tied)
        every = np.concatenate([shared, new + self.count])
        return np.unique(every, return_inverse=True)[1].reshape(-1).astype(np.int64)
