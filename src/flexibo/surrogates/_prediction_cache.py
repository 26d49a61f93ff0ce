"""A cache of the last predictions of a model: one question needs those of the same designs several times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from flexibo._internal.arrays import FloatArray

Prediction: TypeAlias = tuple[FloatArray, FloatArray]  # mean (m,) and standard deviation (m,)
REMEMBERED = 4  # the number of cached predictions: the candidates, the front, and the two sides of a covariance


@dataclass(frozen=True, slots=True)
class PredictionCache:
    """The last predictions, by their designs; the oldest is dropped first."""

    _known: dict[tuple[int, bytes], Prediction] = field(default_factory=dict)

    def predicted(self, X: FloatArray, predict: Callable[[FloatArray], Prediction]) -> Prediction:
        """What `predict` returns for the designs X (m, d), from the cache if possible; read-only."""
        key = len(X), X.tobytes()
        if key not in self._known:
            mean, deviation = predict(X)
            mean.flags.writeable = deviation.flags.writeable = False
            while len(self._known) >= REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[key] = mean, deviation
        return self._known[key]
