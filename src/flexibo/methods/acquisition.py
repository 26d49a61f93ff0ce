"""The contract between a method and the loop: a table of scores."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.belief.belief import Belief


class Acquisition(Protocol):
    """Scores every candidate and bundle of a belief; higher is better, before any division by cost."""

    def __call__(self, belief: Belief, rng: np.random.Generator) -> FloatArray:
        """Scores (m, b), at least 0; nothing is worth measuring where all are 0."""
        ...
