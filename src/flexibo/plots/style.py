"""The style of the pictures: colours and markers, labels that matplotlib shows literally, figures, scales, legends.

Nothing is distinguished by colour alone: markers, fillings, line styles and hatches differ too, so that pictures can be
read in black and white. The colours are those of Okabe and Ito, which colour-blind people can distinguish.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from flexibo._internal.text import printable_line
from flexibo.errors import missing_extra
from flexibo.views import Axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, REGION, PREDICTED, DOUBTFUL, OTHER = "#000000", "#56B4E9", "#D55E00", "#CC79A7", "#7F7F7F"
FAILED = "#B22222"
SIZE = (7.0, 4.6)
LONGEST = 40  # longer names are shortened
MOST_TICKS = 5
PLAIN_UP_TO = 100.0  # a logarithmic scale that spans less than this factor has plain numbers rather than powers of ten
MARGIN = 0.08  # the margin of an axis beyond its values, as a share of their range: markers at the ends are not cut
NEAR = 0.8  # error bars and bounds are shown up to this far beyond the values, as a share of their range
SAME = 1e-6  # if values differ by less than this share, the axis shows differences from one of them


@dataclass(frozen=True, slots=True)
class MarkerStyle:
    """The style of a kind of design: marker, colour, whether it is hollow, size, and label in the legend."""

    marker: str
    colour: str
    hollow: bool
    size: float
    label: str


LOOKS = {
    "front-confirmed": MarkerStyle("o", INK, False, 6.5, "confirmed"),
    "front-promising": MarkerStyle("D", PREDICTED, True, 6.5, "promising, not measured yet"),
    "front-unsure": MarkerStyle("s", DOUBTFUL, True, 6.5, "promising, perhaps not feasible"),
    "front-violating": MarkerStyle("X", OTHER, False, 8.0, "front, violates a constraint"),
    "measured": MarkerStyle("o", OTHER, False, 3.6, "measured, dominated"),
    "half": MarkerStyle("d", OTHER, True, 4.2, "partly predicted, not promising"),
    "violating": MarkerStyle("x", OTHER, False, 4.2, "violates a constraint"),
    "failed": MarkerStyle("x", FAILED, False, 6.0, "failed, partly predicted"),
}
"""The style of each kind of design, the most important first; the scripts for browsers use the same labels."""
KNEE: dict[str, Any] = {"marker": "o", "linestyle": "none", "color": INK, "fillstyle": "none", "markersize": 12.0}
"""The ring around the knee of the front."""

SERIES = (
    ("#0072B2", "-", "o", "//"),
    ("#D55E00", "--", "s", "\\\\"),
    ("#009E73", "-.", "^", "xx"),
    ("#CC79A7", ":", "D", ".."),
    ("#000000", (0, (5, 1, 1, 1, 1, 1)), "v", "++"),
    ("#E69F00", (0, (8, 3)), "P", "oo"),
)
"""Colour, line style, marker and hatch of the objectives, in order."""


def series(index: int) -> tuple[str, Any, str, str]:
    """Colour, line style, marker and hatch of the objective with this index."""
    return SERIES[index % len(SERIES)]


def text(given: object, *, longest: int = LONGEST) -> str:
    r"""A text that matplotlib shows literally: on one line, shortened, with no dollar sign that starts a formula.

    >>> text("$x_{a}$"), text("a" * 50, longest=5)
    ('\\$x_{a}\\$', 'aaaa…')
    """
    shown = printable_line(given)
    shown = shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
    # Matplotlib leaves labels that start with an underscore out of the legend.
    return (f" {shown}" if shown.startswith("_") else shown).replace("$", r"\$")


def objective_label(axis: Axis) -> str:
    """The name of an objective with its unit and which direction is better."""
    better = "lower is better" if axis.direction == "min" else "higher is better"
    return f"{text(axis.label)} ({better if axis.optimise else 'constraint'})"


def bound_label(axis: Axis) -> str:
    """The bound of a constraint in words."""
    return f"{text(axis.name)} {text(axis.bound_words)}"


def new_figure(size: tuple[float, float] = SIZE) -> Figure:
    """A new figure without a window."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("matplotlib", "plot") from None
    return Figure(figsize=size, layout="constrained")


def new_axes(size: tuple[float, float] = SIZE) -> Axes:
    """Axes in a new figure."""
    return new_figure(size).add_subplot()


def marker_style(look: MarkerStyle) -> dict[str, Any]:
    """The arguments of `plot` and `errorbar` that draw markers in a style."""
    return {
        "marker": look.marker,
        "color": look.colour,
        "markerfacecolor": "white" if look.hollow else look.colour,
        "markersize": look.size,
        "markeredgewidth": 1.3 if look.size > 5 else 0.9,
        "linestyle": "none",
    }


def scale(
    ax: Axes,
    side: Literal["x", "y"],
    values: Sequence[float],
    *,
    log: bool,
    whole: bool = False,
    bars: Sequence[tuple[float, float]] = (),
    others: Sequence[float] = (),
) -> None:
    """Set the limits of an axis so that it shows these values with a margin.

    Positive values get a logarithmic scale if `log`, and `whole` ones only whole numbers as ticks. The ends of error
    bars are shown unless they are very long, other values if they are near.
    """
    if not values:
        return
    low, high = min(values), max(values)
    is_log = log and low > 0
    if is_log:
        set_log(ax, side, low, high)
    else:
        _set_offset(ax, side, is_whole=(high - low) >= SAME * max(abs(low), abs(high)))
        if whole:
            set_whole(ax, side)
    first, last = _extent([_place(v, log=is_log) for v in (low, high)], bars, others, log=is_log)
    margin = MARGIN * ((last - first) or (0.1 if is_log else abs(last) or 1.0))
    ends = (first - margin, last + margin)
    (ax.set_xlim if side == "x" else ax.set_ylim)(*(10.0**end if is_log else end for end in ends))


def set_whole(ax: Axes, side: Literal["x", "y"]) -> None:
    """Put the ticks of an axis at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    (ax.xaxis if side == "x" else ax.yaxis).set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))


def numbers(ax: Axes, places: Sequence[tuple[float, float, int]]) -> None:
    """Write numbers beside points (x, y, number) of axes whose limits are set; not where one would cover another."""
    taken: list[tuple[float, float]] = []
    points_per_pixel = 72.0 / ax.figure.dpi
    for x, y, number in places:
        left, bottom = (float(end) * points_per_pixel for end in ax.transData.transform((x, y)))
        if any(
            abs(left - other) < 5.0 * len(str(number)) + 2.0 and abs(bottom - height) < 8.0 for other, height in taken
        ):
            continue
        taken.append((left, bottom))
        ax.annotate(
            str(number),
            (x, y),
            xytext=(4, 3),
            textcoords="offset points",
            fontsize=7,
            color="0.25",
            zorder=6,
            annotation_clip=True,
        )


def _set_offset(ax: Axes, side: Literal["x", "y"], *, is_whole: bool) -> None:
    """Write numbers in full, not as differences; axes with another formatter are left alone."""
    formatter: Any = (ax.xaxis if side == "x" else ax.yaxis).get_major_formatter()
    if hasattr(formatter, "set_useOffset"):
        formatter.set_useOffset(not is_whole)


def _extent(
    ends: Sequence[float], bars: Sequence[tuple[float, float]], others: Sequence[float], *, log: bool
) -> tuple[float, float]:
    """The ends of an axis: its values, and error bars and other values that are near."""
    first, last = ends
    least, most = first - NEAR * (last - first), last + NEAR * (last - first)
    near = [place for other in others if least <= (place := _place(other, log=log)) <= most]
    lows, highs = ([_place(bar[end], log=log) for bar in bars] for end in (0, 1))
    return max(least, min([first, *lows, *near])), min(most, max([last, *highs, *near]))


def _place(value: float, *, log: bool) -> float:
    """The position of a value on a scale."""
    if not log:
        return value
    return math.log10(value) if value > 0 else -math.inf


def set_log(ax: Axes, side: Literal["x", "y"], low: float, high: float) -> None:
    """Make an axis logarithmic; a short one gets plain numbers, because it has too few powers of ten."""
    (ax.set_xscale if side == "x" else ax.set_yscale)("log", nonpositive="clip")
    if high >= PLAIN_UP_TO * low:
        return
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis = ax.xaxis if side == "x" else ax.yaxis
    axis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def legend_entries(*axes: Axes) -> dict[str, Any]:
    """The legend entries of some axes, by label: designs first, in the order of `LOOKS`, then the others."""
    found = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    rank = {look.label: place for place, look in enumerate(LOOKS.values())}
    return {label: found[label] for label in sorted(found, key=lambda label: rank.get(label, len(rank)))}


def legend(ax: Axes, *, last: str = "", **place: Any) -> None:
    """Add a legend if there are entries; the label `last` comes last."""
    entries = legend_entries(ax)
    if last in entries:
        entries[last] = entries.pop(last)
    if entries:
        box = {"framealpha": 0.85, "edgecolor": "none", "fontsize": "small"} | place
        ax.legend(list(entries.values()), list(entries), **box)


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers on a logarithmic scale from low to high: one to three per power of ten.

    >>> log_ticks(2.0, 40.0), log_ticks(0.5, 200.0), log_ticks(1.2, 1.6)
    ([2.0, 5.0, 10.0, 20.0], [1.0, 3.0, 10.0, 30.0, 100.0], [1.2, 1.6])
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for parts in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        ticks = [part * 10.0**decade for decade in decades for part in parts if low <= part * 10.0**decade <= high]
        if 1 < len(ticks) <= MOST_TICKS:
            return ticks
    return ticks if len(ticks) > 1 else [low, high]


def message(ax: Axes, words: str) -> None:
    """Write a message in the middle of empty axes."""
    ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color=OTHER, wrap=True)


def note(ax: Axes, words: str) -> None:
    """Write a small remark below the axes."""
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
