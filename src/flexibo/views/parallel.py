"""The options and objectives of all designs, as a view for parallel coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from flexibo.space import Option, Value
from flexibo.study import Study
from flexibo.views._json import json_fields
from flexibo.views.axes import Axis, category_names, is_log
from flexibo.views.front import LIMIT, FrontPoint, front_view


@dataclass(frozen=True, slots=True)
class ParallelAxis:
    """One vertical axis.

    Attributes:
        name: The option or objective.
        label: Its name with its unit.
        categories: The texts of its values in order; None for numbers.
        role: Whether it is an option or an objective.
        log: Whether the scale is logarithmic.
        direction: "min" or "max" for an objective; None for an option.
    """

    name: str
    label: str
    categories: tuple[str, ...] | None
    role: Literal["option", "objective"]
    log: bool
    direction: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The axis, ready for JSON."""
        return {**json_fields(self), "type": "number" if self.categories is None else "category"}


@dataclass(frozen=True, slots=True)
class Line:
    """One design: its kind, one of `flexibo.views.front.KINDS`, and its value on each axis; None if it has none."""

    kind: str
    values: tuple[float | str | None, ...]

    to_dict = json_fields


@dataclass(frozen=True, slots=True)
class ParallelView:
    """The options and objectives of the designs of a `FrontView`, with its `left_out`."""

    axes: tuple[ParallelAxis, ...]
    lines: tuple[Line, ...]
    left_out: int

    def to_dict(self) -> dict[str, Any]:
        """The view, ready for JSON."""
        return {"kind": "parallel", **json_fields(self)}


def parallel_view(study: Study, *, limit: int = LIMIT) -> ParallelView:
    """The options and objectives of at most `limit` designs of a study, those of the front first."""
    front = front_view(study, limit=limit)
    names = {name: category_names(option) for name, option in study.space.options.items()}
    options = tuple(_option_axis(name, option) for name, option in study.space.options.items())
    lines = tuple(_line(point, names, front.axes) for point in front.points)
    return ParallelView((*options, *map(_objective_axis, front.axes)), lines, front.left_out)


def _option_axis(name: str, option: Option) -> ParallelAxis:
    names = category_names(option)
    return ParallelAxis(name, name, None if names is None else tuple(names.values()), "option", is_log(option))


def _objective_axis(axis: Axis) -> ParallelAxis:
    return ParallelAxis(axis.name, axis.label, None, "objective", axis.log, axis.direction)


def _line(point: FrontPoint, names: Mapping[str, Mapping[Value, str] | None], objectives: Sequence[Axis]) -> Line:
    options = [_axis_value(value, names[option]) for option, value in point.design.items()]
    return Line(point.kind, (*options, *(point.values[axis.name] for axis in objectives)))


def _axis_value(value: Value, names: Mapping[Value, str] | None) -> float | str | None:
    """The value as written on its axis; None if the option is inactive."""
    if value is None:
        return None
    return float(value) if names is None else names[value]
