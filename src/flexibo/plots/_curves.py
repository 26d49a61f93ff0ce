"""The picture of learning curves: how far each design went, and which were stopped."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from flexibo.errors import unknown_name
from flexibo.plots import style
from flexibo.plots.style import INK, OTHER, PREDICTED
from flexibo.space import Design
from flexibo.study import Study
from flexibo.views import curves_view
from flexibo.views.curves import Curve, CurveState, ObjectiveCurves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOOKS: dict[CurveState, tuple[str, str, float, str]] = {
    "complete": ("#0072B2", "o", 1.1, "measured to the last step"),
    "running": (PREDICTED, "s", 1.1, "running"),
    "stopped": (OTHER, "d", 0.8, "stopped before the last step"),
}
"""Colour, marker at the end, width, and label of the curves of each state."""


def curves(study: Study, objective: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the values of an objective with steps at its steps, a line for each design.

    Args:
        study: The study.
        objective: One with steps; the first one by default.
        ax: Where to draw.
    """
    ax, found = ax or style.new_axes(), {one.axis.name: one for one in curves_view(study).objectives}
    if objective is not None and objective not in found:
        raise unknown_name("objective with steps", objective, found)
    if not found:
        style.message(ax, "no objective has steps")
        return ax
    view = found[objective] if objective is not None else next(iter(found.values()))
    if not any(curve.points for curve in view.curves):
        style.message(ax, "no value at a step is known yet")
    for stop in view.stops:
        ax.axvline(stop, color=OTHER, linestyle=":", linewidth=0.6, alpha=0.6, zorder=0)
    _draw(ax, view, {row.design for row in study.front()})
    ax.set_xlim(0.0, 1.03 * view.stops[-1])
    ax.set_xlabel("step (dotted: where a training may stop)")
    style.set_whole(ax, "x")
    values = [value for curve in view.curves for _, value in curve.points]
    style.scale(ax, "y", values, log=view.axis.log, whole=view.axis.whole)
    ax.set_ylabel(style.objective_label(view.axis))
    style.legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.3)
    if len(view.curves) < view.in_all:
        style.note(ax, f"the latest {len(view.curves):,} of {view.in_all:,} designs")
    return ax


def _draw(ax: Axes, view: ObjectiveCurves, confirmed: Collection[Design]) -> None:
    """Draw the curves, those that were stopped first and those of the confirmed front last."""
    order = list(LOOKS)
    counts = {state: sum(curve.state == state for curve in view.curves) for state in order}
    for state in reversed(order):
        label = f"{LOOKS[state][-1]}: {counts[state]:,}"
        for curve in (one for one in view.curves if one.state == state and one.points):
            _draw_one(ax, curve, label if curve.design not in confirmed else "", is_front=curve.design in confirmed)


def _draw_one(ax: Axes, curve: Curve, label: str, *, is_front: bool) -> None:
    colour, marker, width, _ = LOOKS[curve.state]
    x, y = zip(*curve.points, strict=True)
    ax.plot(
        x,
        y,
        color=INK if is_front else colour,
        linewidth=1.9 if is_front else width,
        alpha=0.9,
        marker=marker,
        markevery=[len(x) - 1],
        markersize=5.0 if curve.state == "complete" else 4.0,
        zorder=4 if is_front else 3 if curve.state == "complete" else 2,
        label="on the confirmed front" if is_front else label,
    )
    if curve.state == "running" and curve.stop > x[-1]:
        ax.plot([x[-1], curve.stop], [y[-1]] * 2, color=colour, linestyle=":", linewidth=1.0)
