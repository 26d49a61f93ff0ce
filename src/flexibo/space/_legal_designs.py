"""LegalDesigns: which combinations of values are legal, how many there are, and all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from flexibo._internal.arrays import AnyArray, BoolArray, FloatArray, KeyArray
from flexibo.errors import InvalidValueError
from flexibo.space._conditions import Activity
from flexibo.space._option_table import OptionTable
from flexibo.space.design import Design
from flexibo.space.designs import Designs
from flexibo.space.encoding import is_legal_code, levels
from flexibo.space.options import Option

COUNTING_LIMIT = 100_000  # with more combinations of parents under conditions, the count is an upper bound


Rule = Callable[[Design], object]  # returns whether a design is legal

ENUMERATION_LIMIT = 1_000_000
LARGEST_KEPT = 100_000  # larger lists are quick to make again, unless the rule was called for every design


class LegalDesigns:
    """The combinations of the options' values that a pool, if there is one, and a rule, if there is one, allow."""

    def __init__(self, table: OptionTable, rule: Rule | None, pool: Designs | None) -> None:
        self.table = table
        self.rule = rule
        self.pool = None if pool is None else pool.unique()

    @cached_property
    def combinations(self) -> int | float:
        """The number of designs before the rule is applied."""
        return count(list(self.table.options.values()), self.table.activity)

    @property
    def can_enumerate(self) -> bool:
        """Whether the combinations are few enough to list."""
        return self.combinations <= ENUMERATION_LIMIT

    @cached_property
    def size(self) -> int | float:
        """The number of legal designs; see `Space.size`."""
        if self.pool is not None:
            return len(self.pool)
        return len(self.enumerate()) if self.rule is not None and self.can_enumerate else self.combinations

    def enumerate(self) -> Designs:
        """Every legal design; an error if there are too many combinations."""
        if self.pool is not None:
            return self.pool
        if self.rule is None and self.combinations > LARGEST_KEPT:
            return self._every_combination()
        return self._every_design

    def allows(self, designs: Designs) -> BoolArray:
        """Whether each design (m,) is legal."""
        if not self.table.narrowed:
            return self._obey(designs)
        allowed = np.ones(len(designs), dtype=np.bool_)
        for column, option in self.table.narrowed.items():
            allowed &= is_legal_code(option, designs.codes[:, column])
        allowed[allowed] = self._obey(designs[allowed])  # a rule need not know values that are not legal any more
        return allowed

    def _obey(self, designs: Designs) -> BoolArray:
        """Whether each design (m,) is in the pool and obeys the rule."""
        if self._pool_keys is not None:
            keys = designs.keys()
            at = np.minimum(np.searchsorted(self._pool_keys, keys), len(self._pool_keys) - 1)
            return np.asarray(self._pool_keys[at] == keys)
        if self.rule is None:
            return np.ones(len(designs), dtype=np.bool_)
        return np.fromiter(_answers(self.rule, designs), dtype=np.bool_, count=len(designs))

    def check(self, designs: Designs) -> None:
        """Raise an error that shows the first design that is not legal, if there is one."""
        allowed = self.allows(designs)
        if allowed.all():
            return
        first = designs[int(np.argmin(allowed))]
        if self.pool is not None:
            raise InvalidValueError(f"{first!r} is not in the pool; it must be one of its {len(self.pool)} designs.")
        self.table.codes_of_row(dict(first))  # an error that names the option
        raise InvalidValueError(f"{first!r} is forbidden by the rule of the space; choose other values.")

    def __getstate__(self) -> dict[str, Any]:
        # What can be computed again is not pickled.
        return {"table": self.table, "rule": self.rule, "pool": self.pool}

    @cached_property
    def _every_design(self) -> Designs:
        every = self._every_combination()
        return every if self.rule is None else every[self.allows(every)]

    @cached_property
    def _pool_keys(self) -> KeyArray | None:
        return None if self.pool is None else np.sort(self.pool.keys())

    def _every_combination(self) -> Designs:
        infinite = [name for name, option in self.table.options.items() if option.size == math.inf]
        if infinite:
            raise InvalidValueError(
                f"Option {infinite[0]!r} has infinitely many values, so designs cannot be enumerated; use sample()."
            )
        codes = every_design(list(self.table.options.values()), self.table.activity, ENUMERATION_LIMIT)
        if codes is None:
            raise InvalidValueError(
                f"The space has {self.combinations} designs; at most {ENUMERATION_LIMIT} can be enumerated, "
                "so use sample()."
            )
        return Designs(self.table, codes)


def _answers(rule: Rule, designs: Designs) -> Iterator[bool]:
    design: Design | None = None
    try:
        for design in designs:
            yield bool(rule(design))
    except Exception as error:
        raise InvalidValueError(
            f"The rule of the space failed for {design!r} ({type(error).__name__}: {error}); "
            "it must return True or False for every design."
        ) from error


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
    classes = {i: _classes(i, options[i], activity) for i in parents}
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


def _classes(position: int, option: Option, activity: Activity) -> dict[float, int]:
    """One code for each class of a parent's values that no condition distinguishes, and the size of the class."""
    lists = [set(codes.tolist()) for clauses in activity.clauses.values() for i, codes in clauses if i == position]
    mentioned = [code for code in sorted(set().union(*lists)) if is_legal_code(option, np.array([code])).all()]
    classes: dict[tuple[bool, ...], list[float]] = {}
    for code in mentioned:
        classes.setdefault(tuple(code in each for each in lists), []).append(code)
    weights = {codes[0]: len(codes) for codes in classes.values()}
    if option.size > len(mentioned):
        weights[-math.inf] = int(option.size) - len(mentioned)  # stands for all values that no condition mentions
    return weights
