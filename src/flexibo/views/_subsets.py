"""Some instead of all: rows of long tables, and evaluations that a model for pictures learns from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.surrogates import Surrogate


def spread(count: int, most: int) -> IntArray:
    """At most so many of 0, 1, ..., count - 1, evenly, with both ends.

    >>> spread(5, 3).tolist(), spread(2, 3).tolist(), spread(0, 3).tolist(), spread(4, 0).tolist()
    ([0, 2, 4], [0, 1], [], [])
    """
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


@dataclass(frozen=True, slots=True)
class Thinned:
    """A surrogate that learns from at most so many evaluations.

    Attributes:
        model: The surrogate, unfitted.
        most: From how many evaluations it learns.
    """

    model: Surrogate
    most: int

    def fit(self, X: FloatArray, y: FloatArray, *, groups: IntArray, rng: np.random.Generator) -> Surrogate:
        """The surrogate, fitted to some of the losses y (s,) of the designs X (s, d)."""
        rows = kept_rows(len(y), self.most)
        return self.model.fit(X[rows], y[rows], groups=groups, rng=rng)

    def extend(self, X: FloatArray, y: FloatArray) -> Surrogate:
        """Refused, as by every surrogate that is not fitted."""
        return self.model.extend(X, y)

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Refused, as by every surrogate that is not fitted."""
        return self.model.predict(X)


def kept_rows(count: int, most: int) -> IntArray:
    """The rows, in order, that are kept of so many: drawn, and one more row changes at most one of them.

    >>> kept_rows(4, 9).tolist(), len(kept_rows(100, 9))
    ([0, 1, 2, 3], 9)
    """
    priority = np.random.default_rng(0).random(count)
    return np.sort(np.argsort(priority, kind="stable")[:most])
