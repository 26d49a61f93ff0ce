"""Panels: error against cost, fronts, and bars, as pieces of SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.page.axes import LETTER, Frame, Scale, spanning
from flexibo.compare.page.facts import ProblemFacts
from flexibo.compare.page.looks import Look, markers
from flexibo.compare.page.outcomes import Outcome
from flexibo.compare.page.text import escaped, shortened, shown, shown_error

FLOOR = 1e-3
"""Errors below this are drawn here: an error of 0 has no place on a logarithmic axis, and less does not matter."""

WIDE = 30.0
"""Values that span more than this factor are drawn on a logarithmic axis."""

MOST_DRAWN = 250
"""How many designs of the true front are drawn at most."""

LEFT, RIGHT, TOP, BOTTOM = 58.0, 20.0, 34.0, 48.0
ROW, NAMES = 21.0, 162.0
"""How high a row of bars is, and how much room the names beside them have."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A piece of SVG and its size.

    Attributes:
        body: What is drawn.
        width: In pixels.
        height: In pixels.
        label: What it shows, for those who cannot see it.
        data: What the page's script must know to name what is under the pointer.
    """

    body: str
    width: float
    height: float
    label: str
    data: str = ""

    def svg(self) -> str:
        """The panel as an element of a page."""
        return (
            f'<svg class="plot" viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
            f'aria-label="{escaped(self.label)}"{self.data}>{self.body}</svg>'
        )


def error_panel(
    outcomes: Sequence[Outcome],
    looks: Mapping[str, Look],
    *,
    width: float,
    height: float,
    budget: float | None = None,
    unit: str = "",
    problem: int = 0,
) -> Panel:
    """The hypervolume error against the share of the budget, or against cost where the budget is given.

    Means over the seeds with their bands. Ours is drawn last, above the others.
    """
    scale = budget or 1.0
    x = Scale(0.0, scale, LEFT, width - RIGHT)
    x_label = f"cost after the initial designs ({unit})" if budget else "share of the budget"
    y = _error_scale(outcomes, height - BOTTOM, TOP)
    frame = Frame(width, height, x, y, x_label, "hypervolume error (log)", floor=FLOOR, percent=not budget)
    parts = [frame.svg()]
    for outcome in drawn_last(outcomes, looks):
        look = looks[outcome.method]
        pixels = x.pixels(outcome.shares * scale)
        parts.append(_series(look, _curve(outcome, pixels, y, look, marked=budget is not None), _told(outcome)))
    kind = "cost" if budget else "share"
    data = f' data-plot="{kind}" data-problem="{problem}" data-x="{x.described}" data-y="{y.described}"'
    best = f"; least at the end: {outcomes[0].method}, {shown_error(outcomes[0].final)}" if outcomes else ""
    return Panel("".join(parts), width, height, f"Hypervolume error against {x_label}{best}.", data)


def _error_scale(outcomes: Sequence[Outcome], start: float, end: float) -> Scale:
    """A logarithmic scale for errors and their bands, within the floor and 1, and at least half a decade long."""
    errors = np.concatenate([[FLOOR], *([o.low, o.high] for o in outcomes)], axis=None)[1:]
    low, high = (float(errors.min()), float(errors.max())) if errors.size else (FLOOR, 1.0)
    low = max(FLOOR, low / 1.1)
    high = min(1.0, max(high * 1.1, low * 3.2))
    return Scale(min(low, high / 3.2), high, start, end, log=True)


def _curve(outcome: Outcome, x: FloatArray, y: Scale, look: Look, *, marked: bool) -> str:
    """Band, line and, where wanted, markers; a single seed has no band."""
    parts = []
    if len(outcome.seeds) > 1:
        edge = [*_pairs(x, y.pixels(outcome.low)), *reversed(_pairs(x, y.pixels(outcome.high)))]
        parts.append(f'<path class="band" d="M{_joined(edge)}z"/>')
    line = _pairs(x, y.pixels(outcome.mean))
    parts.append(f'<path class="line" d="M{_joined(line)}"/>')
    if marked:
        # Each method marks other moments, so that markers of curves close to each other do not cover each other.
        parts.append(f'<path class="mark" d="{markers(look, line[look.number % 5 :: 5], 3.2)}"/>')
    return "".join(parts)


def _told(outcome: Outcome) -> str:
    seeds = "1 seed" if len(outcome.seeds) == 1 else f"{len(outcome.seeds)} seeds"
    return f"{outcome.method}: error {shown_error(outcome.final)} at the end, {seeds}"


def front_panel(
    outcomes: Sequence[Outcome],
    looks: Mapping[str, Look],
    facts: ProblemFacts,
    *,
    pair: tuple[int, int] = (0, 1),
    width: float,
    height: float,
    problem: int = 0,
) -> Panel:
    """The fronts that were found against the true one, in two of the objectives."""
    a, b = pair
    truth = thinned(np.array(facts.front, dtype=float).reshape(-1, len(facts.names)))
    found = [(o, o.front) for o in drawn_last(outcomes, looks) if o.front is not None and len(o.front)]
    every = np.concatenate([truth, *(front for _, front in found)])
    x = spanning(every[:, a], LEFT, width - RIGHT, log_from=WIDE)
    y = spanning(every[:, b], height - BOTTOM, TOP, log_from=WIDE)
    x_label, y_label = (
        f"{facts.axes[j]}, {'lower' if facts.directions[j] == 'min' else 'higher'} is better" for j in pair
    )
    parts = [Frame(width, height, x, y, x_label, y_label).svg()]
    parts.append(_true_front(x.pixels(truth[:, a]), y.pixels(truth[:, b]), facts, a))
    for outcome, front in found:
        look = looks[outcome.method]
        path = markers(look, _pairs(x.pixels(front[:, a]), y.pixels(front[:, b])), 4.6 if look.is_ours else 3.6)
        parts.append(_series(look, f'<path class="mark" d="{path}"/>', f"{outcome.method}: {len(front)} designs"))
    data = f' data-plot="front" data-problem="{problem}" data-a="{a}" data-b="{b}"'
    data += f' data-x="{x.described}" data-y="{y.described}"'
    label = f"Fronts found, {facts.names[b]} against {facts.names[a]}."
    return Panel("".join(parts), width, height, label, data)


def thinned(front: FloatArray) -> FloatArray:
    """The rows of a front (k, n), ordered by the first objective; evenly chosen ones where there are very many."""
    front = front[np.argsort(front[:, 0], kind="stable")]
    if len(front) <= MOST_DRAWN:
        return front
    return np.asarray(front[np.linspace(0, len(front) - 1, MOST_DRAWN).astype(int)])


def _true_front(x: FloatArray, y: FloatArray, facts: ProblemFacts, a: int) -> str:
    """Dots and, with two objectives, the steps between what is attained and what is not."""
    dots = "".join(f"M{p:.1f},{q:.1f}h0" for p, q in _pairs(x, y))
    steps = ""
    if len(facts.names) == 2 and len(x):
        lower = facts.directions[a] == "min"
        moves = "".join(f"H{p:.1f}V{q:.1f}" if lower else f"V{q:.1f}H{p:.1f}" for p, q in _pairs(x[1:], y[1:]))
        steps = f'<path class="attained" d="M{x[0]:.1f},{y[0]:.1f}{moves}"/>'
    return f'<g class="truth">{steps}<path class="dots" d="{dots}"/></g>'


def bar_panel(
    outcomes: Sequence[Outcome],
    looks: Mapping[str, Look],
    columns: Sequence[tuple[str, Sequence[float]]],
    *,
    width: float,
    label: str,
    counts: bool,
) -> Panel:
    """Bars: a row per method, a column per quantity.

    Args:
        outcomes: The rows.
        looks: How the methods are drawn.
        columns: What each column shows, with its unit, and a value for each row.
        width: In pixels.
        label: What the panel shows.
        counts: Whether the values are numbers of the same things: then the columns have one scale.
    """
    room = (width - NAMES) / len(columns)
    every = [value for _, values in columns for value in values]
    parts = [_bar_name(outcome, looks[outcome.method], i) for i, outcome in enumerate(outcomes)]
    for k, (heading, values) in enumerate(columns):
        start = NAMES + k * room
        ends = start, start + room - 52.0
        scale = _bar_scale(every, *ends, base=1.0) if counts else _bar_scale(values, *ends)
        parts.append(_bar_column(heading, scale, len(outcomes) * ROW, room))
        for i, (outcome, value) in enumerate(zip(outcomes, values, strict=True)):
            parts.append(
                _series(looks[outcome.method], _bar(scale, value, i), f"{outcome.method}: {shown(value)} {heading}")
            )
    return Panel("".join(parts), width, TOP + ROW * len(outcomes) + 26.0, label)


def _bar_name(outcome: Outcome, look: Look, i: int) -> str:
    name = escaped(shortened(outcome.method, 20))
    css = "name ours" if look.is_ours else "name"
    y = TOP + i * ROW + 14.5
    text = f'<text class="{css}" x="{NAMES - 8:g}" y="{y:g}" text-anchor="end">{name}</text>'
    return _series(look, text, outcome.method)


def _bar(scale: Scale, value: float, i: int) -> str:
    """One bar and its value; a value above nothing is never too small to be seen."""
    y, start = TOP + i * ROW, scale.start
    end = max(float(scale.pixels(value)), start + 1.5) if value > 0 else start
    text = shown(value, 2 if value < 100 else 3)
    return (
        f'<path class="bar" d="M{start:g},{y + 3:g}H{end:.1f}v14H{start:g}z"/>'
        f'<text class="value" x="{end + 5:.1f}" y="{y + 14.5:g}">{text}</text>'
    )


def _bar_scale(values: Sequence[float], start: float, end: float, *, base: float = math.inf) -> Scale:
    """From 0; from `base` or a power of ten below the least where positive values differ very much."""
    positive = [value for value in values if value > 0]
    if not positive:
        return Scale(0.0, 1.0, start, end)
    low, high = min(positive), max(positive)
    if high / low > WIDE:
        return Scale(min(base, 10.0 ** math.floor(math.log10(low) - 0.2)), high, start, end, log=True)
    return Scale(0.0, high, start, end)


def _bar_column(heading: str, scale: Scale, length: float, room: float) -> str:
    """The heading of a column of bars, its axis and ticks."""
    text = shortened(heading + (" (log)" if scale.log else ""), int(room / LETTER))
    parts = [f'<text class="label" x="{scale.start:g}" y="{TOP - 12:g}">{escaped(text)}</text>']
    ticks = scale.ticks(2)
    for value, x in zip(ticks, scale.pixels(ticks).tolist(), strict=True):
        words = shown(value)
        parts.append(f'<path class="grid" d="M{x:.1f},{TOP:g}v{length:g}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{TOP + length + 16:g}" text-anchor="middle">{words}</text>')
    return "".join(parts)


def drawn_last(outcomes: Sequence[Outcome], looks: Mapping[str, Look]) -> list[Outcome]:
    """The outcomes from the last of the legend to its first, so that ours lies on top."""
    return sorted(outcomes, key=lambda outcome: -looks[outcome.method].number)


def _series(look: Look, body: str, told: str) -> str:
    """What belongs to one method; the legend hides it, and resting on it tells what it is."""
    ours = " ours" if look.is_ours else ""
    return f'<g class="series {look.css_class}{ours}"><title>{escaped(told)}</title>{body}</g>'


def _pairs(x: FloatArray, y: FloatArray) -> list[tuple[float, float]]:
    return list(zip(x.tolist(), y.tolist(), strict=True))


def _joined(positions: Sequence[tuple[float, float]]) -> str:
    return "L".join(f"{x:.1f},{y:.1f}" for x, y in positions)
