"""Options and objectives of all designs side by side, as a view for parallel coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from flexibo.space import Option, Value
from flexibo.study import Study
from flexibo.views.axes import Axis, is_log, levels_of
from flexibo.views.front import LIMIT, FrontPoint, front_view


@dataclass(frozen=True, slots=True)
class ParallelAxis:
    """One upright scale.

    Attributes:
        name: The option or objective.
        label: The same with its unit.
        categories: What its values are called, in order, if it is no number; None for numbers.
        role: Whether it is an option or an objective.
        log: Whether its scale is logarithmic.
        direction: "min" or "max" for an objective; None for an option.
    """

    name: str
    label: str
    categories: tuple[str, ...] | None
    role: Literal["option", "objective"]
    log: bool
    direction: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The scale, ready for JSON."""
        return {
            "name": self.name,
            "label": self.label,
            "type": "number" if self.categories is None else "category",
            "categories": None if self.categories is None else list(self.categories),
            "role": self.role,
            "log": self.log,
            "direction": self.direction,
        }


@dataclass(frozen=True, slots=True)
class Line:
    """One design: its kind as in `flexibo.views.front.KINDS`, and a value for each scale, None where it has none."""

    kind: str
    values: tuple[float | str | None, ...]

    def to_dict(self) -> dict[str, Any]:
        """The design, ready for JSON."""
        return {"kind": self.kind, "values": list(self.values)}


@dataclass(frozen=True, slots=True)
class ParallelView:
    """Options and objectives of designs; see `flexibo.views.front.FrontView` for which, and for the last two."""

    axes: tuple[ParallelAxis, ...]
    lines: tuple[Line, ...]
    left_out: int
    approximate: bool

    def to_dict(self) -> dict[str, Any]:
        """The view, ready for JSON."""
        return {
            "kind": "parallel",
            "axes": [axis.to_dict() for axis in self.axes],
            "lines": [line.to_dict() for line in self.lines],
            "left_out": self.left_out,
            "approximate": self.approximate,
        }


def parallel_view(study: Study, *, limit: int = LIMIT) -> ParallelView:
    """Options and objectives of the designs of a study, those of the front first.

    Args:
        study: The study; nothing need be measured yet.
        limit: List at most so many designs.
    """
    front = front_view(study, limit=limit)
    names = {name: category_names(option) for name, option in study.space.options.items()}
    options = tuple(_option_axis(name, option) for name, option in study.space.options.items())
    lines = tuple(_line(point, names, front.axes) for point in front.points)
    return ParallelView((*options, *map(_objective_axis, front.axes)), lines, front.left_out, front.approximate)


def category_names(option: Option) -> Mapping[Value, str] | None:
    """What each value of an option is called, if it is no number; the names differ as the values do."""
    levels = levels_of(option)
    if levels is None:
        return None
    texts = [str(level) for level in levels]
    if len(set(texts)) < len(texts):  # such as 1 and "1"
        texts = [repr(level) for level in levels]
    return dict(zip(levels, texts, strict=True))


def _option_axis(name: str, option: Option) -> ParallelAxis:
    names = category_names(option)
    return ParallelAxis(name, name, None if names is None else tuple(names.values()), "option", is_log(option))


def _objective_axis(axis: Axis) -> ParallelAxis:
    return ParallelAxis(axis.name, axis.label, None, "objective", axis.log, axis.direction)


def _line(point: FrontPoint, names: Mapping[str, Mapping[Value, str] | None], objectives: Sequence[Axis]) -> Line:
    options = [_shown(value, names[option]) for option, value in point.design.items()]
    return Line(point.kind, (*options, *(point.values[axis.name] for axis in objectives)))


def _shown(value: Value, names: Mapping[Value, str] | None) -> float | str | None:
    """The value as it stands on its scale; None where the option is inactive."""
    if value is None:
        return None
    return float(value) if names is None else names[value]
