"""The front: of two objectives with the Pareto region, of several two at a time, of three in three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from flexibo._internal.arrays import AnyArray, FloatArray
from flexibo.errors import InvalidValueError
from flexibo.plots import style
from flexibo.plots.style import LOOKS, OTHER, REGION
from flexibo.study import Study
from flexibo.views import Axis, FrontView, front_view
from flexibo.views.front import FrontPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from mpl_toolkits.mplot3d import Axes3D

PANEL = 2.7  # the size of a panel of pairs, in inches
SIZE = (7.6, 6.2)
BEHIND = ("failed", "half", "measured", "violating")
ON_FRONT = ("front-violating", "front-unsure", "front-promising", "front-confirmed")


class Directed(Protocol):
    """An objective or its axis."""

    @property
    def direction(self) -> Any:
        """Either "min" or "max"."""


def front(study: Study, ax: Axes | None = None) -> Axes:
    """Draw the front of a study with two objectives, and the Pareto region around it.

    A study with one objective is drawn against its first constraint. Confirmed designs are at their readings, with the
    spread of noisy ones; what promising designs lack is predicted, with error bars of one standard deviation.
    """
    optimised = [objective for objective in study.objectives if objective.optimise]
    if len(optimised) > 2:
        raise InvalidValueError(
            f"This picture shows two objectives; the study has {len(optimised)}. Draw it with pairs or front3d."
        )
    ax = ax or style.new_axes()
    view = front_view(study)
    first, second = shown_axes(view)
    if view.region is not None and second.optimise:
        best, worst = (np.array(side).reshape(-1, 2) for side in (view.region.optimistic, view.region.pessimistic))
        shade(ax, best, worst, np.array(view.region.reference), (first, second))
    draw_points(ax, view, first, second)
    ax.set_xlabel(style.objective_label(first))
    ax.set_ylabel(style.objective_label(second))
    draw_bounds(ax, first, second)
    style.legend(ax)
    return ax


def shown_axes(view: FrontView) -> tuple[Axis, Axis]:
    """The two objectives to draw: the optimised ones, or the only one and its first constraint."""
    first, second = sorted(view.axes, key=lambda axis: not axis.optimise)[:2]
    return first, second


def draw_points(ax: Axes, view: FrontView, first: Axis, second: Axis) -> None:
    """Draw the designs of a view over two of its objectives, and set the limits of the axes."""
    placed = [p for p in view.points if p.values[first.name] is not None and p.values[second.name] is not None]
    for kind in BEHIND:
        chosen = [point for point in placed if point.kind == kind]
        if chosen:
            look = LOOKS[kind]
            label = violated(view, chosen) if kind == "violating" else look.label
            _markers(ax, chosen, first, second, kind, label)
    broken = [point for point in placed if point.kind == "front-violating" and all(point.measured.values())]
    if broken and not any(point.kind == "violating" for point in placed):
        _markers(ax, broken, first, second, "violating", violated(view, broken))
    for kind in ON_FRONT:
        chosen = [point for point in placed if point.kind == kind]
        if chosen:
            _with_errors(ax, chosen, first, second, kind)
    if bulge := [point for point in placed if point.knee]:
        x, y = _coordinates(bulge, first), _coordinates(bulge, second)
        ax.plot(x, y, label="knee, the best compromise", zorder=4, **style.KNEE)
    _frame(ax, placed, first, second)
    numbered = [point for point in placed if point.number]
    both = zip(_coordinates(numbered, first), _coordinates(numbered, second), numbered, strict=True)
    style.numbers(ax, [(x, y, point.number) for x, y, point in both])
    _draw_unplaced(ax, view, first, second)


def violated(view: FrontView, points: Sequence[FrontPoint]) -> str:
    """The bounds that designs violate, in words."""
    bounds = [axis for axis in view.axes if any(breaks(axis, point) for point in points)]
    measured = "measured, " if all(all(point.measured.values()) for point in points) else ""
    return f"{measured}violates {' or '.join(map(style.bound_label, bounds)) or 'a constraint'}"


def breaks(axis: Axis, point: FrontPoint) -> bool:
    """Whether the value of a design is beyond the bound of an objective."""
    value = point.values[axis.name]
    if axis.bound is None or value is None:
        return False
    return value > axis.bound if axis.bound_side == "at most" else value < axis.bound


def _coordinates(points: Sequence[FrontPoint], axis: Axis) -> list[float]:
    return [value for point in points if (value := point.values[axis.name]) is not None]


def _spreads(points: Sequence[FrontPoint], axis: Axis) -> list[tuple[float, float]]:
    """The values of designs with their standard deviations."""
    return [(v, point.deviations[axis.name]) for point in points if (v := point.values[axis.name]) is not None]


def _markers(ax: Axes, points: Sequence[FrontPoint], first: Axis, second: Axis, kind: str, label: str) -> None:
    x, y = _coordinates(points, first), _coordinates(points, second)
    ax.plot(x, y, label=label, zorder=2, **style.marker_style(LOOKS[kind]))


def _with_errors(ax: Axes, points: Sequence[FrontPoint], first: Axis, second: Axis, kind: str) -> None:
    x, y = _coordinates(points, first), _coordinates(points, second)
    look = LOOKS[kind]
    ax.plot(x, y, label=look.label, zorder=4, **style.marker_style(look))
    for side, axis in (("xerr", first), ("yerr", second)):
        some = np.array([point.deviations[axis.name] > 0 for point in points])
        if some.any():
            ends = np.array([axis.bar(value, spread) for value, spread in _spreads(points, axis)])
            values = np.array(_coordinates(points, axis))
            bars: dict[str, Any] = {side: np.abs(ends.T - values)[:, some]}
            ax.errorbar(
                np.array(x)[some],
                np.array(y)[some],
                fmt="none",
                ecolor=look.colour,
                elinewidth=1,
                capsize=2,
                zorder=3,
                **bars,
            )


def _frame(ax: Axes, placed: Sequence[FrontPoint], first: Axis, second: Axis) -> None:
    """Limit the axes to the front and the measured designs; the region may extend far beyond them."""
    shown = [point for point in placed if point.kind not in ("half", "failed")] or list(placed)
    best = [point for point in shown if point.kind in ON_FRONT]
    sides: tuple[tuple[Literal["x", "y"], Axis], ...] = (("x", first), ("y", second))
    for side, axis in sides:
        bars = [axis.bar(value, spread) for value, spread in _spreads(best, axis)]
        others = [*_coordinates(placed, axis), *([] if axis.bound is None else [axis.bound])]
        style.scale(ax, side, _coordinates(shown, axis), log=axis.log, whole=axis.whole, bars=bars, others=others)


def _draw_unplaced(ax: Axes, view: FrontView, first: Axis, second: Axis) -> None:
    """Mark designs with only one of the two values on its axis, until the other can be predicted."""
    if not view.points:
        style.message(ax, "no measurements yet")
    is_labelled = False
    for own, other, side in ((first, second, ax.xaxis), (second, first, ax.yaxis)):
        values = _coordinates([point for point in view.points if point.values[other.name] is None], own)
        if values:
            _mark(ax, values, upright=own is second, label=None if is_labelled else "measured in one objective only")
            is_labelled = True
            if len(values) == len(_coordinates(view.points, own)):  # no other value set the limits of this axis
                style.scale(ax, "y" if own is second else "x", values, log=own.log, whole=own.whole)
        elif view.points and not _coordinates(view.points, own):
            side.set_ticks([])


def _mark(ax: Axes, values: Sequence[float], *, upright: bool, label: str | None) -> None:
    """Mark values along the bottom, or along the left if upright."""
    edge = [0.02] * len(values)
    look: dict[str, Any] = {"color": OTHER, "markersize": 11, "markeredgewidth": 1.6, "clip_on": False, "label": label}
    if upright:
        ax.plot(edge, values, "_", transform=ax.get_yaxis_transform(), **look)
    else:
        ax.plot(values, edge, "|", transform=ax.get_xaxis_transform(), **look)


def draw_bounds(ax: Axes, first: Axis, second: Axis) -> None:
    """Draw the bounds of the two objectives."""
    for axis, line in ((first, ax.axvline), (second, ax.axhline)):
        if axis.bound is not None:
            line(axis.bound, color=style.DOUBTFUL, linestyle=":", linewidth=1.6, label=style.bound_label(axis))


def shade(
    ax: Axes, optimistic: FloatArray, pessimistic: FloatArray, reference: FloatArray, objectives: Sequence[Directed]
) -> None:
    """Shade the region between the two fronts (k, 2 each), where the true front may lie."""
    if not len(optimistic):  # possibly no design is feasible
        return
    x = np.unique(np.concatenate([optimistic[:, 0], pessimistic[:, 0], reference[:1]]))
    edges = [_staircase(side, x, reference, objectives) for side in (optimistic, pessimistic)]
    step: Any = "post" if objectives[0].direction == "min" else "pre"
    heights = np.abs(edges[0] - edges[1])
    if (heights[:-1] if step == "post" else heights[1:]).any():
        ax.fill_between(
            x, edges[0], edges[1], step=step, color=REGION, alpha=0.35, linewidth=0, zorder=1, label="Pareto region"
        )
    for edge, line in zip(edges, ("-", "--"), strict=True):
        ax.step(x, edge, where=step, color="#0072B2", linestyle=line, linewidth=1.1, zorder=1)


def _staircase(side: FloatArray, x: FloatArray, reference: FloatArray, objectives: Sequence[Directed]) -> FloatArray:
    """The best second value (k,) that a front attains at each first value or a better one."""
    signs = np.array([1.0 if objective.direction == "min" else -1.0 for objective in objectives])
    losses, at, worst = side * signs, x * signs[0], float(reference[1] * signs[1])
    order = np.argsort(losses[:, 0], kind="stable")
    best = np.concatenate([[worst], np.minimum(worst, np.minimum.accumulate(losses[order, 1]))])
    return np.asarray(best[np.searchsorted(losses[order, 0], at, side="right")] * signs[1])


def pairs(study: Study, figure: Any = None) -> AnyArray:
    """Draw the front of a study two objectives at a time; returns an array of axes, None where there is no panel.

    The front concerns all objectives: a design that seems dominated in one panel is better in another.
    """
    view = front_view(study)
    axes = view.axes
    count = len(axes) - 1
    side = max(PANEL, 6.0 / count)
    figure = figure or style.new_figure((side * count + 0.6, side * count + 0.4))
    panels: AnyArray = np.full((count, count), None, dtype=object)
    for row in range(count):
        for column in range(row + 1):
            shared = {"sharex": panels[row - 1, column]} if row > column else {}
            if column:
                shared["sharey"] = panels[row, 0]
            ax = figure.add_subplot(count, count, row * count + column + 1, **shared)
            panels[row, column] = ax
            draw_points(ax, view, axes[column], axes[row + 1])
            draw_bounds(ax, axes[column], axes[row + 1])
            if row == count - 1:
                ax.set_xlabel(style.objective_label(axes[column]), fontsize="small")
            if column == 0:
                ax.set_ylabel(style.objective_label(axes[row + 1]), fontsize="small")
            _thin_ticks(ax)
            ax.tick_params(labelsize="small", labelbottom=row == count - 1, labelleft=column == 0)
    labels = style.legend_entries(*(ax for ax in panels.ravel() if ax is not None))
    if labels:
        place = {"loc": "upper right"} if count > 1 else {"loc": "outside lower center", "ncols": 2}
        figure.legend(list(labels.values()), list(labels), fontsize="small", frameon=False, **place)
    return panels


def _thin_ticks(ax: Any) -> None:
    """Keep long numbers below a panel from overlapping."""
    if ax.get_xscale() != "log":
        ax.locator_params(axis="x", nbins=4)


def front3d(study: Study, ax: Axes3D | None = None) -> Axes3D:
    """Draw the front of three objectives on axes with ``projection="3d"``; a thin line leads from each design down."""
    optimised = sum(bool(objective.optimise) for objective in study.objectives)
    if optimised != 3:
        raise InvalidValueError(f"This picture shows three objectives; the study has {optimised}.")
    drawn: Any = ax or style.new_figure(SIZE).add_subplot(projection="3d")
    view = front_view(study)
    axes = [axis for axis in view.axes if axis.optimise]
    placed = [point for point in view.points if all(point.values[axis.name] is not None for axis in axes)]
    if not placed:
        drawn.text2D(0.5, 0.5, "no design has all three values yet", transform=drawn.transAxes, ha="center")
    values = np.array([[_coordinate(axis, point.values[axis.name]) for axis in axes] for point in placed]).reshape(
        -1, 3
    )
    floor = _floor(values)
    for kind, look in LOOKS.items():
        chosen = values[[point.kind == kind for point in placed]]
        if not len(chosen):
            continue
        first = kind.startswith("front")
        drawn.plot(*chosen.T, label=look.label, zorder=4 if first else 2, **style.marker_style(look))
        for x, y, z in chosen if first else ():
            drawn.plot([x, x], [y, y], [floor, z], color=look.colour, linewidth=0.6, alpha=0.6)
    for axis, side in zip(axes, "xyz", strict=True):
        getattr(drawn, f"set_{side}label")(style.objective_label(axis), fontsize="small", labelpad=10)
        getattr(drawn, f"{side}axis").set_tick_params(labelsize="small")
        if axis.log and placed:
            _set_log_ticks(getattr(drawn, f"{side}axis"), values[:, "xyz".index(side)])
    if placed:
        style.legend(drawn, loc="upper left")
    return drawn


def _coordinate(axis: Axis, value: float | None) -> float:
    """The coordinate of a value: its logarithm on a logarithmic scale, which matplotlib does not have in 3D."""
    number = float("nan") if value is None else value
    return float(np.log10(number)) if axis.log else number


def _floor(values: Any) -> float:
    if not len(values):
        return 0.0
    low, high = float(values[:, 2].min()), float(values[:, 2].max())
    return low - 0.05 * ((high - low) or 1.0)


def _set_log_ticks(axis: Any, logarithms: FloatArray) -> None:
    """Label an axis of logarithms (m,) with the numbers themselves."""
    ticks = style.log_ticks(float(10 ** logarithms.min()), float(10 ** logarithms.max()))
    axis.set_ticks(np.log10(ticks), [f"{tick:g}" for tick in ticks])
