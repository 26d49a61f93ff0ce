"""The importance of each option, and the prediction of an objective along one or two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flexibo._internal.arrays import AnyArray, FloatArray
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.plots import style
from flexibo.plots.style import INK, REGION
from flexibo.study import Study
from flexibo.views import Axis, ImportanceView, SliceView, importance_view, slice_view
from flexibo.views.axes import are_whole
from flexibo.views.slices import SliceAxis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID = 3  # the number of options in a grid, those most important for the objective
NEAR = 0.25  # measured designs within this distance of a slice are drawn on it
MOST_FIXED = 8
LONGEST = 22
ROOM = 20  # the number of characters that fit side by side below a slice
PANEL = (2.9, 2.4)
INTERACTIONS = "with interactions"
MOST = 15  # the maximum number of options whose importance is shown, the greatest ones


def importance(study: Study, ax: Axes | None = None) -> Axes:
    """Draw the share of each objective's variance that each option explains, according to the objective's surrogate.

    The filled bar is what the option explains alone; the outlined rest is what it explains in interactions with others.
    """
    view = importance_view(study)
    known = [axis for axis in view.axes if view.total[axis.name][view.options[0]] is not None]
    options = ranked(view)[:MOST] if known else []
    ax = ax or style.new_axes((7.0, 1.6 + max(2.0, (0.19 * len(known) + 0.1) * len(options))))
    _draw_bars(ax, view, known, options)
    ax.set_yticks(range(len(options)), [style.text(name, longest=24) for name in options])
    ax.set_ylim(max(1, len(options)) - 0.5, -0.5)
    ax.set_xlim(0.0, 100.0)
    ax.set_xlabel("share of the variance [%]")
    if not known:
        style.message(ax, "too few measurements of every objective yet")
        return ax
    style.legend(ax, loc="lower right", last=INTERACTIONS)
    if len(options) < len(view.options):
        style.note(ax, f"{len(view.options) - len(options)} less important options not shown")
    return ax


def _draw_bars(ax: Axes, view: ImportanceView, known: Sequence[Axis], options: Sequence[str]) -> None:
    """Draw a bar for every option and objective: the total effect as an outline, the main effect filled."""
    height = 0.8 / max(1, len(known))
    thickness = 0.92 * height
    for index, axis in enumerate(known):
        colour, _, _, hatch = style.series(view.axes.index(axis))
        at = np.arange(len(options)) + (index - (len(known) - 1) / 2.0) * height
        main, total = ([100.0 * (part[axis.name][name] or 0.0) for name in options] for part in (view.main, view.total))
        ax.barh(at, total, thickness, facecolor="white", edgecolor=colour, linewidth=0.9)
        label = style.text(axis.name)
        ax.barh(at, main, thickness, facecolor=colour, edgecolor="white", hatch=hatch, linewidth=0, label=label)
    # Only for the legend.
    ax.barh([0.0], [0.0], facecolor="white", edgecolor=style.OTHER, linewidth=0.9, label=INTERACTIONS)


def ranked(view: ImportanceView) -> list[str]:
    """The options, most important for any objective first."""

    def greatest(name: str) -> float:
        return max(shares[name] or 0.0 for shares in view.total.values())

    return sorted(view.options, key=greatest, reverse=True)


def slices(
    study: Study, objective: str | None = None, x: str | None = None, y: str | None = None, *, ax: Axes | None = None
) -> AnyArray:
    """Draw the prediction of an objective along one or two options, with the others fixed; returns an array of axes.

    Without options it is a grid of the three most important ones: each alone on the diagonal, each pair below it.

    Args:
        study: A study.
        objective: The objective; the first by default.
        x: The option on the horizontal axis.
        y: The option on the vertical axis; without it the objective itself is on that axis.
        ax: Where to draw a single slice; a new figure by default.
    """
    objective = study.objectives[0].name if objective is None else objective
    if x is None and (y is not None or ax is not None):
        raise InvalidValueError("A single slice needs the option x; give it, or neither y nor ax for a grid.")
    if x is not None:
        ax = ax or style.new_axes()
        draw_slice(ax, slice_view(study, objective, x, y))
        return np.array([[ax]], dtype=object)
    options = most_important(study, objective)[:GRID]
    figure = style.new_figure((PANEL[0] * len(options) + 1.2, PANEL[1] * len(options) + 0.6))
    grid: AnyArray = np.full((len(options), len(options)), None, dtype=object)
    for row, below in enumerate(options):
        for column, across in enumerate(options[: row + 1]):
            grid[row, column] = figure.add_subplot(len(options), len(options), row * len(options) + column + 1)
            view = slice_view(study, objective, across, None if row == column else below)
            draw_slice(grid[row, column], view, alone=False)
    if len(options) > 1:
        figure.text(0.99, 0.98, _explained(view), ha="right", va="top", fontsize="small", linespacing=1.5)
    return grid


def _explained(view: SliceView) -> str:
    """What a slice shows, and the values of the other options."""
    values = {name: f"{value:.3g}" if isinstance(value, float) else value for name, value in view.at.items()}
    fixed = [
        f"{style.text(name, longest=20)} = {style.text(value, longest=14)}"
        for name, value in values.items()
        if value is not None
    ]
    more = [f"... and {len(fixed) - MOST_FIXED} more"] if len(fixed) > MOST_FIXED else []
    lines = [
        f"{style.text(view.axis.label)}, prediction; dots: measured designs nearby",
        "Options not on an axis are fixed at:",
    ]
    return "\n".join([*lines, *fixed[:MOST_FIXED], *more])


def draw_slice(ax: Axes, view: SliceView, *, alone: bool = True) -> None:
    """Draw one slice; in a grid there is no room to label the colours."""
    if view.mean[0][0] is None:
        style.message(ax, "not measured yet")
    elif view.y is None:
        _draw_curve(ax, view)
    else:
        mesh = _draw_map(ax, view, view.y)
        ax.figure.colorbar(mesh, ax=ax, label=style.text(view.axis.label, longest=LONGEST) if alone else "")
    ax.set_xlabel(style.text(view.x.name, longest=LONGEST))
    ax.set_ylabel(style.text(view.axis.label if view.y is None else view.y.name, longest=LONGEST))


def _draw_curve(ax: Axes, view: SliceView) -> None:
    """Draw the mean and two standard deviations on both sides along one option."""
    mean, low, high = (np.array(row[0], dtype=float) for row in (view.mean, view.low, view.high))
    at = _positions(view.x, view.x.values)
    if view.x.is_number:
        ax.fill_between(at, low, high, color=REGION, alpha=0.35, linewidth=0)
        ax.plot(at, mean, color=INK, linewidth=1.5)
    else:
        ax.errorbar(at, mean, yerr=[mean - low, high - mean], fmt="D", color=INK, markerfacecolor="white", capsize=3)
    near = [point for point in view.measured if point.distance <= NEAR]
    ax.plot(_positions(view.x, [p.x for p in near]), [p.value for p in near], "o", color=style.PREDICTED, markersize=4)
    shown = [*low.tolist(), *high.tolist(), *(p.value for p in near)]
    style.scale(ax, "y", shown, log=view.axis.log)
    _scale_option(ax, "x", view.x)


def _draw_map(ax: Axes, view: SliceView, upright: SliceAxis) -> Any:
    """Draw the mean over two options, dark where it is worse, with contours for numbers; returns the mesh."""
    mean = np.array(view.mean, dtype=float)
    across, up = _positions(view.x, view.x.values), _positions(upright, upright.values)
    shade = "cividis_r" if view.axis.direction == "min" else "cividis"
    norm = _norm(view, mean)
    mesh: Any = ax.pcolormesh(across, up, mean, cmap=shade, norm=norm, shading="nearest", rasterized=True)
    if view.x.is_number and upright.is_number and np.ptp(mean) > 0 and min(mean.shape) > 1:
        low, high = float(mean.min()), float(mean.max())
        levels = np.geomspace(low, high, 7) if view.axis.log and low > 0 else np.linspace(low, high, 7)
        lines = ax.contour(across, up, mean, levels[1:-1], colors="white", linewidths=0.8)
        ax.clabel(lines, fontsize="x-small", fmt="%.3g")
    near = [point for point in view.measured if point.distance <= NEAR and point.y is not None]
    x, y = _positions(view.x, [p.x for p in near]), _positions(upright, [p.y for p in near if p.y is not None])
    ax.plot(x, y, "o", color="white", markeredgecolor="black", markersize=4.5, clip_on=False)
    _scale_option(ax, "x", view.x)
    _scale_option(ax, "y", upright)
    return mesh


def _norm(view: SliceView, mean: FloatArray) -> Any:
    from matplotlib.colors import LogNorm, Normalize

    return LogNorm() if view.axis.log and mean.min() > 0 and mean.max() > mean.min() else Normalize()


def _positions(axis: SliceAxis, values: Sequence[float | str]) -> list[float]:
    """The positions of values on the axis of an option: numbers themselves, texts at 0, 1, ..."""
    return [float(value) if axis.is_number else float(axis.values.index(value)) for value in values]


def _scale_option(ax: Axes, side: Any, axis: SliceAxis) -> None:
    """Set the scale and the ticks of an axis that shows an option."""
    if axis.is_number and axis.log:
        numbers = [float(value) for value in axis.values]
        style.set_log(ax, side, min(numbers), max(numbers))
    elif axis.is_number and are_whole(map(float, axis.values)):
        style.set_whole(ax, side)
    elif not axis.is_number:
        names = [style.text(value, longest=12) for value in axis.values]
        (ax.set_xticks if side == "x" else ax.set_yticks)(range(len(names)), names)
        if side == "x" and sum(map(len, names)) > ROOM:
            ax.tick_params("x", rotation=30)


def most_important(study: Study, objective: str) -> list[str]:
    """The options of a study, most important for an objective first."""
    view = importance_view(study)
    if objective not in view.total:
        raise unknown_name("objective", objective, view.total)
    return ranked(replace(view, total={objective: view.total[objective]}))
