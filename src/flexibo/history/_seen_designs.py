"""The designs of a history, once each, with their code rows and keys."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.objectives import Objective, Purchase
from flexibo.space import Design, Designs, Space

REMEMBERED = 256
"""The number of designs whose codes are cached."""


class SeenDesigns:
    """The designs that were asked about or added."""

    def __init__(self, space: Space, purchases: tuple[Purchase, ...]) -> None:
        self._space = space
        self._purchases = purchases
        self._rows: dict[int, FloatArray] = {}
        self._designs = space.from_codes(np.empty((0, len(space.names))))
        self._keys: dict[tuple[int, Design], int] = {}
        # Every event of an evaluation needs the codes and keys of its design.
        self._single = lru_cache(maxsize=REMEMBERED)(lambda design: space.designs([design]))

    def designs(self) -> Designs:
        """All designs, in the order of their first occurrence."""
        if len(self._designs) < len(self._rows):
            rows = list(self._rows.values())
            self._designs = self._space.from_codes(np.array(rows).reshape(len(rows), len(self._space.names)))
        return self._designs

    def row(self, design: Design) -> FloatArray:
        """The code row of a design, which is added if it is new."""
        single = self._single(design)
        return self._rows.setdefault(int(single.keys()[0]), single.codes[0])

    def key(self, p: int, design: Design) -> int:
        """The key of a design for purchase p: equal where the design's outcome must be equal."""
        # Cached, because computing it calls the rule of the space.
        if (p, design) not in self._keys:
            self._keys[p, design] = int(self._single(design).keys(self._purchases[p].options)[0])
        return self._keys[p, design]

    def objective_key(self, objective: Objective, design: Design) -> int:
        """The key of a design for an objective: equal where its loss must be equal."""
        return int(self._single(design).keys(objective.depends_on)[0])
