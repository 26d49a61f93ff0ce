"""The gains of pins with any number of objectives, as sums of exclusive volumes.

With P the boxes that a question pins and the boxes of P taken one after the other:
    F_pess gains what each moved upper corner dominates beyond F_pess and the moved corners before it;
    F_opt loses what each lower corner dominated beyond the lower corners that stay, those of P before it, and the
    moved corners of P; one that moves to infinity dominates nothing there.
In lexicographic order a corner comes after all that dominate it, so most terms are zero and never computed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo.pareto._exclusive import Surroundings, exclusive_volumes, surroundings
from flexibo.pareto._pins import Boxes, Pins, blocks, ranges, stacked_pins
from flexibo.pareto.dominance import non_dominated

_CROWD = 32  # up to this many corners per question, numpy over all pairs is faster than moocore question by question
_MOST_PAIRS = 1 << 22  # pairs of a corner and another one of its question that are held in memory at a time


def solid_gains(boxes: Boxes, reference: FloatArray, pins: Sequence[Pins]) -> list[FloatArray]:
    """The volume that each question removes from the Pareto region: an array for each bundle."""
    # All bundles at once: what a corner has around it is the same for all of them.
    pin = stacked_pins(pins)
    gains = _pessimistic_gains(boxes, reference, pin) + _optimistic_gains(boxes, reference, pin)
    return np.split(gains, np.cumsum([part.size for part in pins])[:-1])


def _pessimistic_gains(boxes: Boxes, reference: FloatArray, pins: Pins) -> FloatArray:
    """The growth of HV(F_pess) by each question, shape (questions,)."""
    front = boxes.worst[boxes.pessimistic]
    front = front[(front < reference).all(axis=1)]
    moved = boxes.moved_worst(pins)
    some = np.flatnonzero((moved < reference).all(axis=1))
    question, moved = pins.question[some], moved[some]
    nobody = np.zeros(0, dtype=np.int64)
    around = surroundings(moved, front, reference, (nobody, nobody))

    corner = np.flatnonzero(around.free)
    corner = corner[_unbeaten(question[corner], moved[corner])]
    question = question[corner]
    first = np.searchsorted(question, question)
    before = np.arange(len(question)) - first
    extra = np.repeat(np.arange(len(question)), before), moved[corner[ranges(first, before)]]
    tops = np.broadcast_to(reference, (len(corner), len(reference)))
    volumes = exclusive_volumes(around, corner, tops, extra)
    return np.bincount(question, weights=volumes, minlength=pins.size).astype(np.float64)


def _optimistic_gains(boxes: Boxes, reference: FloatArray, pins: Pins) -> FloatArray:
    """The loss of HV(F_opt) by each question, shape (questions,)."""
    moved, best = boxes.moved_best(pins), boxes.best.take(pins.box, axis=0)
    moves = np.flatnonzero((moved != best).any(axis=1))
    moves = moves[_lexicographic(pins.question[moves], best[moves])]
    question, box, moved, best = pins.question[moves], pins.box[moves], moved[moves], best[moves]

    # Moving along one axis uncovers at most the slab up to the mean; otherwise the new corners are further points.
    slab = _one_axis(question, moved != best)
    tops = np.where(slab[:, None] & (moved != best), np.minimum(moved, reference), reference)
    new = np.flatnonzero(~slab & (moved < reference).all(axis=1))
    new = new[_unbeaten(question[new], moved[new])]
    start, stop = (np.searchsorted(question[new], question, side=side) for side in ("left", "right"))

    volumes = np.zeros(len(question))
    task = np.flatnonzero(boxes.optimistic[box] & (best < reference).all(axis=1))  # only corners of F_opt can lose
    later, peers = np.searchsorted(question, question[task], side="right") - task, (stop - start)[task]
    for block in blocks(later + peers, _MOST_PAIRS):
        some = task[block]
        around, corner = _left_over(boxes, reference, question, box, some)
        extra = np.repeat(np.arange(len(some)), peers[block]), moved[new[ranges(start[some], peers[block])]]
        volumes[some] = exclusive_volumes(around, corner, tops[some], extra)
    return np.bincount(question, weights=volumes, minlength=pins.size).astype(np.float64)


def _left_over(
    boxes: Boxes, reference: FloatArray, question: IntArray, box: IntArray, task: IntArray
) -> tuple[Surroundings, IntArray]:
    """The surroundings of best corners among those that stay and those of the same question before them.

    Corners that move have a question, ascending, and a box (p,); `task` (t,) are those to look at. The second result is
    which of the surroundings are those of each task (t,).
    """
    first = np.searchsorted(question, question[task], side="left")
    behind = np.searchsorted(question, question[task], side="right")
    # A corner that is pinned alone has the same surroundings in every question.
    place = np.where(behind - first == 1, box[task], len(boxes.best) + task)
    _, some, corner = np.unique(place, return_index=True, return_inverse=True)
    here, later = task[some], (behind - task)[some]
    absent = np.repeat(np.arange(len(here)), later), box[ranges(here, later)]
    return surroundings(boxes.best[box[here]], boxes.best, reference, absent), corner.reshape(-1)


def _lexicographic(question: IntArray, Y: FloatArray) -> IntArray:
    """An order by question, then by the first loss, the second, and so on: shape (p,)."""
    return np.lexsort((*Y.T[::-1], question))


def _unbeaten(question: IntArray, Y: FloatArray) -> IntArray:
    """The corners that no other one of the same question dominates, in lexicographic order; copies may be left out."""
    order = _lexicographic(question, Y)
    question, Y = question[order], Y[order]
    first, place = np.searchsorted(question, question), np.arange(len(question))
    size = np.bincount(question)[question]
    unbeaten = np.ones(len(Y), dtype=np.bool_)
    for start in np.flatnonzero((size > _CROWD) & (first == place)).tolist():
        crowd = slice(start, start + int(size[start]))
        unbeaten[crowd] = non_dominated(Y[crowd])
    before = np.where(size > _CROWD, 0, place - first)
    late, early = np.repeat(place, before), ranges(place - before, before)
    beaten = np.ones(len(late), dtype=np.bool_)
    for y in Y.T:
        beaten &= y[early] <= y[late]
    unbeaten[late[beaten]] = False
    return order[unbeaten]


def _one_axis(question: IntArray, moves: BoolArray) -> BoolArray:
    """The pins of questions whose corners all move along the same single axis, shape (p,)."""
    axes = np.zeros((int(question.max(initial=-1)) + 1, moves.shape[1]), dtype=np.bool_)
    pin, axis = np.nonzero(moves)
    axes[question[pin], axis] = True
    return np.asarray(axes.sum(axis=1)[question] == 1)
