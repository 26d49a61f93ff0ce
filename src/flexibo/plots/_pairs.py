"""The front of three or more objectives, two at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexibo._internal.arrays import AnyArray
from flexibo.plots import style
from flexibo.plots._front import draw_bounds, draw_points
from flexibo.study import Study
from flexibo.views import front_view

PANEL = 2.7
"""The size of a panel in inches."""


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
