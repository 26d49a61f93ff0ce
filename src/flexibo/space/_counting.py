"""The number of designs of a space, and all of them, under conditions but without rules."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from flexibo._internal.arrays import AnyArray, FloatArray
from flexibo.space._conditions import Activity
from flexibo.space.encoding import levels
from flexibo.space.options import Option

# Counting under conditions goes through combinations of parents; beyond this many, the count is an upper bound.
COUNTING_LIMIT = 100_000


def expanded(columns: Mapping[int, FloatArray], activity: Activity, k: int, limit: int) -> FloatArray | None:
    """Every combination (m, k) of the given codes per option, NaN for the others; None if there are more than `limit`.

    An option takes each of its codes where it is active, and only NaN where it is not.
    """
    codes = np.full((1, k), np.nan)
    for position in activity.order:
        if position not in columns:
            continue
        choices = columns[position]
        active = activity.active(codes, position)
        repeats = np.where(active, len(choices), 1)
        if repeats.sum() > limit:
            return None
        first = np.cumsum(repeats) - repeats
        codes = np.repeat(codes, repeats, axis=0)
        choice = np.arange(len(codes)) - np.repeat(first, repeats)
        codes[:, position] = np.where(np.repeat(active, repeats), choices[choice], np.nan)
    return codes


def every_design(options: Sequence[Option], activity: Activity, limit: int) -> FloatArray | None:
    """The codes (m, k) of every design, in the order of the values; None if there are more than `limit`."""
    # One value beyond the limit shows that there are too many, unless the option is never active.
    digits = [np.arange(min(option.size, limit + 1), dtype=np.float64) for option in options]
    columns = {i: levels(option, digits[i]) for i, option in enumerate(options)}
    return expanded(columns, activity, len(options), limit)


def count(options: Sequence[Option], activity: Activity) -> int | float:
    """The number of designs; infinity if a `Real` varies.

    Groups of options that no condition links are counted separately and multiplied. The count is exact unless a group
    has more than `COUNTING_LIMIT` relevant combinations of parents; then its options count as always active.
    """
    if any(option.size == math.inf for option in options):
        return math.inf
    total = 1
    for group in _linked(len(options), activity):
        total *= _count_group(group, options, activity)
    return total


def _linked(k: int, activity: Activity) -> list[list[int]]:
    """The positions of the options, grouped so that conditions only link options within a group."""
    label = list(range(k))
    for child, clauses in activity.clauses.items():
        for parent, _ in clauses:
            old, new = label[child], label[parent]
            label = [new if each == old else each for each in label]
    return [[i for i in range(k) if label[i] == each] for each in sorted(set(label))]


def _count_group(group: Collection[int], options: Sequence[Option], activity: Activity) -> int:
    sizes = {i: int(options[i].size) for i in group}
    parents = [i for i in group if any(i == parent for clauses in activity.clauses.values() for parent, _ in clauses)]
    classes = {i: _classes(i, sizes[i], activity) for i in parents}
    columns = {i: np.array(list(weights), dtype=np.float64) for i, weights in classes.items()}
    codes = expanded(columns, activity, len(options), COUNTING_LIMIT)
    if codes is None:
        return math.prod(sizes.values())
    # Python integers, since counts can exceed 64 bits.
    number: AnyArray = np.ones(len(codes), dtype=object)
    for i in group:
        active = activity.active(codes, i)
        if i in classes:
            number[active] *= np.array([classes[i][code] for code in codes[active, i]], dtype=object)
        else:
            number[active] *= sizes[i]
    return int(number.sum())


def _classes(position: int, size: int, activity: Activity) -> dict[float, int]:
    """One code for each class of a parent's values that no condition distinguishes, and the size of the class."""
    lists = [set(codes.tolist()) for clauses in activity.clauses.values() for i, codes in clauses if i == position]
    mentioned = sorted(set().union(*lists))
    classes: dict[tuple[bool, ...], list[float]] = {}
    for code in mentioned:
        classes.setdefault(tuple(code in each for each in lists), []).append(code)
    weights = {codes[0]: len(codes) for codes in classes.values()}
    if size > len(mentioned):
        weights[-math.inf] = size - len(mentioned)  # stands for all values that no condition mentions
    return weights
