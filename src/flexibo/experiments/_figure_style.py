"""The style of the experiments' figures: colours and markers of methods, empty figures, labels with units."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from flexibo.errors import missing_extra
from flexibo.objectives import Objective

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, which colour-blind people can distinguish; the markers differ for print in black and white.
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


def legend_below(figure: Figure, ax: Axes, *, more: Sequence[Any] = ()) -> None:
    """One legend below all panels, as wide as the figure allows; `more` are handles with labels."""
    handles = [*ax.get_legend_handles_labels()[0], *more]
    if handles:
        lengths = [len(handle.get_label()) for handle in handles]
        fitting = [n for n in range(1, min(len(handles), 5) + 1) if _inches(lengths, n) <= figure.get_figwidth()]
        columns = max(fitting, default=1)
        figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")


def _inches(lengths: Sequence[int], columns: int) -> float:
    """The approximate width of a legend with labels of these lengths in a number of columns."""
    return float(sum(0.55 + 0.058 * part.max() for part in np.array_split(np.array(lengths), columns)))


def caption(figure: Figure, text: str) -> None:
    """Write a caption above the panels."""
    figure.suptitle(fill(text, int(figure.get_figwidth() / 0.065)), fontsize="small", color="#444444")


def label(objective: Objective) -> str:
    """The axis label of an objective, with its unit.

    >>> label(Objective("error_percent", unit="%"))
    'error (%)'
    """
    unit = objective.unit or "no unit"
    words = objective.name.split("_")
    if words[-1] in ("percent", "millijoules", "joules", "seconds", unit):
        words = words[:-1] or words
    return f"{' '.join(words)} ({unit})"


def plain(value: float, _: object = None) -> str:
    """A number on an axis, without powers of ten.

    >>> plain(0.05), plain(30000.0)
    ('0.05', '30,000')
    """
    return f"{value:,.4g}" if value < 1e3 else f"{value:,.0f}"


def log_scale(ax: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with a few plain numbers; call it after drawing."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    axis: Any = ax.xaxis if which == "x" else ax.yaxis
    low, high = ax.get_xlim() if which == "x" else ax.get_ylim()
    decades = np.log10(high / low)
    if decades < 0.6:
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2 else (1.0,), numticks=8))
    axis.set_major_formatter(plain)
    axis.set_minor_formatter(NullFormatter())
