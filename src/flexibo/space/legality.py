"""Which designs of a space its rule and its pool allow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from flexibo._internal.arrays import BoolArray
from flexibo.errors import InvalidValueError
from flexibo.space.design import Design
from flexibo.space.designs import Designs

if TYPE_CHECKING:
    from flexibo.space.space import Rule, Space


def legal(space: Space, designs: Designs) -> BoolArray:
    """Whether each design (m,) is in the pool, if there is one, and obeys the rule, if there is one."""
    if space._pool_keys is not None:
        keys = designs.keys()
        at = np.minimum(np.searchsorted(space._pool_keys, keys), len(space._pool_keys) - 1)
        return np.asarray(space._pool_keys[at] == keys)
    rule = space.valid
    if rule is None:
        return np.ones(len(designs), dtype=np.bool_)
    return np.fromiter(_answers(rule, designs), dtype=np.bool_, count=len(designs))


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


def require_legal(space: Space, designs: Designs) -> None:
    """An error that shows the first design which is not legal, if there is one."""
    allowed = legal(space, designs)
    if allowed.all():
        return
    first = designs[int(np.argmin(allowed))]
    if space.pool is not None:
        raise InvalidValueError(f"{first!r} is not in the pool; it must be one of its {len(space.pool)} designs.")
    raise InvalidValueError(f"{first!r} is forbidden by the rule of the space; choose other values.")
