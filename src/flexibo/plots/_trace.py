"""Pictures against cost: hypervolume, volume of the Pareto region, evaluations, and gain per cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flexibo.methods import ScoringMethod
from flexibo.plots import style
from flexibo.plots.style import INK, OTHER
from flexibo.study import Study
from flexibo.views import TraceView, trace_view
from flexibo.views.axes import is_wide, labelled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def hypervolume(study: Study, ax: Axes | None = None) -> Axes:
    """Draw the hypervolume of the feasible designs that were measured in every objective, against cost."""
    ax, view = ax or style.new_axes(), trace_view(study)
    spent, volumes, known = view.rows["spent"], view.rows["hypervolume"], view.known_hypervolume
    if any(volumes):
        ax.step([0.0, *spent], [known, *volumes], where="post", color=INK, linewidth=1.6)
    if known:
        label = f"{view.known_results:,} known result{'' if view.known_results == 1 else 's'}"
        ax.plot([0.0], [known], "o", color=INK, markersize=5, clip_on=False, label=label)
    if known or any(volumes):
        ax.set_ylim(bottom=0.0)
    else:
        style.message(ax, "no design is measured in every objective yet")
    ax.set_ylabel(labelled("hypervolume", style.text(view.volume_unit)))
    _set_cost_axis(ax, view)
    return ax


def region(study: Study, ax: Axes | None = None) -> Axes:
    """Draw the volume of the Pareto region when each evaluation was asked, against the cost spent by then."""
    ax, view = ax or style.new_axes(), trace_view(study)
    columns = (view.rows[name] for name in ("spent", "cost", "region_volume", "rise"))
    known = sorted(
        (spent - cost, volume, bool(rise))
        for spent, cost, volume, rise in zip(*columns, strict=True)
        if volume is not None
    )
    if known:
        x, y, _ = zip(*known, strict=True)
        rises = [place[:2] for place in known if place[2]]
        if rises:
            label = "grew: wider predictions or reference, a failure or new results"
            ax.plot(
                *zip(*rises, strict=True), "^", color=style.LOOKS["front-promising"].colour, markersize=5, label=label
            )
        ax.step(x, y, where="post", color=INK, linewidth=1.6)
        style.scale(ax, "y", y, log=is_wide(y))
    else:
        style.message(ax, "no evaluation was chosen by the Pareto region yet")
    ax.set_ylabel(labelled("volume of the Pareto region", style.text(view.volume_unit)))
    _set_cost_axis(ax, view)
    return ax


def evaluations(study: Study, ax: Axes | None = None) -> Axes:
    """Draw the number of values of each objective, against cost: the paper's figure of resource utilisation."""
    from matplotlib.ticker import MaxNLocator

    ax, view = ax or style.new_axes(), trace_view(study)
    spent = view.rows["spent"]
    for index, name in enumerate(view.objectives):
        colour, line, marker, _ = style.series(index)
        counts = view.evaluations[name]
        if not spent or not counts[-1]:
            continue
        label = f"{style.text(name)}: {counts[-1]:,}"
        ax.step([0.0, *spent], [0, *counts], where="post", color=colour, linestyle=line, linewidth=1.7, label=label)
        ax.plot([spent[-1]], [counts[-1]], marker, color=colour, markersize=6, clip_on=False, zorder=5)
        _mark_failures(ax, view, name, counts)
    if not spent:
        style.message(ax, "no measurements yet")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylabel("number of evaluations")
    _set_cost_axis(ax, view)
    ax.set_ylim(bottom=0.0)
    return ax


def gains(study: Study, ax: Axes | None = None) -> Axes:
    """Draw the gain per expected cost of each evaluation that was chosen, against cost."""
    ax, view = ax or style.new_axes(), trace_view(study)
    columns = (view.rows[name] for name in ("spent", "gain_per_cost", "objective"))
    rows = [row for row in zip(*columns, strict=True) if row[1] is not None]
    for index, name in enumerate(view.objectives):
        mine = [row[:2] for row in rows if row[2] == name]
        if mine:
            colour, _, marker, _ = style.series(index)
            x, y = zip(*mine, strict=True)
            face = "white" if index % 2 else colour
            ax.plot(x, y, marker, color=colour, markerfacecolor=face, markersize=4.5, label=style.text(name))
        _mark_failures(ax, view, name, view.rows["gain_per_cost"])
    if rows:
        values = [row[1] for row in rows]
        positive = [value for value in values if value > 0]
        log = is_wide(positive) and len(positive) > 0.9 * len(values)
        style.scale(ax, "y", positive if log else values, log=log)
    else:
        style.message(ax, "no evaluation was chosen by its gain yet")
    has_region = isinstance(study.method, ScoringMethod) and study.method.region
    unit = (style.text(view.volume_unit) or "1") if has_region else "score"
    ax.set_ylabel(f"gain per cost [{unit} / {study.history.cost_unit or 'unit of cost'}]")
    _set_cost_axis(ax, view)
    return ax


def _mark_failures(ax: Axes, view: TraceView, name: str, heights: Sequence[float | None]) -> None:
    """Mark the attempts at an objective that failed, at these heights."""
    columns = (view.rows[column] for column in ("spent", "objective", "failed"))
    rows = zip(*columns, heights, strict=True)
    places = [(spent, y) for spent, objective, failed, y in rows if failed and objective == name and y is not None]
    if places:
        x, y = zip(*places, strict=True)
        ax.plot(x, y, "x", color=style.FAILED, markersize=7, zorder=6, label="failed attempt")


def _set_cost_axis(ax: Axes, view: TraceView) -> None:
    """Label the horizontal axis with cost, mark the end of the initial designs, and the budget if it is near."""
    ax.set_xlabel(view.cost_label)
    spent = view.rows["spent"]
    last = spent[-1] if spent else 0.0
    initial = [cost for cost, first in zip(spent, view.rows["initial"], strict=True) if first]
    if initial and initial[-1] < last:
        ax.axvline(initial[-1], color=OTHER, linestyle=":", linewidth=1.2, label="end of the initial designs")
    right = last
    if view.budget is not None and 0 < view.budget <= 1.5 * last:
        ax.axvline(view.budget, color=OTHER, linestyle="--", linewidth=1.2, label="budget")
        right = max(last, view.budget)
    ax.set_xlim(0.0, right * 1.03 or 1.0)
    style.legend(ax)
