"""What each choice was expected to bring per cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flexibo.methods import ScoringMethod
from flexibo.plots import style
from flexibo.plots._trace import cost_axis
from flexibo.study import Study
from flexibo.views import trace_view
from flexibo.views.axes import COST_UNIT, is_wide

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def gains(study: Study, ax: Axes | None = None) -> Axes:
    """Draw the gain per expected cost of each evaluation that was chosen, against what was spent.

    Args:
        study: A study; nothing need be measured yet.
        ax: Where to draw; a new figure by default.
    """
    ax = ax or style.new_axes()
    view = trace_view(study)
    columns = (view.rows[name] for name in ("spent", "gain_per_cost", "objective"))
    rows = [row for row in zip(*columns, strict=True) if row[1] is not None]
    for index, name in enumerate(view.objectives):
        mine = [row[:2] for row in rows if row[2] == name]
        if mine:
            colour, _, marker, _ = style.series(index)
            x, y = zip(*mine, strict=True)
            hollow = "white" if index % 2 else colour
            ax.plot(x, y, marker, color=colour, markerfacecolor=hollow, markersize=4.5, label=style.text(name))
    values = [row[1] for row in rows]
    if rows:
        positive = [value for value in values if value > 0]
        log = is_wide(positive) and len(positive) > 0.9 * len(values)
        style.scale(ax, "y", positive if log else values, log=log)
    else:
        style.say(ax, "no evaluation was chosen by its gain yet")
    has_region = isinstance(study.method, ScoringMethod) and study.method.region
    unit = (style.text(view.volume_unit) or "1") if has_region else "score"
    ax.set_ylabel(f"gain per cost [{unit} / {COST_UNIT}]")
    cost_axis(ax, view)
    return ax
