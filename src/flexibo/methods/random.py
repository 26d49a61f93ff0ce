"""Random search: the floor that every method has to beat."""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.belief.belief import Belief


def random_score(belief: Belief, rng: np.random.Generator) -> FloatArray:
    """Uniform scores (m, b): every open evaluation is equally likely."""
    return rng.random((len(belief.designs), len(belief.bundles)))


def no_score(belief: Belief, rng: np.random.Generator) -> FloatArray:
    """Zeros (m, b), for a method that does not score."""
    return np.zeros((len(belief.designs), len(belief.bundles)))
