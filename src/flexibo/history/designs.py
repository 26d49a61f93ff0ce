"""The designs that a history has seen, once each: their code rows and keys, remembered."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.objectives import Objective, Purchase
from flexibo.space import Design, Designs, Space

REMEMBERED = 256
"""How many designs are kept ready."""


class SeenDesigns:
    """The designs that were asked about or brought in.

    Args:
        space: The design space.
        purchases: What can be asked.
    """

    def __init__(self, space: Space, purchases: tuple[Purchase, ...]) -> None:
        self._space = space
        self._purchases = purchases
        self._rows: dict[int, FloatArray] = {}
        self._designs = space.from_codes(np.empty((0, len(space.names))))
        self._keys: dict[tuple[int, Design], int] = {}
        # Every event of an evaluation asks for the codes and keys of its design.
        self._alone = lru_cache(maxsize=REMEMBERED)(lambda design: space.designs([design]))

    def designs(self) -> Designs:
        """All of them, in the order in which they were seen first."""
        if len(self._designs) < len(self._rows):
            rows = list(self._rows.values())
            self._designs = self._space.from_codes(np.array(rows).reshape(len(rows), len(self._space.names)))
        return self._designs

    def row(self, design: Design) -> FloatArray:
        """The code row of a design, which is seen from now on."""
        single = self._alone(design)
        return self._rows.setdefault(int(single.keys()[0]), single.codes[0])

    def key(self, p: int, design: Design) -> int:
        """The key of a design for purchase p: equal where the design's outcome must be equal."""
        # Remembered, because making one asks the space's rule.
        if (p, design) not in self._keys:
            self._keys[p, design] = int(self._alone(design).keys(self._purchases[p].options)[0])
        return self._keys[p, design]

    def objective_key(self, objective: Objective, design: Design) -> int:
        """The key of a design for an objective: equal where its loss must be equal."""
        return int(self._alone(design).keys(objective.depends_on)[0])
