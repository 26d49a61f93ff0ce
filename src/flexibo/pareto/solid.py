"""The gains of pins with any number of objectives, as sums of exclusive volumes.

With P the boxes that a question pins and the boxes of P taken one after the other:
    F_pess gains what each moved upper corner dominates beyond F_pess and the moved corners before it;
    F_opt loses what each lower corner dominated beyond the lower corners that stay, those of P still before it, and the
    corners of P where they move to.
Taken in lexicographic order a corner comes after all that dominate it, so most terms are zero and never computed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexibo.arrays import BoolArray, FloatArray, IntArray
from flexibo.pareto.exclusive import exclusive_volumes, surroundings
from flexibo.pareto.pins import Boxes, Pins, ranges, stacked_pins


def solid_gains(boxes: Boxes, reference: FloatArray, pins: Sequence[Pins]) -> list[FloatArray]:
    """The volume that each question removes from the Pareto region.

    Args:
        boxes: The distinct living boxes.
        reference: The reference point, shape (n,).
        pins: What the questions of each bundle pin.

    Returns:
        For each bundle the gains, shape (questions,).
    """
    # All bundles at once: what a corner has around it is the same for all of them.
    pin = stacked_pins(pins)
    gains = _pessimistic_gains(boxes, reference, pin) + _optimistic_gains(boxes, reference, pin)
    return np.split(gains, np.cumsum([part.size for part in pins])[:-1])


def _pessimistic_gains(boxes: Boxes, reference: FloatArray, pins: Pins) -> FloatArray:
    """How much HV(F_pess) grows with each question, shape (questions,)."""
    front = boxes.worst[boxes.pessimistic]
    front = front[(front < reference).all(axis=1)]
    moved = boxes.moved_worst(pins)
    some = np.flatnonzero((moved < reference).all(axis=1))
    some = some[_lexicographic(pins.question[some], moved[some])]
    question, moved = pins.question[some], moved[some]
    nobody = np.zeros(0, dtype=np.int64)
    around = surroundings(moved, front, reference, (nobody, nobody))

    corner = np.flatnonzero(around.free)
    question = question[corner]
    first = np.searchsorted(question, question)
    before = np.arange(len(question)) - first
    extra = np.repeat(np.arange(len(question)), before), moved[corner[ranges(first, before)]]
    tops = np.broadcast_to(reference, (len(corner), len(reference)))
    volumes = exclusive_volumes(around, corner, tops, extra)
    return np.bincount(question, weights=volumes, minlength=pins.size).astype(np.float64)


def _optimistic_gains(boxes: Boxes, reference: FloatArray, pins: Pins) -> FloatArray:
    """How much HV(F_opt) shrinks with each question, shape (questions,)."""
    moved = boxes.moved_best(pins)
    moves = np.flatnonzero((moved != boxes.best[pins.box]).any(axis=1))
    moves = moves[_lexicographic(pins.question[moves], boxes.best[pins.box[moves]])]
    question, box, moved = pins.question[moves], pins.box[moves], moved[moves]
    first = np.searchsorted(question, question, side="left")
    behind = np.searchsorted(question, question, side="right")

    # Only corners of F_opt can lose.
    task = np.flatnonzero(boxes.optimistic[box] & (boxes.best[box] < reference).all(axis=1))
    # A corner that is pinned alone has the same surroundings in every question.
    alone = behind[task] - first[task] == 1
    place = np.where(alone, box[task], len(boxes.best) + task)
    _, here, corner = np.unique(place, return_index=True, return_inverse=True)
    here = task[here]
    later = behind[here] - here
    absent = np.repeat(np.arange(len(here)), later), box[ranges(here, later)]
    around = surroundings(boxes.best[box[here]], boxes.best, reference, absent)

    # Moving along one axis uncovers at most the slab up to the mean; otherwise the new corners are further points.
    axes = moved != boxes.best[box]
    slab = _one_axis(question, axes)[task]
    tops = np.where(slab[:, None] & axes[task], np.minimum(moved[task], reference), reference)
    peers = np.where(slab, 0, behind[task] - first[task])
    extra = np.repeat(np.arange(len(task)), peers), moved[ranges(first[task], peers)]
    volumes = exclusive_volumes(around, corner.reshape(-1), tops, extra)
    return np.bincount(question[task], weights=volumes, minlength=pins.size).astype(np.float64)


def _lexicographic(question: IntArray, Y: FloatArray) -> IntArray:
    """An order by question, then by the first loss, the second, and so on: shape (p,)."""
    return np.lexsort((*Y.T[::-1], question))


def _one_axis(question: IntArray, moves: BoolArray) -> BoolArray:
    """The pins of questions whose corners all move along the same single axis, shape (p,)."""
    axes = np.zeros((int(question.max(initial=-1)) + 1, moves.shape[1]), dtype=np.bool_)
    pin, axis = np.nonzero(moves)
    axes[question[pin], axis] = True
    return np.asarray(axes.sum(axis=1)[question] == 1)
