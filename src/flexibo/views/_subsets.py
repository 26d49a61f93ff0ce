"""Subsets that keep pictures fast: some rows of a long table, some evaluations for a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.surrogates import Surrogate


def evenly_spaced(count: int, limit: int) -> IntArray:
    """At most `limit` of the indices 0, 1, ..., count - 1, evenly spaced, including both ends.

    >>> evenly_spaced(5, 3).tolist(), evenly_spaced(2, 3).tolist(), evenly_spaced(0, 3).tolist()
    ([0, 2, 4], [0, 1], [])
    >>> evenly_spaced(4, 0).tolist()
    []
    """
    return np.unique(np.linspace(0, count - 1, min(count, limit)).round().astype(np.int64))


def random_rows(count: int, limit: int) -> IntArray:
    """At most `limit` of `count` rows, in order, drawn at random; one more row changes at most one of them.

    >>> random_rows(4, 9).tolist(), len(random_rows(100, 9))
    ([0, 1, 2, 3], 9)
    """
    priority = np.random.default_rng(0).random(count)
    return np.sort(np.argsort(priority, kind="stable")[:limit])


@dataclass(frozen=True, slots=True)
class SubsampledSurrogate:
    """A surrogate that is fitted to at most `limit` evaluations.

    Attributes:
        model: The surrogate, unfitted.
        limit: The maximum number of evaluations.
    """

    model: Surrogate
    limit: int

    def fit(self, X: FloatArray, y: FloatArray, *, groups: IntArray, rng: np.random.Generator) -> Surrogate:
        """The surrogate, fitted to a subset of the losses y (s,) of the designs X (s, d)."""
        rows = random_rows(len(y), self.limit)
        return self.model.fit(X[rows], y[rows], groups=groups, rng=rng)

    def extend(self, X: FloatArray, y: FloatArray) -> Surrogate:
        """Raises, like every surrogate that is not fitted."""
        return self.model.extend(X, y)

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Raises, like every surrogate that is not fitted."""
        return self.model.predict(X)
