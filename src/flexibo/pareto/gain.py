"""The gain: how much of the Pareto region a measurement is expected to remove (the numerator of the paper's `eq:7`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from flexibo._internal.arrays import AnyArray, BoolArray, FloatArray, IntArray
from flexibo.errors import InvalidValueError
from flexibo.pareto._exclusive import MOST_AXES
from flexibo.pareto._pins import Boxes, Pins, distinct_rows, joint_pins, quantity_pins
from flexibo.pareto._plane import plane_gains
from flexibo.pareto._solid import solid_gains
from flexibo.pareto.goals import Goals, goals_of_boxes
from flexibo.pareto.region import Region, alive_and_fronts


def pinned_gains(
    lower: FloatArray,
    mu: FloatArray,
    upper: FloatArray,
    reference: FloatArray,
    keys: AnyArray,
    bundles: Sequence[tuple[int, ...]],
    *,
    optimised: Sequence[int] | None = None,
    limits: FloatArray | None = None,
    region: Region | None = None,
) -> FloatArray:
    """The volume V - V' that leaves the Pareto region when a bundle of quantities is pinned to its means.

    To pin quantity j of candidate i sets column j of both corners to mu, for i, for every candidate with the same key
    in j, and for every candidate whose box is identical to one of these. This moves the corners if j is an objective,
    and decides a constraint if j has a limit. Both fronts are rebuilt: a hidden corner may come to the front.

    Args:
        lower: Best corners, shape (m, n).
        mu: Means, shape (m, n), between the corners.
        upper: Worst corners, shape (m, n).
        reference: The reference point, shape (k,).
        keys: Integers, shape (m, n). Candidates with equal keys in a column have equal boxes in that column.
        bundles: For each column of the result, the quantities that are measured together.
        optimised: The k columns that are objectives, in the order of `reference`; all n by default.
        limits: The greatest feasible loss of each quantity, infinity where there is none, shape (n,); none by default.
        region: The Pareto region of these boxes, if it is known already; saves computing the fronts again.

    Returns:
        The gains, shape (m, len(bundles)), nowhere below 0, and exactly 0 where nothing can be gained.

    >>> lower, upper = np.array([[0.0, 2.0], [2.0, 0.0]]), np.array([[1.0, 3.0], [3.0, 1.0]])
    >>> keys = np.array([[0, 0], [1, 1]])
    >>> pinned_gains(lower, (lower + upper) / 2, upper, np.array([4.0, 4.0]), keys, [(0,), (1,)])
    array([[1.5, 2. ],
           [2. , 1.5]])

    With a limit of 2.7 for the second quantity, its mean makes the first design feasible:

    >>> pinned_gains(
    ...     lower, (lower + upper) / 2, upper, np.array([4.0]), keys, [(0,), (1,)],
    ...     optimised=[0], limits=np.array([np.inf, 2.7]),
    ... )
    array([[0.5, 2. ],
           [0.5, 0. ]])
    """
    goals = goals_of_boxes(lower, upper, reference, optimised, limits)
    if mu.shape != lower.shape or keys.shape != lower.shape:
        raise InvalidValueError(
            f"The means have shape {mu.shape} and the keys {keys.shape}; both must be {lower.shape} as the corners."
        )
    if region is not None and region.alive.shape != lower.shape[:1]:
        raise InvalidValueError(f"The region is one of {len(region.alive)} candidates; there are {len(lower)} here.")
    if not all(bundles):
        raise InvalidValueError("A bundle names no objective; each must name at least one.")
    if len(reference) > MOST_AXES:
        raise InvalidValueError(f"There are {len(reference)} objectives; gains are exact for at most {MOST_AXES}.")
    gains = np.zeros((len(lower), len(bundles)))
    if len(lower) == 0:
        return gains
    if len(reference) == 1:  # a length is an area of width 1
        goals, reference = goals.in_the_plane(), np.append(reference, 1.0)
        lower, mu, upper = (np.pad(Y, ((0, 0), (0, 1))) for Y in (lower, mu, upper))
    alive, boxes, box = _living_boxes(goals, lower, mu, upper, region)
    undecided = goals.undecided(boxes.lower, boxes.upper)
    quantities = {j for bundle in bundles for j in bundle}
    single = {j: quantity_pins(j, keys, alive, box, undecided) for j in quantities}
    for b, pins, volumes in _question_gains(boxes, reference, single, bundles):
        gains[:, b] += np.append(volumes, 0.0)[pins.of_candidate]  # the last place is for NOTHING
    return gains


def _living_boxes(
    goals: Goals, lower: FloatArray, mu: FloatArray, upper: FloatArray, region: Region | None
) -> tuple[BoolArray, Boxes, IntArray]:
    """The mask of U, the distinct boxes of U, and the box of each candidate in U."""
    if region is None:
        alive, optimistic, pessimistic = alive_and_fronts(goals.corners(lower), goals.corners(upper))
    else:
        alive, optimistic, pessimistic = region.alive, region.optimistic, region.pessimistic
    living = np.flatnonzero(alive)
    lower, mu, upper = (Y.take(living, axis=0) for Y in (lower, mu, upper))
    first, box = distinct_rows(lower, mu, upper)
    lower, mu, upper = (Y.take(first, axis=0) for Y in (lower, mu, upper))
    best, worst = goals.corners(lower), goals.corners(upper)
    some = living[first]
    return alive, Boxes(goals, lower, mu, upper, best, worst, optimistic[some], pessimistic[some]), box


def _question_gains(
    boxes: Boxes, reference: FloatArray, single: Mapping[int, Pins], bundles: Sequence[tuple[int, ...]]
) -> Iterator[tuple[int, Pins, FloatArray]]:
    """Per bundle, or block of its questions: its index, what the questions pin, and their gains (questions,)."""
    axes = boxes.goals.optimised
    flat = [b for b, bundle in enumerate(bundles) if len(bundle) == 1 and len(axes) == 2 and bundle[0] in axes]
    rest = [b for b, bundle in enumerate(bundles) if len(bundle) == 1 and b not in flat]
    for some, volumes in (flat, plane_gains), (rest, solid_gains):
        if some:
            parts = [single[bundles[b][0]] for b in some]
            yield from zip(some, parts, volumes(boxes, reference, parts), strict=True)
    for b, bundle in enumerate(bundles):
        if len(bundle) > 1:
            for pins in joint_pins([single[j] for j in bundle]):
                yield b, pins, solid_gains(boxes, reference, [pins])[0]
