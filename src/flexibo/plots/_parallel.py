"""Parallel coordinates: a vertical axis for every option and objective, and a line for every design."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flexibo._internal.numbers import format_number, significant_digits
from flexibo.plots import style
from flexibo.plots.style import LOOKS, OTHER
from flexibo.study import Study
from flexibo.views import ParallelView, parallel_view
from flexibo.views.axes import are_whole
from flexibo.views.parallel import Line, ParallelAxis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TICKS = 12
FEW = 6  # up to this many different numbers are written themselves, instead of round ones
MOST_LINES = 500  # the maximum number of designs drawn: those of the front, then those nearest to it


@dataclass(frozen=True, slots=True)
class _Scale:
    """A vertical scale: the positions of values between 0 and 1, and its ticks."""

    low: float  # a logarithm if the scale is logarithmic
    high: float
    log: bool
    names: tuple[str, ...] | None  # the texts of its values; None for numbers
    values: tuple[float, ...] = ()  # the different numbers on it, if they are few
    whole: bool = False  # whether all numbers on it are whole

    def position(self, value: float | str | None) -> float:
        """The position of a value; NaN for None."""
        if value is None:
            return math.nan
        number = float(self.names.index(str(value))) if self.names is not None else float(value)
        number = math.log(number) if self.log else number
        return (number - self.low) / (self.high - self.low) if self.high > self.low else 0.5

    def ticks(self) -> list[tuple[float, str]]:
        """The positions and texts of the ticks."""
        if self.names is not None:
            few = range(0, len(self.names), -(-len(self.names) // MOST_TICKS))
            return [(self.position(self.names[i]), style.text(self.names[i], longest=12)) for i in few]
        if not self.high > self.low and not self.values:
            return []
        marks = self.values or self._marks()
        digits = significant_digits((value, 0.0) for value in marks)
        return [(self.position(value), format_number(value, digits)) for value in marks]

    def _marks(self) -> list[float]:
        """Round numbers along the scale."""
        if self.log:
            return style.log_ticks(math.exp(self.low), math.exp(self.high))
        from matplotlib.ticker import MaxNLocator

        marks = MaxNLocator(5, integer=self.whole).tick_values(self.low, self.high)
        return [float(mark) for mark in marks if self.low <= mark <= self.high]


def parallel(study: Study, ax: Axes | None = None) -> Axes:
    """Draw the designs of a study across all options and objectives; objectives are the bold axes on the right."""
    view = parallel_view(study, limit=MOST_LINES)
    ax = ax or style.new_axes((min(24.0, max(7.0, 1.25 * len(view.axes) + 1.0)), 4.8))
    scales = [_scale(axis, [line.values[k] for line in view.lines]) for k, axis in enumerate(view.axes)]
    if not view.lines:
        style.message(ax, "no measurements yet")
    for kind in reversed(LOOKS):
        _draw_lines(ax, [line for line in view.lines if line.kind == kind], scales, kind)
    _draw_scales(ax, view, scales)
    ax.set_axis_off()
    if view.lines:
        entries = style.legend_entries(ax)
        ax.legend(
            list(entries.values()),
            list(entries),
            loc="upper center",
            bbox_to_anchor=(0.5, -0.02),
            ncols=4,
            frameon=False,
            fontsize="small",
        )
    return ax


def _scale(axis: ParallelAxis, values: Sequence[float | str | None]) -> _Scale:
    if axis.categories is not None:
        return _Scale(0.0, float(len(axis.categories) - 1), False, axis.categories)
    known = [float(value) for value in values if value is not None]
    if not known:
        return _Scale(0.0, 0.0, False, None)
    log = axis.log and min(known) > 0
    low, high = (math.log(min(known)), math.log(max(known))) if log else (min(known), max(known))
    few = sorted(set(known))
    return _Scale(low, high, log, None, tuple(few) if len(few) <= FEW else (), are_whole(known))


def _draw_lines(ax: Axes, lines: Sequence[Line], scales: Sequence[_Scale], kind: str) -> None:
    """Draw the designs of one kind: a marker on each axis, and a line with a gap where an option is inactive."""
    if not lines:
        return
    look, first = LOOKS[kind], kind.startswith("front")
    alpha = 0.9 if first else max(0.15, min(0.5, 40 / len(lines)))
    dash: Any = "-" if kind in ("front-confirmed", "measured") else "--" if kind.endswith("half") else ":"
    marks = style.marker_style(look) | {"linestyle": dash, "markersize": look.size * 0.6}
    for index, line in enumerate(lines):
        heights = [scale.position(value) for scale, value in zip(scales, line.values, strict=True)]
        label = look.label if index == 0 else None
        ax.plot(
            range(len(heights)),
            heights,
            linewidth=1.4 if first else 0.7,
            alpha=alpha,
            zorder=3 if first else 2,
            label=label,
            **marks,
        )


def _draw_scales(ax: Axes, view: ParallelView, scales: Sequence[_Scale]) -> None:
    for k, (axis, scale) in enumerate(zip(view.axes, scales, strict=True)):
        objective = axis.role == "objective"
        ax.plot(
            [k, k], [0.0, 1.0], color="black" if objective else OTHER, linewidth=2.2 if objective else 1.0, zorder=1
        )
        for height, words in scale.ticks():
            ax.annotate(
                words,
                (k, height),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize="x-small",
                zorder=5,
                bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.6},
            )
        arrow = {"min": " ↓", "max": " ↑", None: ""}[axis.direction]
        ax.annotate(
            style.text(axis.label, longest=20) + arrow,
            (k, 1.0),
            xytext=(0, 10),
            textcoords="offset points",
            rotation=20,
            rotation_mode="anchor",
            fontsize="small",
            fontweight="bold" if objective else "normal",
            annotation_clip=False,
        )
    ax.set_xlim(-0.2, len(view.axes) - 0.4)
    ax.set_ylim(-0.05, 1.05)
