"""How the paper's experiments are drawn: colours and markers of the methods, empty figures, labels with units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from flexibo.errors import missing_extra
from flexibo.objectives import Objective

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, told apart by colour-blind people; the markers differ for print in black and white.
STYLES: dict[str, tuple[str, str]] = {
    "flexibo-gp-log": ("#D55E00", "o"),
    "flexibo-gp-ratio": ("#0072B2", "s"),
    "flexibo-gp-constant": ("#009E73", "^"),
    "flexibo-rf-log": ("#0072B2", "D"),
    "pesmo": ("#0072B2", "s"),
    "pesmo-dec": ("#56B4E9", "D"),
    "pal": ("#009E73", "^"),
    "parego": ("#CC79A7", "v"),
    "smsego": ("#E69F00", "P"),
    "ca-mobo": ("#8C7A00", "X"),
    "flexibo": ("#000000", "*"),
}
INK, FAINT, TARGET = "#000000", "#999999", "#F0E442"
PANEL = (3.6, 2.7)
"""Inches of one panel."""


def panels(rows: int, columns: int, *, panel: tuple[float, float] = PANEL) -> tuple[Figure, list[list[Axes]]]:
    """An empty figure with a grid of axes (extra ``plot``)."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("matplotlib", "plot") from None
    figure = Figure(figsize=(panel[0] * columns, panel[1] * rows + 0.5), layout="constrained")
    grid: Any = figure.subplots(rows, columns, squeeze=False)
    for ax in grid.ravel():
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize="small")
    return figure, grid.tolist()


def legend_below(figure: Figure, ax: Axes) -> None:
    """One legend for all panels, under them, as wide as the figure allows."""
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        columns = max(1, min(len(handles), 5, int(figure.get_figwidth() / 1.9)))
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")


def label(objective: Objective) -> str:
    """An objective with its unit, as an axis is labelled.

    >>> label(Objective("error_percent", unit="%"))
    'error (%)'
    """
    unit = objective.unit or "no unit"
    words = objective.name.split("_")
    if words[-1] in ("percent", "millijoules", "joules", "seconds", unit):
        words = words[:-1] or words
    return f"{' '.join(words)} ({unit})"


def wide(values: Sequence[float]) -> bool:
    """Whether positive values span so much that a logarithmic scale shows them better."""
    finite = np.array([value for value in values if np.isfinite(value)])
    return bool(len(finite) and finite.min() > 0 and finite.max() / finite.min() > 15.0)


def log_scale(ax: Axes, which: Literal["x", "y"]) -> None:
    """Make the x or y axis logarithmic, with a few plain numbers on it; what it shows is drawn before."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    axis: Any = ax.xaxis if which == "x" else ax.yaxis
    low, high = ax.get_xlim() if which == "x" else ax.get_ylim()
    decades = np.log10(high / low)
    if decades < 0.6:
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2 else (1.0,), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}" if value < 1e3 else f"{value:,.0f}"))
    axis.set_minor_formatter(NullFormatter())
