"""Exclusive volumes: what a point dominates and a set of other points does not; for many points at once.

Most other points change nothing inside the box between a corner and its top. One that exceeds the corner along a single
axis only lowers the top. So tops are lowered first, and only points below the lowered top go to moocore, in coordinates
that run from 0 at the corner to 1 at the top.
"""

from __future__ import annotations

from dataclasses import dataclass

import moocore
import numpy as np

from flexibo._internal.arrays import AnyArray, BoolArray, FloatArray, IntArray
from flexibo.pareto._pins import ranges

_TABLE_SIZE = 1 << 17  # corners times points in a table, boxes in a batch: fits into the cache, and hides Python
_BATCH = 1024
_FEW = 4  # up to this many points per box, numpy over all boxes is faster than moocore box by box
MOST_AXES = 7  # axes are bits of one byte, and all bits together mark a point that does not count
_ABSENT = np.uint8(255)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a set of points leaves to each of several corners."""

    corner: FloatArray  # (c, n)
    free: BoolArray  # (c,): no point dominates or equals the corner
    top: FloatArray  # (c, n): the lowered top of each corner's box
    count: IntArray  # (c,): of each corner's neighbours
    neighbour: FloatArray  # (p, n): the points that reach into the boxes, corner after corner


def surroundings(
    corner: FloatArray, points: FloatArray, reference: FloatArray, absent: tuple[IntArray, IntArray]
) -> Surroundings:
    """The surroundings of corners (c, n) among other points (s, n), below a reference (n,).

    `absent` are pairs (index of a corner, ascending; index of a point) of points that do not count for a corner.
    """
    free = np.ones(len(corner), dtype=np.bool_)
    if len(points) == 0:
        top = np.broadcast_to(reference, corner.shape)
        return Surroundings(corner, free, top, np.zeros(len(corner), dtype=np.int64), points)
    ranks = _Ranks.of(points, corner, reference)
    ceiling = np.empty(corner.shape, dtype=np.int64)
    hits = [np.zeros(0, dtype=np.int64)]
    step = max(1, _TABLE_SIZE // len(points))
    for start in range(0, len(corner), step):
        part = slice(start, start + step)
        first, last = np.searchsorted(absent[0], [start, start + step])
        away = absent[1][first:last], absent[0][first:last] - start
        axes = ranks.exceeded_axes(part)
        axes[away] = _ABSENT
        free[part] = ~(axes == 0).any(axis=0)
        ceiling[part] = ranks.lowered_ceilings(axes)
        near = ranks.below(np.where(free[part, None], ceiling[part], 0))
        near[away] = False
        hits.append(np.flatnonzero(near.T) + start * len(points))
    at, point = np.divmod(np.concatenate(hits), len(points))
    top = np.minimum(ranks.losses(ceiling), reference)
    return Surroundings(corner, free, top, np.bincount(at, minlength=len(corner)), points[point])


@dataclass(frozen=True, slots=True)
class _Ranks:
    """Points and corners as ranks along each axis: small integers compare several times faster than losses."""

    order: IntArray  # (n, s): the points in ascending order along each axis
    ascending: FloatArray  # (n, s + 1): their losses in that order, then infinity
    point: AnyArray  # (n, s, 1): how many points are lower than each point
    corner: AnyArray  # (n, c): how many points are not higher than each corner
    reference: IntArray  # (n,): how many points are lower than the reference

    @classmethod
    def of(cls, points: FloatArray, corner: FloatArray, reference: FloatArray) -> _Ranks:
        """The ranks of points, corners and a reference point."""
        small = np.int16 if len(points) < np.iinfo(np.int16).max else np.int32
        order = np.argsort(points.T, axis=1)
        ascending = np.take_along_axis(points.T, order, axis=1)
        point = [np.searchsorted(column, values) for column, values in zip(ascending, points.T, strict=True)]
        at = [np.searchsorted(column, values, "right") for column, values in zip(ascending, corner.T, strict=True)]
        limit = [np.searchsorted(column, value) for column, value in zip(ascending, reference, strict=True)]
        beyond = np.full((len(reference), 1), np.inf)
        return cls(
            order,
            np.hstack([ascending, beyond]),
            np.array(point, dtype=small)[:, :, None],
            np.array(at, dtype=small),
            np.array(limit),
        )

    def exceeded_axes(self, part: slice) -> AnyArray:
        """The axes along which a point is higher than a corner, bit j for axis j, shape (s, part)."""
        axes = np.zeros((self.point.shape[1], self.corner[0, part].shape[0]), dtype=np.uint8)
        for j, (point, corner) in enumerate(zip(self.point, self.corner[:, part], strict=True)):
            higher = (point >= corner).view(np.uint8)
            higher <<= j
            axes |= higher
        return axes

    def lowered_ceilings(self, axes: AnyArray) -> IntArray:
        """The rank of each box's top, lowered by all points that are higher along one axis only, shape (part, n)."""
        ceilings = []
        for j, order in enumerate(self.order):
            only = axes[order] == 1 << j
            first = only.argmax(axis=0)
            found = only[first, np.arange(len(first))]
            rank = np.where(found, self.point[j, order[first], 0], self.reference[j])
            ceilings.append(np.minimum(rank, self.reference[j]))
        return np.stack(ceilings, axis=1)

    def below(self, ceiling: IntArray) -> BoolArray:
        """Which points are lower than the top along every axis, shape (s, part)."""
        limit = ceiling.T.astype(self.point.dtype)
        below = self.point[0] < limit[0]
        for j in range(1, len(limit)):
            below &= self.point[j] < limit[j]
        return np.asarray(below)

    def losses(self, rank: IntArray) -> FloatArray:
        """The losses that have the given ranks, shape (c, n)."""
        return np.asarray(np.take_along_axis(self.ascending, rank.T, axis=1).T)


def exclusive_volumes(
    around: Surroundings, corner: IntArray, top: FloatArray, extra: tuple[IntArray, FloatArray]
) -> FloatArray:
    """The volume (v,) between corners and tops that no point of the surroundings and no extra point dominates.

    Each box has the index of its corner (v,) and a top (v, n), which the surroundings may lower further. Extra points
    are pairs (index of a box, point), shapes (e,) and (e, n).
    """
    starts = np.cumsum(around.count) - around.count
    parts = [np.zeros(0)]
    for begin in range(0, len(corner), _BATCH):
        here = corner[begin : begin + _BATCH]
        first, last = np.searchsorted(extra[0], [begin, begin + _BATCH])
        box = np.repeat(np.arange(len(here)), around.count[here])
        point = around.neighbour[ranges(starts[here], around.count[here])]
        if last > first:
            box = np.concatenate([box, extra[0][first:last] - begin])
            order = np.argsort(box, kind="stable")
            box, point = box[order], np.concatenate([point, extra[1][first:last]])[order]
        low = around.corner[here]
        size = np.minimum(top[begin : begin + _BATCH], around.top[here]) - low
        size[~around.free[here]] = 0.0
        parts.append(_volumes(low, size, box, point))
    return np.concatenate(parts)


def _volumes(low: FloatArray, size: FloatArray, box: IntArray, point: FloatArray) -> FloatArray:
    """The volume (v,) of each box, given its low corner and its sizes (v, n), that its points (p, n) do not dominate.

    Nothing is left of a box with a size of 0 or less; `box` (p,) is the box of each point, ascending.
    """
    volume = np.maximum(size, 0.0).prod(axis=1)
    offset, sizes = point - low[box], size[box]
    inside = volume[box] > 0.0
    for j in range(size.shape[1]):
        inside &= offset[:, j] < sizes[:, j]
    unit = np.maximum(offset[inside], 0.0) / sizes[inside]
    share = _dominated_shares(box[inside], unit, len(low))
    return np.asarray(volume * np.maximum(1.0 - share, 0.0))


def _dominated_shares(box: IntArray, unit: FloatArray, boxes: int) -> FloatArray:
    """The share of each unit box that its points dominate, shape (v,)."""
    count = np.bincount(box, minlength=boxes)
    end = np.cumsum(count)
    share = np.zeros(boxes)
    for k in range(1, _FEW + 1):
        alike = np.flatnonzero(count == k)
        if len(alike) > 0:
            share[alike] = _shares_of_few(unit[end[alike, None] - np.arange(1, k + 1)])
    many = np.flatnonzero(count > _FEW)
    bounds = zip((end - count)[many].tolist(), end[many].tolist(), strict=True)
    volume = moocore.Hypervolume(ref=np.ones(unit.shape[1]))
    share[many] = [volume(_worth_counting(unit[start:stop])) for start, stop in bounds]
    return share


def _shares_of_few(points: FloatArray) -> FloatArray:
    """The share of each unit box that k points dominate, by inclusion and exclusion: (v, k, n) to (v,)."""
    share = np.zeros(len(points))
    terms = [(np.zeros((len(points), points.shape[2])), -1.0)]
    for k in range(points.shape[1]):
        terms += [(np.maximum(corner, points[:, k]), -sign) for corner, sign in terms]
    for corner, sign in terms[1:]:
        share += sign * (1.0 - corner).prod(axis=1)
    return share


def _worth_counting(points: FloatArray) -> FloatArray:
    """The points, without dominated ones if filtering them costs less than keeping them (as timed)."""
    n = points.shape[1]
    if n < 5 or len(points) <= (100 if n == 5 else 24):
        return points
    return np.asarray(points[moocore.is_nondominated(points)])
