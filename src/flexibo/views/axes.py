"""Axes: the label and the scale of an objective or an option in a picture."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexibo._internal.numbers import MOST_DIGITS, format_number
from flexibo.history import History
from flexibo.objectives import Objective
from flexibo.space import Categorical, Integer, Option, Ordinal, Real, Value
from flexibo.space.options import is_number
from flexibo.surrogates.possible_losses import PossibleLosses
from flexibo.views._json import finite_or_none, json_fields

WIDE = 15.0  # positive values that span more than this factor are drawn on a logarithmic scale


@dataclass(frozen=True, slots=True)
class Axis:
    """The scale of one objective.

    Attributes:
        name: The objective.
        unit: Its unit; empty if it has none.
        direction: "min" or "max".
        optimise: Whether it is optimised, or only a constraint.
        bound: The bound of a constraint; None without one.
        bound_side: "at most" or "at least"; None without a bound.
        least: The least possible value; None if there is none.
        most: The greatest possible value; None if there is none.
        log: Whether the scale is logarithmic.
        whole: Whether only whole numbers were measured, as of counts.
    """

    name: str
    unit: str
    direction: str
    optimise: bool
    bound: float | None
    bound_side: str | None
    least: float | None
    most: float | None
    log: bool
    whole: bool = False

    @property
    def label(self) -> str:
        """The name with its unit, as in "energy [J]"."""
        return labelled(self.name, self.unit)

    @property
    def bound_words(self) -> str:
        """The bound in words, as in "at most 600 B"; empty without one."""
        if self.bound is None:
            return ""
        return " ".join(filter(None, (self.bound_side, format_number(self.bound, MOST_DIGITS), self.unit)))

    def bar(self, value: float, spread: float) -> tuple[float, float]:
        """The ends of an error bar, as far as values are possible."""
        low, high = value - spread, value + spread
        return low if self.least is None else max(low, self.least), high if self.most is None else min(high, self.most)

    def to_dict(self) -> dict[str, Any]:
        """The axis, ready for JSON."""
        return {**json_fields(self), "label": self.label}


def axis_of(
    objective: Objective, values: Iterable[float | None], *, readings: Iterable[float | None] | None = None
) -> Axis:
    """The axis of an objective, with a scale that suits these values; `readings` are those that were measured.

    >>> axis_of(Objective("energy", unit="J"), [1.0, 100.0]).log
    True
    """
    known = [value for value in values if value is not None and math.isfinite(value)]
    losses = np.array([objective.loss(value) for value in known])
    ends = sorted(objective.value(loss) for loss in PossibleLosses.of(objective).given(losses))
    bound = objective.at_most if objective.at_most is not None else objective.at_least
    side = None if bound is None else ("at most" if objective.at_most is not None else "at least")
    return Axis(
        name=objective.name,
        unit=objective.unit,
        direction=str(objective.direction),
        optimise=bool(objective.optimise),
        bound=None if bound is None else float(bound),
        bound_side=side,
        least=finite_or_none(ends[0]),
        most=finite_or_none(ends[1]),
        log=is_wide(known),
        whole=are_whole(known if readings is None else readings),
    )


def are_whole(values: Iterable[float | None]) -> bool:
    """Whether there are values, and all are whole numbers that are not all the same.

    >>> are_whole([1.0, 4.0, None]), are_whole([1.0, 1.5]), are_whole([2.0, 2.0]), are_whole([])
    (True, False, False, False)
    """
    known = {float(value) for value in values if value is not None and math.isfinite(value)}
    return len(known) > 1 and all(value.is_integer() for value in known)


def is_wide(values: Iterable[float | None]) -> bool:
    """Whether the values are all positive and span more than the factor `WIDE`.

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


def cost_label(history: History) -> str:
    """The label of costs, with their unit if it is known."""
    return labelled("cost", history.cost_unit)


def category_names(option: Option) -> Mapping[Value, str] | None:
    """The text for each value of an option of texts or flags, all different; None for an option of numbers."""
    if not isinstance(option, Categorical | Ordinal):
        return None
    if isinstance(option, Ordinal) and all(is_number(value) for value in option.values):
        return None
    texts = [str(level) for level in option.values]
    if len(set(texts)) < len(texts):  # such as 1 and "1"
        texts = [repr(level) for level in option.values]
    return dict(zip(option.values, texts, strict=True))


def is_log(option: Option) -> bool:
    """Whether an option is drawn on a logarithmic scale: it has one itself, or its values are wide."""
    if isinstance(option, Integer | Real):
        return option.log
    return category_names(option) is None and is_wide(float(value) for value in option.values)
