"""How much each option matters to each objective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flexibo.plots import style
from flexibo.study import Study
from flexibo.views import Axis, ImportanceView, importance_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOGETHER = "together with others"
MOST = 15
"""So many options are shown, those that matter most."""


def importance(study: Study, ax: Axes | None = None) -> Axes:
    """Draw how much of each objective's variance each option explains, as far as its surrogate knows.

    The filled bar is what the option explains alone, the outlined rest what it explains together with others.

    Args:
        study: A study; nothing need be measured yet.
        ax: Where to draw; a new figure by default.
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
        style.say(ax, "no objective is known well enough yet")
        return ax
    style.legend(ax, loc="lower right", last=TOGETHER)
    if len(options) < len(view.options):
        style.note(ax, f"{len(view.options) - len(options)} options that matter less are left out")
    return ax


def _draw_bars(ax: Axes, view: ImportanceView, known: Sequence[Axis], options: Sequence[str]) -> None:
    """Draw a bar for every option and objective: the total as an outline, the main effect filled."""
    height = 0.8 / max(1, len(known))
    thickness = 0.92 * height
    for index, axis in enumerate(known):
        colour, _, _, hatch = style.series(view.axes.index(axis))
        at = np.arange(len(options)) + (index - (len(known) - 1) / 2.0) * height
        main, total = ([100.0 * (part[axis.name][name] or 0.0) for name in options] for part in (view.main, view.total))
        ax.barh(at, total, thickness, facecolor="white", edgecolor=colour, linewidth=0.9)
        label = style.text(axis.name)
        ax.barh(at, main, thickness, facecolor=colour, edgecolor="white", hatch=hatch, linewidth=0, label=label)
    # Nothing but an entry of the legend.
    ax.barh([0.0], [0.0], facecolor="white", edgecolor=style.OTHER, linewidth=0.9, label=TOGETHER)


def ranked(view: ImportanceView) -> list[str]:
    """The options, those first that matter most to any objective."""

    def greatest(name: str) -> float:
        return max(shares[name] or 0.0 for shares in view.total.values())

    return sorted(view.options, key=greatest, reverse=True)
