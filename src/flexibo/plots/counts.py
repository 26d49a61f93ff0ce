"""How often each objective was measured against cost: the paper's figure of how resources are used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flexibo.plots import style
from flexibo.plots._trace import cost_axis
from flexibo.study import Study
from flexibo.views import trace_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def evaluations(study: Study, ax: Axes | None = None) -> Axes:
    """Draw how many values of each objective there were, against cost.

    Args:
        study: A study; nothing need be measured yet.
        ax: Where to draw; a new figure by default.
    """
    ax = ax or style.new_axes()
    view = trace_view(study)
    spent = view.rows["spent"]
    for index, name in enumerate(view.objectives):
        colour, line, marker, _ = style.series(index)
        counts = view.evaluations[name]
        if not spent or not counts[-1]:
            continue
        label = f"{style.text(name)}: {counts[-1]:,}"
        ax.step([0.0, *spent], [0, *counts], where="post", color=colour, linestyle=line, linewidth=1.7, label=label)
        ax.plot([spent[-1]], [counts[-1]], marker, color=colour, markersize=6, clip_on=False, zorder=5)
    if not spent:
        style.say(ax, "nothing measured yet")
    from matplotlib.ticker import MaxNLocator

    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylabel("evaluations [number]")
    cost_axis(ax, view)
    ax.set_ylim(bottom=0.0)
    return ax
