"""Boxes with their fronts, and the questions about them, as the gains take them."""

from __future__ import annotations

import numpy as np

from flexibo.pareto._pins import Boxes, Pins, quantity_pins
from flexibo.pareto.goals import Goals
from flexibo.pareto.region import alive_and_fronts


def boxes_of(rows: object, optimised: list[int] | None = None, limits: list[float] | None = None) -> Boxes:
    """Boxes written as rows of (lower, mean, upper) per quantity."""
    table = np.array(rows, dtype=float)
    lower, mu, upper = table[:, :, 0], table[:, :, 1], table[:, :, 2]
    goals = Goals.of(lower.shape[1], optimised, None if limits is None else np.array(limits))
    best, worst = goals.corners(lower), goals.corners(upper)
    _, optimistic, pessimistic = alive_and_fronts(best, worst)
    return Boxes(goals, lower, mu, upper, best, worst, optimistic, pessimistic)


def pins_of(boxes: Boxes, j: int, keys: list[int] | None = None) -> Pins:
    """The pins of quantity j, where every box has a candidate, with these keys or one of its own."""
    m, n = boxes.lower.shape
    table = np.tile(np.arange(m)[:, None] if keys is None else np.array(keys)[:, None], (1, n))
    undecided = boxes.goals.undecided(boxes.lower, boxes.upper)
    return quantity_pins(j, table, np.ones(m, dtype=bool), np.arange(m), undecided)
