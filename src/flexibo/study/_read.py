"""Reading a study: the reference point and the Pareto region, given its history and its models."""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.errors import InvalidValueError
from flexibo.history import History
from flexibo.optimizer.predictor import Predictor
from flexibo.results.summary import ParetoRegion


def reference_losses(history: History, predictor: Predictor) -> FloatArray | None:
    """The reference point (k,) that volumes are measured against; None while an objective has no value."""
    if not all(history.count(j) for j in range(len(history.objectives))):
        return None
    return predictor.reference(history)


def pareto_region(history: History, predictor: Predictor) -> ParetoRegion:
    """The region between the optimistic and the pessimistic front, as the next question would see it."""
    reference = reference_losses(history, predictor)
    if reference is None:
        raise InvalidValueError("There is no Pareto region yet; every objective needs at least one measurement.")
    signs = np.array([history.objectives[j].value(1.0) for j in history.optimised])
    optimistic, pessimistic = predictor.corners(history)
    return ParetoRegion(optimistic * signs, pessimistic * signs, reference * signs)
