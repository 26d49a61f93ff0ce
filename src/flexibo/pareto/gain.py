"""The gain: how much of the Pareto region a measurement is expected to remove (the numerator of eq. 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from flexibo.arrays import AnyArray, BoolArray, FloatArray, IntArray
from flexibo.errors import InvalidValueError
from flexibo.pareto.exclusive import MOST_AXES
from flexibo.pareto.pins import Boxes, Pins, distinct_rows, joint_pins, objective_pins
from flexibo.pareto.plane import plane_gains
from flexibo.pareto.region import alive_and_fronts, check_boxes
from flexibo.pareto.solid import solid_gains


def pinned_gains(
    lower: FloatArray,
    mu: FloatArray,
    upper: FloatArray,
    reference: FloatArray,
    keys: AnyArray,
    bundles: Sequence[tuple[int, ...]],
) -> FloatArray:
    """The volume V - V' that leaves the Pareto region when a bundle of objectives is pinned to its means.

    To pin objective j of candidate i means that both corners take the value mu in objective j, for i, for every
    candidate with the same key in j, and for every candidate whose box is identical to one of these. Both fronts are
    rebuilt: a corner that was hidden behind another may come to the front.

    Args:
        lower: Best corners, shape (m, n).
        mu: Means, shape (m, n), between the corners.
        upper: Worst corners, shape (m, n).
        reference: The reference point, shape (n,).
        keys: Integers, shape (m, n). Candidates with equal keys in a column have equal boxes in that column.
        bundles: The objectives that are measured together, for each column of the result.

    Returns:
        The gains, shape (m, len(bundles)), nowhere below 0, and exactly 0 where nothing can be gained.

    >>> lower, upper = np.array([[0.0, 2.0], [2.0, 0.0]]), np.array([[1.0, 3.0], [3.0, 1.0]])
    >>> keys = np.array([[0, 0], [1, 1]])
    >>> pinned_gains(lower, (lower + upper) / 2, upper, np.array([4.0, 4.0]), keys, [(0,), (1,)])
    array([[1.5, 2. ],
           [2. , 1.5]])
    """
    check_boxes(lower, upper, reference)
    if mu.shape != lower.shape or keys.shape != lower.shape:
        raise InvalidValueError(
            f"The means have shape {mu.shape} and the keys {keys.shape}; both must be {lower.shape} as the corners."
        )
    if not all(bundles):
        raise InvalidValueError("A bundle names no objective; each must name at least one.")
    if len(reference) > MOST_AXES:
        raise InvalidValueError(f"There are {len(reference)} objectives; gains are exact for at most {MOST_AXES}.")
    gains = np.zeros((len(lower), len(bundles)))
    if len(lower) == 0:
        return gains
    alive, boxes, box = _living_boxes(lower, mu, upper)
    width = boxes.upper - boxes.lower
    objectives = {j for bundle in bundles for j in bundle}
    single = {j: objective_pins(j, keys, alive, box, width) for j in objectives}
    pins = [single[bundle[0]] if len(bundle) == 1 else joint_pins([single[j] for j in bundle]) for bundle in bundles]
    for b, volumes in _question_gains(boxes, reference, pins, bundles):
        gains[:, b] = np.append(volumes, 0.0)[pins[b].of_candidate]  # NOTHING is the last place
    return gains


def _living_boxes(lower: FloatArray, mu: FloatArray, upper: FloatArray) -> tuple[BoolArray, Boxes, IntArray]:
    """Who is in U, the distinct boxes of U, and the box of each candidate in U."""
    alive, optimistic, pessimistic = alive_and_fronts(lower, upper)
    everybody = Boxes(lower, mu, upper, optimistic, pessimistic)
    boxes = everybody if alive.all() else everybody.take(np.flatnonzero(alive))
    first, box = distinct_rows(boxes.lower, boxes.mu, boxes.upper)
    return alive, boxes if len(first) == len(box) else boxes.take(first), box


def _question_gains(
    boxes: Boxes, reference: FloatArray, pins: Sequence[Pins], bundles: Sequence[tuple[int, ...]]
) -> Iterator[tuple[int, FloatArray]]:
    """For each bundle its index and the gains of its questions, shape (questions,)."""
    flat = [b for b, bundle in enumerate(bundles) if len(reference) == 2 and len(bundle) == 1]
    rest = [b for b in range(len(bundles)) if b not in flat]
    for some, volumes in (flat, plane_gains), (rest, solid_gains):
        if some:
            yield from zip(some, volumes(boxes, reference, [pins[b] for b in some]), strict=True)
