"""LegalDesigns: which combinations of values are legal, how many there are, and all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from flexibo._internal.arrays import BoolArray, KeyArray
from flexibo.errors import InvalidValueError
from flexibo.space._counting import count, every_design
from flexibo.space._option_table import OptionTable
from flexibo.space.design import Design
from flexibo.space.designs import Designs

Rule = Callable[[Design], object]
"""Returns whether a design is legal."""

ENUMERATION_LIMIT = 1_000_000
# Larger lists are quick to make again, unless the rule was called for every design.
LARGEST_KEPT = 100_000


class LegalDesigns:
    """The combinations of the options' values that a pool, if there is one, and a rule, if there is one, allow.

    Attributes:
        table: The options.
        rule: The rule, or None.
        pool: The only legal designs, or None.
    """

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
