"""Axes: what a picture writes beside its scales, and when a scale is logarithmic."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from flexibo._internal.numbers import MOST_DIGITS, format_number
from flexibo.objectives import Objective
from flexibo.space import Categorical, Integer, Option, Ordinal, Real
from flexibo.space.options import is_number

WIDE = 15.0
"""Positive values that span more than this factor are drawn on a logarithmic scale."""
COST_UNIT = "s"
"""Costs are seconds unless users say otherwise, and nothing stored says so."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The scale of one objective.

    Attributes:
        name: The objective.
        unit: Its unit; empty where it has none.
        direction: "min" or "max".
        optimise: Whether it is optimised, or only a constraint.
        bound: The bound of a constraint; None without one.
        bound_side: "at most" or "at least"; None without a bound.
        log: Whether its values ask for a logarithmic scale.
    """

    name: str
    unit: str
    direction: str
    optimise: bool
    bound: float | None
    bound_side: str | None
    log: bool

    @property
    def label(self) -> str:
        """The name with its unit, as in "energy [J]"."""
        return labelled(self.name, self.unit)

    @property
    def bound_words(self) -> str:
        """The bound in words, as in "at most 600 B"; empty without one."""
        return (
            ""
            if self.bound is None
            else " ".join(filter(None, (self.bound_side, format_number(self.bound, MOST_DIGITS), self.unit)))
        )

    def to_dict(self) -> dict[str, Any]:
        """The axis, ready for JSON."""
        return {
            "name": self.name,
            "unit": self.unit,
            "label": self.label,
            "direction": self.direction,
            "optimise": self.optimise,
            "bound": self.bound,
            "bound_side": self.bound_side,
            "log": self.log,
        }


def axis_of(objective: Objective, values: Iterable[float | None]) -> Axis:
    """The axis of an objective on which these values are drawn.

    >>> axis_of(Objective("energy", unit="J"), [1.0, 100.0]).log
    True
    """
    bound = objective.at_most if objective.at_most is not None else objective.at_least
    side = None if bound is None else ("at most" if objective.at_most is not None else "at least")
    return Axis(
        name=objective.name,
        unit=objective.unit,
        direction=str(objective.direction),
        optimise=bool(objective.optimise),
        bound=None if bound is None else float(bound),
        bound_side=side,
        log=is_wide(values),
    )


def is_wide(values: Iterable[float | None]) -> bool:
    """Whether values are all positive and span so much that a straight scale would crowd most of them.

    >>> is_wide([1.0, 16.0]), is_wide([1.0, 15.0]), is_wide([0.0, 16.0]), is_wide([])
    (True, False, False, False)
    """
    known = [value for value in values if value is not None and math.isfinite(value)]
    return bool(known) and min(known) > 0 and max(known) > WIDE * min(known)


def labelled(name: str, unit: str) -> str:
    """A name with its unit, if it has one.

    >>> labelled("energy", "J"), labelled("error", "")
    ('energy [J]', 'error')
    """
    return f"{name} [{unit}]" if unit else name


COST_LABEL = labelled("cost", COST_UNIT)


def levels_of(option: Option) -> tuple[Any, ...] | None:
    """The values of an option that is drawn as categories: texts and flags; None where it is drawn as numbers."""
    if isinstance(option, Categorical):
        return tuple(option.values)
    if isinstance(option, Ordinal) and not all(is_number(value) for value in option.values):
        return tuple(option.values)
    return None


def is_log(option: Option) -> bool:
    """Whether an option of numbers is drawn on a logarithmic scale: its own, or that its values ask for."""
    if isinstance(option, Integer | Real):
        return option.log
    return levels_of(option) is None and is_wide(float(value) for value in option.values)


def plain_number(value: float | None) -> float | None:
    """The value as a plain float, or None where it is not a finite number: strict JSON knows no others."""
    return float(value) if value is not None and math.isfinite(value) else None
