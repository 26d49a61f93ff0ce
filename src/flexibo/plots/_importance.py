"""The importance of each option for each objective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flexibo.plots import style
from flexibo.study import Study
from flexibo.views import Axis, ImportanceView, importance_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INTERACTIONS = "with interactions"
MOST = 15
"""The maximum number of options shown, the most important ones."""


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
