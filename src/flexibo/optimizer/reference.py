"""The reference point that a study finds itself: beyond the readings of its start, and beyond its confirmed front."""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.history import History
from flexibo.history.readings import readings
from flexibo.objectives import LARGEST
from flexibo.pareto import non_dominated

MARGIN = 0.1
"""The reference point lies beyond the worst readings by this share of their range."""
ENOUGH = 10
"""The number of readings that show the range of an objective well enough for that."""


def worst_readings(history: History, *, stretched: bool = False) -> FloatArray:
    """The worst readings (k,) of the optimised objectives and a margin; if `stretched`, see `beyond`."""
    losses = [history.data(j)[1] for j in history.optimised]
    share = [beyond(len(y)) if stretched else MARGIN for y in losses]
    return _possible(np.array([float(y.max()) + own * span(y) for y, own in zip(losses, share, strict=True)]))


def widened(reference: FloatArray, history: History) -> FloatArray:
    """A reference point (k,) that no design of the confirmed front is beyond: this one, or one that is farther away.

    The readings of a start show the ranges of the objectives. They are few, and the designs at the ends of the front
    may be worse in one objective than all of them; by a reference point before these designs they would add nothing.
    What is dominated, or breaks a limit, is of no interest and moves nothing.
    """
    if all((history.data(j)[1] < reference[c]).all() for c, j in enumerate(history.optimised)):
        return reference
    means = readings(history).mean
    losses = means[(means <= history.limits).all(axis=1)][:, list(history.optimised)]
    front = losses[non_dominated(losses)]
    is_beyond = (front >= reference).any(axis=0)
    if not is_beyond.any():
        return reference
    nadir = front.max(axis=0) + MARGIN * np.array([span(y) for y in front.T])
    return _possible(np.where(is_beyond, nadir, reference))


def beyond(count: int) -> float:
    """How far the reference point lies beyond the worst of some readings, in ranges of these readings.

    It is `MARGIN` for `ENOUGH` readings. The range of s independent readings of a uniform quantity is (s - 1) / (s + 1)
    of the whole on average, so fewer readings are stretched to the range that `ENOUGH` would have had.

    >>> [round(beyond(count), 3) for count in (2, 3, 5, 10, 100)]
    [0.973, 0.482, 0.236, 0.1, 0.1]
    """
    if count >= ENOUGH:
        return MARGIN
    count = max(2, count)
    stretch = (ENOUGH - 1) / (ENOUGH + 1) * (count + 1) / (count - 1)
    return MARGIN * stretch + 0.5 * (stretch - 1.0)


def span(y: FloatArray) -> float:
    """The range of the losses y (s,), or what stands in for it where they are all equal."""
    return float(np.ptp(y)) or abs(float(y.max())) or 1.0


def _possible(reference: FloatArray) -> FloatArray:
    """A reference point that can be stored."""
    return np.clip(reference, -LARGEST, LARGEST)
