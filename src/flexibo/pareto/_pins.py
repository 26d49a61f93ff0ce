"""What a measurement pins: the boxes that it narrows, and in which quantities.

Measuring quantity j of one design measures it for every design that agrees in the options that j depends on, and
designs with identical boxes are pinned as one. So boxes are pinned, not candidates, and candidates with the same pins
share one *question*.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from flexibo._internal.arrays import AnyArray, BoolArray, FloatArray, IntArray
from flexibo.pareto.goals import Goals

NOTHING = -1
_MOST_PINS = 1 << 18  # pins of a bundle that are held in memory at a time


@dataclass(frozen=True, slots=True)
class Boxes:
    """The distinct boxes of some candidates, b of them."""

    goals: Goals  # the objectives and limits among the n quantities
    lower: FloatArray  # (b, n)
    mu: FloatArray  # (b, n)
    upper: FloatArray  # (b, n)
    best: FloatArray  # (b, k): lower corners in the objectives, at infinity if they break a limit
    worst: FloatArray  # (b, k): upper corners in the objectives, at infinity if they break a limit
    optimistic: BoolArray  # (b,): the best corner is on F_opt
    pessimistic: BoolArray  # (b,): the worst corner is on F_pess

    def moved_best(self, pins: Pins) -> FloatArray:
        """Where each pin moves the best corner of its box, shape (p, k)."""
        return self._moved(self.lower, pins)

    def moved_worst(self, pins: Pins) -> FloatArray:
        """Where each pin moves the worst corner of its box, shape (p, k)."""
        return self._moved(self.upper, pins)

    def _moved(self, corners: FloatArray, pins: Pins) -> FloatArray:
        rows = (Y.take(pins.box, axis=0) for Y in (self.mu, corners))  # several times faster than Y[pins.box]
        return self.goals.corners(np.where(pins.fixed, *rows))


@dataclass(frozen=True, slots=True)
class Pins:
    """What each question of a bundle pins."""

    of_candidate: IntArray  # (m,): the question of each candidate, `NOTHING` where it pins nothing
    question: IntArray  # (p,): the question of each pin, ascending
    box: IntArray  # (p,): the box that the pin narrows
    fixed: BoolArray  # (p, n): the quantities in which it does so

    @property
    def size(self) -> int:
        """The number of questions."""
        return int(self.question[-1]) + 1 if len(self.question) > 0 else 0


def distinct_rows(*parts: FloatArray) -> tuple[IntArray, IntArray]:
    """The index (b,) of one copy of each distinct row, and for each row its copy's position among these (m,).

    Much faster than ``np.unique(axis=0)``, since few rows share their first value.

    >>> first, inverse = distinct_rows(np.array([[2.0, 0.0], [1.0, 5.0], [2.0, 0.0]]))
    >>> first.tolist(), inverse.tolist()
    ([1, 0], [1, 0, 1])
    """
    m = len(parts[0])
    order = np.argsort(parts[0][:, 0], kind="stable")
    column = parts[0][order, 0]
    same = column[1:] == column[:-1]
    if not same.any():
        return np.arange(m), np.arange(m)
    tied = np.zeros(m, dtype=np.bool_)
    tied[1:] = same
    tied[:-1] |= same
    rows = np.hstack([part[order[tied]] for part in parts])
    inner = np.lexsort(rows.T[::-1])
    order[tied], rows = order[tied][inner], rows[inner]
    new = np.ones(m, dtype=np.bool_)
    new[np.flatnonzero(tied)[1:]] = (rows[1:] != rows[:-1]).any(axis=1)
    if new.all():
        return np.arange(m), np.arange(m)
    inverse = np.empty(m, dtype=np.int64)
    inverse[order] = np.cumsum(new) - 1
    return order[new], inverse


def quantity_pins(j: int, keys: AnyArray, alive: BoolArray, box: IntArray, undecided: BoolArray) -> Pins:
    """The pins of quantity j, one question for each of its keys (m, n) that pins anything.

    `box` is the box of each candidate that is alive (m,), and `undecided` (b, n) where a pin changes a box.
    """
    column = keys[:, j].copy()
    living = np.flatnonzero(alive)
    moves = undecided[:, j][box]
    living, box = living[moves], box[moves]
    order = np.lexsort((box, column[living]))
    living, box = living[order], box[order]
    key = column[living]
    new_key = np.ones(len(key), dtype=np.bool_)
    new_key[1:] = key[1:] != key[:-1]
    question = np.cumsum(new_key) - 1
    of_candidate = np.full(len(column), NOTHING)
    of_candidate[living] = question
    dead = np.flatnonzero(~alive)
    if len(dead) > 0 and len(key) > 0:
        wanted = column[dead]
        at = np.searchsorted(key, wanted)
        at[at == len(key)] = 0
        of_candidate[dead] = np.where(key[at] == wanted, question[at], NOTHING)
    new_box = new_key
    new_box[1:] |= box[1:] != box[:-1]
    fixed = np.zeros((np.count_nonzero(new_box), undecided.shape[1]), dtype=np.bool_)
    fixed[:, j] = True
    return Pins(of_candidate, question[new_box], box[new_box], fixed)


def joint_pins(parts: Sequence[Pins]) -> Iterator[Pins]:
    """The pins of a bundle, one question for each combination of its quantities' questions.

    They come in blocks of bounded size, each with the candidates of its own questions: if few options decide one
    quantity and many another, there are many questions that pin many boxes each.
    """
    table = np.stack([part.of_candidate for part in parts], axis=1)
    combinations, of_candidate = np.unique(table, axis=0, return_inverse=True)
    of_candidate = np.where((table == NOTHING).all(axis=1), NOTHING, of_candidate.reshape(-1))
    counts = [_runs(combinations[:, k], part)[1] for k, part in enumerate(parts)]
    for block in blocks(np.sum(counts, axis=0), _MOST_PINS):
        here = (of_candidate >= block.start) & (of_candidate < block.stop)
        members = [_members(combinations[block, k], part) for k, part in enumerate(parts)]
        question, box, fixed = (np.concatenate(column) for column in zip(*members, strict=True))
        order = np.lexsort((box, question))
        question, box, fixed = question[order], box[order], fixed[order]
        starts = np.flatnonzero((np.diff(question, prepend=-1) != 0) | (np.diff(box, prepend=-1) != 0))
        if len(starts) > 0:
            fixed = np.logical_or.reduceat(fixed, starts, axis=0)
        yield Pins(np.where(here, of_candidate - block.start, NOTHING), question[starts], box[starts], fixed)


def stacked_pins(parts: Sequence[Pins]) -> Pins:
    """The pins of several bundles one after the other, without their candidates."""
    offset = np.cumsum([0] + [part.size for part in parts[:-1]])
    question = np.concatenate([part.question + start for part, start in zip(parts, offset, strict=True)])
    box = np.concatenate([part.box for part in parts])
    fixed = np.concatenate([part.fixed for part in parts])
    return Pins(np.zeros(0, dtype=np.int64), question, box, fixed)


def _members(question: IntArray, pins: Pins) -> tuple[IntArray, IntArray, BoolArray]:
    """The pins of the given questions, renumbered from 0; `NOTHING` pins nothing."""
    start, count = _runs(question, pins)
    at = ranges(start, count)
    return np.repeat(np.arange(len(question)), count), pins.box[at], pins.fixed[at]


def _runs(question: IntArray, pins: Pins) -> tuple[IntArray, IntArray]:
    """The first pin of each of the given questions, and the number of its pins."""
    start = np.searchsorted(pins.question, question, side="left")
    return start, np.searchsorted(pins.question, question, side="right") - start


def blocks(count: IntArray, most: int) -> list[slice]:
    """Consecutive slices of elements of these sizes (e,) that each hold about `most`, and at least one element.

    >>> blocks(np.array([3, 3, 3, 9, 1]), 6)
    [slice(0, 1, None), slice(1, 3, None), slice(3, 5, None)]
    """
    block = np.cumsum(count) // most
    bounds = np.flatnonzero(np.diff(block, prepend=-1, append=-1)).tolist()
    return [slice(start, stop) for start, stop in pairwise(bounds)]


def ranges(start: IntArray, count: IntArray) -> IntArray:
    """The integers start, start + 1, ... of several ranges, one range after the other.

    >>> ranges(np.array([5, 0, 8]), np.array([2, 0, 3])).tolist()
    [5, 6, 8, 9, 10]
    """
    before = np.cumsum(count) - count
    return np.asarray(np.arange(int(count.sum())) + np.repeat(start - before, count))
