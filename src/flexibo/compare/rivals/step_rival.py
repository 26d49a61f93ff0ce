"""The interface of a rival with steps: it chooses how far a design is measured, in all objectives at once.

A level is a step of the objective that has steps. Where a problem has a proxy instead, there are two levels: the proxy
in place of its objective, and the objective itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.rivals.base import RivalEntry
from flexibo.space import Space

SPACING = 3
"""The factor from one rung to the next one, and the inverse of the share of designs that get there."""


@dataclass(frozen=True, slots=True)
class StepSetting:
    """What a rival with steps knows about a problem before it sees a value. Every value it sees is a loss.

    Attributes:
        space: The designs; `space.pool` lists them where the space is a finite pool.
        names: The objectives.
        reference: The reference point (n,), in losses.
        levels: The number of levels; at the last one, all objectives have the values that count.
        seed: Seeds every draw.
    """

    space: Space
    names: tuple[str, ...]
    reference: FloatArray
    levels: int
    seed: int

    def scaled(self, losses: Sequence[float]) -> list[float]:
        """Losses (n,) over the sizes of the reference point's, for libraries that add them up."""
        sizes = np.where(self.reference == 0.0, 1.0, np.abs(self.reference))
        return [float(loss) for loss in np.asarray(losses) / sizes]


@dataclass(frozen=True, slots=True)
class Rung:
    """What a rival with steps wants to be measured: a design, which it knows by a token, up to a level.

    If the design cannot be measured, or another token has it, the nearest one takes its place.
    """

    token: str
    design: Mapping[str, object]
    level: int


class StepRival(Protocol):
    """An optimiser that minimises losses, and decides how far to go with each design."""

    def ask(self) -> Rung:
        """The design to measure next, and how far; a design that it asked for before continues."""

    def tell(self, rung: Rung, losses: Mapping[int, Sequence[float]]) -> None:
        """Learn the losses (n,) after each of the levels that were new, the last of which was asked for."""


@dataclass(frozen=True, slots=True)
class StepRivalEntry(RivalEntry):
    """A row of the table of rivals with steps, which are made from another setting."""

    make: Callable[[StepSetting], StepRival] = field(repr=False)  # type: ignore[assignment]  # other rivals take another setting
