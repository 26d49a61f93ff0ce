"""A small picture of a front as SVG, for notebooks and experiment trackers; it needs no other library.

Two objectives are drawn as points, more as a line for each design across parallel axes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo._internal.html import ACCENT, LINE, escaped
from flexibo._internal.numbers import format_number

WIDTH, HEIGHT = 380, 230
LEFT, RIGHT, TOP, BOTTOM = 64, 30, 16, 38
MOST_DRAWN = 300
MOST_NUMBERED = 15
SHORT = 24  # characters of a name beside an axis


def picture(
    names: Sequence[str],
    values: FloatArray,
    numbers: Sequence[int],
    *,
    knee: int | None = None,
    colour: str = "currentColor",
) -> str:
    """Values (m, n) of designs, numbered as in their table; an empty text without any, or with one objective."""
    if len(names) < 2 or not len(values) or not np.isfinite(values).all():
        return ""
    shown = np.linspace(0, len(values) - 1, min(len(values), MOST_DRAWN)).round().astype(int)
    kept = None if knee is None else int(np.argmin(np.abs(shown - knee)))
    draw = _points if len(names) == 2 else _lines
    inside = draw(names, values[shown], [numbers[n] for n in shown.tolist()], kept)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'style="max-width:100%;color:{colour}" font-family="sans-serif" font-size="11" fill="currentColor" '
        f'role="img"><title>{escaped("The confirmed front: " + ", ".join(names))}</title>{inside}</svg>'
    )


def _points(names: Sequence[str], values: FloatArray, numbers: Sequence[int], knee: int | None) -> str:
    """Two objectives as points with their numbers, joined by a thin line."""
    x, y = _placed(values[:, 0], LEFT, WIDTH - RIGHT), _placed(values[:, 1], HEIGHT - BOTTOM, TOP)
    bottom, middle = HEIGHT - BOTTOM + 8, (TOP + HEIGHT - BOTTOM) / 2
    parts = [
        f'<path d="M{LEFT - 8} {TOP}V{bottom}H{WIDTH - RIGHT}" fill="none" stroke="{LINE}"/>',
        *(_text(x[n], bottom + 12, format_number(values[n, 0], 3), "middle") for n in _ends(values[:, 0])),
        *(_text(LEFT - 12, y[n] + 4, format_number(values[n, 1], 3), "end") for n in _ends(values[:, 1])),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, _short(names[0]), "middle"),
        f'<g transform="rotate(-90 12 {middle})">{_text(12, middle, _short(names[1]), "middle")}</g>',
        f'<polyline points="{_path(x, y)}" fill="none" stroke="{ACCENT}" stroke-opacity="0.4"/>',
    ]
    for n, number in enumerate(numbers):
        values_shown = ", ".join(format_number(value, 4) for value in values[n].tolist())
        about = f"{number}: {values_shown}{' (knee)' * (n == knee)}"
        ring = 'stroke="currentColor" stroke-width="1.5"' if n == knee else ""
        parts.append(
            f'<circle cx="{x[n]:.1f}" cy="{y[n]:.1f}" r="4" fill="{ACCENT}" {ring}>'
            f"<title>{escaped(about)}</title></circle>"
        )
        if len(numbers) <= MOST_NUMBERED:
            parts.append(_text(x[n] + 6, y[n] - 5, str(number), "start"))
    return "".join(parts)


def _lines(names: Sequence[str], values: FloatArray, numbers: Sequence[int], knee: int | None) -> str:
    """A line for each design across one axis per objective, with the ends of the axes."""
    axes = np.linspace(LEFT, WIDTH - LEFT, len(names))
    heights = np.stack([_placed(column, HEIGHT - BOTTOM, TOP + 14) for column in values.T], axis=1)
    parts = []
    for n, number in enumerate(numbers):
        width = 2.5 if n == knee else 1
        parts.append(
            f'<polyline points="{_path(axes, heights[n])}" fill="none" stroke="{ACCENT}" stroke-width="{width}" '
            f'stroke-opacity="{1 if n == knee else 0.6}"><title>{number}</title></polyline>'
        )
    for j, name in enumerate(names):
        low, high = float(values[:, j].min()), float(values[:, j].max())
        parts += [
            f'<path d="M{axes[j]:.1f} {TOP + 14}V{HEIGHT - BOTTOM}" stroke="{LINE}"/>',
            _text(axes[j], TOP + 6, format_number(high, 3), "middle"),
            _text(axes[j], HEIGHT - BOTTOM + 14, format_number(low, 3), "middle"),
            _text(axes[j], HEIGHT - 6, _short(name, SHORT * 2 // len(names)), "middle"),
        ]
    return "".join(parts)


def _placed(values: FloatArray, begin: float, end: float) -> FloatArray:
    """Where values lie between the ends of an axis; in the middle if they are all equal."""
    scale = float(np.abs(values).max()) or 1.0
    scaled = values / scale  # the span of huge values may be infinite
    low, high = float(scaled.min()), float(scaled.max())
    share = (scaled - low) / (high - low) if high > low else np.full(len(values), 0.5)
    return np.asarray(begin + share * (end - begin))


def _ends(values: FloatArray) -> set[int]:
    """The places of the least and the largest value."""
    return {int(values.argmin()), int(values.argmax())}


def _path(x: FloatArray, y: FloatArray) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def _short(name: str, most: int = SHORT) -> str:
    return name if len(name) <= most else f"{name[: most - 3]}..."


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escaped(text)}</text>'
