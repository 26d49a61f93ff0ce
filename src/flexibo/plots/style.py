"""How the pictures look: colours and markers, texts that matplotlib takes as they are, new figures, scales.

Nothing is told apart by colour alone: markers, fillings, line styles and hatches differ too, so that pictures can be
read in black and white. The colours are those of Okabe and Ito, which colour-blind people tell apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from flexibo.errors import missing_extra
from flexibo.views import Axis
from flexibo.words import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, REGION, PREDICTED, DOUBTFUL, OTHER = "#000000", "#56B4E9", "#D55E00", "#CC79A7", "#7F7F7F"
SIZE = (7.0, 4.6)
LONGEST = 40
"""Names are shown up to this length."""
MOST_TICKS = 5
PLAIN_UP_TO = 100.0
"""A logarithmic scale that spans less than this has plain numbers rather than powers of ten."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a kind of design is drawn: its marker, colour, whether it is hollow, its size, and its name in the legend."""

    marker: str
    colour: str
    hollow: bool
    size: float
    label: str


LOOKS = {
    "front-measured": Look("o", INK, False, 6.5, "front, measured"),
    "front-half": Look("D", PREDICTED, True, 6.5, "front, partly predicted"),
    "front-unsure": Look("s", DOUBTFUL, True, 6.5, "front, perhaps not feasible"),
    "front-violating": Look("X", OTHER, False, 8.0, "violates a constraint"),
    "measured": Look("o", OTHER, False, 3.6, "measured, dominated"),
    "half": Look("d", OTHER, True, 4.2, "partly predicted, dominated"),
    "violating": Look("x", OTHER, False, 4.2, "not feasible"),
}
"""How each kind of design is drawn, the most important first."""

SERIES = (
    ("#0072B2", "-", "o", "//"),
    ("#D55E00", "--", "s", "\\\\"),
    ("#009E73", "-.", "^", "xx"),
    ("#CC79A7", ":", "D", ".."),
    ("#000000", (0, (5, 1, 1, 1, 1, 1)), "v", "++"),
    ("#E69F00", (0, (8, 3)), "P", "oo"),
)
"""Colour, line style, marker and hatch of one objective after the other."""


def series(index: int) -> tuple[str, Any, str, str]:
    """The look of the so-manieth objective, from 0."""
    return SERIES[index % len(SERIES)]


def text(given: object, *, longest: int = LONGEST) -> str:
    r"""A text that matplotlib shows as it is: on one line, not too long, no dollar sign begins a formula.

    >>> text("$x_{a}$"), text("a" * 50, longest=5)
    ('\\$x_{a}\\$', 'aaaa…')
    """
    shown = one_line(given)
    shown = shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
    # A legend leaves out what begins with an underscore.
    return (f" {shown}" if shown.startswith("_") else shown).replace("$", r"\$")


def objective_label(axis: Axis) -> str:
    """The name of an objective with its unit and what is better."""
    better = "lower is better" if axis.direction == "min" else "higher is better"
    return f"{text(axis.label)} ({better if axis.optimise else 'constraint'})"


def bound_label(axis: Axis) -> str:
    """The bound of a constraint in words."""
    return f"{text(axis.name)} {axis.bound_side} {axis.bound:g}"


def new_figure(size: tuple[float, float] = SIZE) -> Figure:
    """A new figure that belongs to no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("matplotlib", "plot") from None
    return Figure(figsize=size, layout="constrained")


def new_axes(size: tuple[float, float] = SIZE) -> Axes:
    """Axes in a new figure."""
    return new_figure(size).add_subplot()


def marker_style(look: Look) -> dict[str, Any]:
    """The arguments of `plot` and `errorbar` that make markers of a look."""
    return {
        "marker": look.marker,
        "color": look.colour,
        "markerfacecolor": "white" if look.hollow else look.colour,
        "markersize": look.size,
        "markeredgewidth": 1.3 if look.size > 5 else 0.9,
        "linestyle": "none",
    }


def scale(ax: Axes, side: Literal["x", "y"], values: Sequence[float], *, log: bool) -> None:
    """Let a side show these values with a margin, on a logarithmic scale if that is asked for."""
    if not values:
        return
    low, high = min(values), max(values)
    set_limits = ax.set_xlim if side == "x" else ax.set_ylim
    if log and low > 0:
        set_log(ax, side, low, high)
        set_limits(low / 1.25, high * 1.25)
    else:
        margin = 0.06 * ((high - low) or abs(high) or 1.0)
        set_limits(low - margin, high + margin)


def set_log(ax: Axes, side: Literal["x", "y"], low: float, high: float) -> None:
    """Make a side logarithmic; a short one gets plain numbers, where powers of ten are too few."""
    (ax.set_xscale if side == "x" else ax.set_yscale)("log", nonpositive="clip")
    if high >= PLAIN_UP_TO * low:
        return
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis = ax.xaxis if side == "x" else ax.yaxis
    axis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def legend_entries(*axes: Axes) -> dict[str, Any]:
    """What the legend of some axes says, by label: designs first, in the order of `LOOKS`, then all else."""
    found = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    rank = {look.label: place for place, look in enumerate(LOOKS.values())}
    return {label: found[label] for label in sorted(found, key=lambda label: rank.get(label, len(rank)))}


def legend(ax: Axes, *, last: str = "", **place: Any) -> None:
    """Give axes a legend, if there is anything to say; one label may be the last."""
    entries = legend_entries(ax)
    if last in entries:
        entries[last] = entries.pop(last)
    if entries:
        box = {"framealpha": 0.85, "edgecolor": "none", "fontsize": "small"} | place
        ax.legend(list(entries.values()), list(entries), **box)


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers on a logarithmic scale from low to high: up to three per power of ten, if they are few.

    >>> log_ticks(2.0, 40.0), log_ticks(0.5, 200.0), log_ticks(1.2, 1.6)
    ([2.0, 5.0, 10.0, 20.0], [1.0, 3.0, 10.0, 30.0, 100.0], [1.2, 1.6])
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for parts in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        ticks = [part * 10.0**decade for decade in decades for part in parts if low <= part * 10.0**decade <= high]
        if 1 < len(ticks) <= MOST_TICKS:
            return ticks
    return ticks if len(ticks) > 1 else [low, high]


def say(ax: Axes, words: str) -> None:
    """Write into the middle of axes that have nothing to show."""
    ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color=OTHER, wrap=True)


def note(ax: Axes, words: str) -> None:
    """Write a remark below axes, small."""
    ax.annotate(
        words,
        (1.0, 0.0),
        xycoords="axes fraction",
        xytext=(0, -34),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize="x-small",
        color=OTHER,
    )
