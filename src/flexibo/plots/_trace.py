"""What was attained and what is still unsure against cost: hypervolume, and volume of the Pareto region."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flexibo.plots import style
from flexibo.plots.style import INK, OTHER
from flexibo.study import Study
from flexibo.views import TraceView, trace_view
from flexibo.views.axes import is_wide, labelled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def hypervolume(study: Study, ax: Axes | None = None) -> Axes:
    """Draw the hypervolume of the feasible designs that were measured in every objective, against cost.

    Args:
        study: A study; nothing need be measured yet.
        ax: Where to draw; a new figure by default.
    """
    ax = ax or style.new_axes()
    view = trace_view(study)
    spent, volumes = view.rows["spent"], view.rows["hypervolume"]
    if any(volumes):
        ax.step([0.0, *spent], [0.0, *volumes], where="post", color=INK, linewidth=1.6)
        ax.set_ylim(bottom=0.0)
    else:
        style.say(ax, "no design is measured in every objective yet")
    ax.set_ylabel(labelled("hypervolume", style.text(view.volume_unit)))
    cost_axis(ax, view)
    return ax


def region(study: Study, ax: Axes | None = None) -> Axes:
    """Draw the volume of the Pareto region when each evaluation was asked, against what was spent by then.

    Args:
        study: A study; nothing need be measured yet.
        ax: Where to draw; a new figure by default.
    """
    ax = ax or style.new_axes()
    view = trace_view(study)
    rows = zip(view.rows["spent"], view.rows["cost"], view.rows["region_volume"], strict=True)
    known = sorted((spent - cost, volume) for spent, cost, volume in rows if volume is not None)
    if known:
        x, y = zip(*known, strict=True)
        ax.step(x, y, where="post", color=INK, linewidth=1.6)
        style.scale(ax, "y", y, log=is_wide(y))
    else:
        style.say(ax, "no evaluation was chosen by the Pareto region yet")
    ax.set_ylabel(labelled("volume of the Pareto region", style.text(view.volume_unit)))
    cost_axis(ax, view)
    return ax


def cost_axis(ax: Axes, view: TraceView) -> None:
    """Let the lower side show what was spent, where the initial designs end, and the budget if it is near."""
    ax.set_xlabel(view.cost_label)
    spent = view.rows["spent"]
    last = spent[-1] if spent else 0.0
    initial = [cost for cost, first in zip(spent, view.rows["initial"], strict=True) if first]
    if initial and initial[-1] < last:
        ax.axvline(initial[-1], color=OTHER, linestyle=":", linewidth=1.2, label="initial designs end")
    near = view.budget is not None and 0 < view.budget <= 1.5 * last
    if near and view.budget is not None:
        ax.axvline(view.budget, color=OTHER, linestyle="--", linewidth=1.2, label="budget")
    right = max(last, view.budget if near and view.budget is not None else 0.0)
    ax.set_xlim(0.0, right * 1.03 or 1.0)
    style.legend(ax)
