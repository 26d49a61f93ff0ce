"""The gains of pinning one of two objectives, in O(m log m).

All boxes that a question pins share both corners' coordinate along the pinned objective, so after the pin one point on
each front matters. Where the mean breaks a limit of that objective, both corners go to infinity instead. The code is
written for objective 0, called x here; the other objective is y.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.pareto._pins import Boxes, Pins


def plane_gains(boxes: Boxes, reference: FloatArray, pins: Sequence[Pins]) -> list[FloatArray]:
    """The volume that each question removes from the Pareto region: an array for each bundle of one objective."""
    inner = _staircase(boxes.worst[boxes.pessimistic], reference)
    outer = _staircase(boxes.best[boxes.optimistic], reference)
    gains = []
    for part in pins:
        j = int(part.fixed[:, boxes.goals.optimised[1]].any())
        turn = slice(None, None, 1 - 2 * j)  # mirrored when objective 1 is pinned
        starts, worst = np.arange(part.size), boxes.moved_worst(part)
        if len(worst) > part.size:  # some question pins several boxes
            starts = np.searchsorted(part.question, starts)
            worst = np.minimum.reduceat(worst, starts)
        pinned = boxes.moved_best(part)[starts, j]
        grown = _improvements(np.minimum(worst, reference)[:, turn], inner[turn, turn], reference[turn])
        shrunk = _losses(boxes.best[:, turn], outer[turn, turn], reference[turn], pinned, starts, part.box)
        gains.append(grown + shrunk)
    return gains


def _staircase(front: FloatArray, reference: FloatArray) -> FloatArray:
    """The distinct points of a front that are better than the reference, from left to right, shape (f, 2)."""
    front = front[np.all(front < reference, axis=1)]
    front = front[np.argsort(front[:, 0])]
    distinct = np.ones(len(front), dtype=np.bool_)
    distinct[1:] = front[1:, 0] != front[:-1, 0]
    return front[distinct]


def _improvements(points: FloatArray, stairs: FloatArray, reference: FloatArray) -> FloatArray:
    """What each point, not beyond the reference, alone would add to what a staircase dominates, shape (g,)."""
    x, y = points.T
    zero = np.zeros(1)
    edge = np.concatenate([stairs[:, 0], reference[:1]])
    depth = np.concatenate([zero, reference[1] - stairs[:, 1]])  # of the dominated area left of each edge
    area = np.concatenate([zero, np.cumsum((edge[1:] - edge[:-1]) * depth[1:])])
    enter = np.searchsorted(stairs[:, 0], x, side="right")
    leave = np.searchsorted(-stairs[:, 1], -y)
    total = (reference[1] - y) * (edge[leave] - x)
    taken = (edge[enter] - x) * depth[enter] + area[leave] - area[enter]
    adds = (enter <= leave) & (x < reference[0])
    return np.where(adds, np.maximum(total - taken, 0.0), 0.0)


def _losses(
    best: FloatArray, stairs: FloatArray, reference: FloatArray, pinned: FloatArray, starts: IntArray, box: IntArray
) -> FloatArray:
    """What F_opt loses when the best corners of each question move along x to where they are pinned, shape (g,).

    Only a question that owns a stair (x, y) can lose. It loses the area above y from x to there, under a *roof*: the
    stair before at first, then whatever hidden corners come up on the way.
    """
    losses = np.zeros(len(starts))
    if len(stairs) == 0 or len(box) == 0:
        return losses
    before = np.concatenate([reference[1:], stairs[:-1, 1]])
    behind = np.concatenate([stairs[1:, 0], reference[:1]])
    step = np.searchsorted(stairs[:, 0], best[:, 0], side="right") - 1
    under = np.flatnonzero(best[:, 1] < before[step])
    corner = best.take(under, axis=0)
    order = np.lexsort((corner[:, 1], corner[:, 0]))
    under, corner = under[order], corner.take(order, axis=0)
    step = step[under]
    above = corner[:, 0] == stairs[step, 0]

    place = np.full(len(best), -1)
    place[under[above]] = np.arange(np.count_nonzero(above))
    owner, stair, roof = _owners(place[box], corner[above, 1], step[above], before, starts)
    strip = np.column_stack([stairs[stair], np.minimum(pinned[owner], behind[stair]), roof])
    hidden = corner[~above] - [0.0, 1.0] * stairs[step[~above]]
    losses[owner] = _areas_under_roof(strip, stair, hidden, step[~above])
    return losses


def _owners(
    place: IntArray, y: FloatArray, step: IntArray, before: FloatArray, starts: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """The questions that own a stair with all its copies, the stair of each, and the roof where it begins.

    `place` has for each box of each question (which begin at `starts`) its place among the corners on or straight above
    a stair, or -1. These have a stair `step` and a second loss y (a,), both ascending; `before` (f,) is the height of
    the stair before each stair.
    """
    pair = np.flatnonzero(place >= 0)
    question, at = np.searchsorted(starts, pair, side="right") - 1, place[pair]
    order = np.lexsort((at, question))
    question, at = question[order], at[order]
    # From the stair upwards, the corners of a question move away until the first that is not its own: that one stays.
    bottom = np.searchsorted(step, np.arange(len(before) + 1))
    height = np.arange(len(at)) - np.searchsorted(question, question)
    moved = np.bincount(question[at - bottom[step[at]] == height], minlength=len(starts))
    owner = np.flatnonzero(moved)
    stair = step[at[np.searchsorted(question, owner)]]
    stays = bottom[stair] + moved[owner]
    roof = np.where(stays < bottom[stair + 1], np.append(y, 0.0)[stays], before[stair])
    return owner, stair, roof


def _areas_under_roof(strip: FloatArray, stair: IntArray, hidden: FloatArray, step: IntArray) -> FloatArray:
    """The area (q,) of each strip that lies under its roof and under the hidden corners.

    A strip (q, 4) has a left side, floor, right side (not behind the end of its stair) and roof. Hidden corners (h, 2)
    have x and the height above their stair, which is `step` (h,); they are ordered by stair and x.
    """
    left, floor, right, roof = strip.T
    roof = roof - floor
    # A running minimum on each stair: complemented ranks, offset by stair, rise where the minimum falls.
    levels, rank = np.unique(hidden[:, 1], return_inverse=True)
    base = len(levels) + 1
    lowest = np.maximum.accumulate(step * base + len(levels) - rank.reshape(-1))
    height = levels[len(levels) + step * base - lowest]
    area = np.append(0.0, np.cumsum((hidden[1:, 0] - hidden[:-1, 0]) * height[:-1]))

    # Where the first hidden corner under the roof begins; one of a later stair begins behind the right side.
    first = np.searchsorted(lowest, (stair + 1) * base - np.searchsorted(levels, roof, side="right"))
    turn = np.append(hidden[:, 0], np.inf)[first]
    result = (np.minimum(turn, right) - left) * roof
    more = np.flatnonzero(turn < right)
    last = np.searchsorted(hidden[:, 0], right[more]) - 1
    result[more] += area[last] - area[first[more]] + (right[more] - hidden[last, 0]) * height[last]
    return np.asarray(np.maximum(result, 0.0))
