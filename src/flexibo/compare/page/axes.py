"""Scales from values to pixels, their ticks, and the frame of a panel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.page.text import escaped, shortened, shown

LETTER = 7.2
"""About how wide a letter is, in pixels."""

LONGEST_LABEL = 58


@dataclass(frozen=True, slots=True)
class Scale:
    """A straight or logarithmic way from values to pixels.

    Attributes:
        low: The least value.
        high: The greatest value.
        start: The pixel of the least value.
        end: The pixel of the greatest value.
        log: Whether equal factors, and not equal steps, are equally long.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def pixels(self, values: FloatArray | Sequence[float] | float) -> FloatArray:
        """Where values lie; those outside lie on the edge."""
        inside = np.clip(np.asarray(values, dtype=float), self.low, self.high)
        if self.log:
            share = np.log(inside / self.low) / math.log(self.high / self.low)
        else:
            share = (inside - self.low) / (self.high - self.low)
        return np.asarray(self.start + share * (self.end - self.start))

    def ticks(self, about: int = 5) -> list[float]:
        """Round values within the scale, about so many."""
        if self.log:
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            for steps in ((1,), (1, 3), (1, 2, 5)):
                found = [step * 10.0**d for d in decades for step in steps]
                found = [tick for tick in found if self.low * 0.999 <= tick <= self.high * 1.001]
                if len(found) >= min(3, about):
                    return found[:: math.ceil(len(found) / (about + 1))]
        return _even_ticks(self.low, self.high, about)

    @property
    def described(self) -> str:
        """The scale in words that the page's script reads."""
        return f"{'log' if self.log else 'even'} {self.low:.6g} {self.high:.6g} {self.start:g} {self.end:g}"


def _even_ticks(low: float, high: float, about: int) -> list[float]:
    rough = (high - low) / about
    unit = 10.0 ** math.floor(math.log10(rough))
    step = min((f * unit for f in (1.0, 2.0, 2.5, 5.0, 10.0)), key=lambda step: abs(math.log(step / rough)))
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def spanning(
    values: FloatArray, start: float, end: float, *, log_from: float = math.inf, margin: float = 0.05
) -> Scale:
    """A scale that shows all values with a margin, logarithmic where nearly all differ by more than a factor."""
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    # A single value near zero among many must not squeeze the others.
    if low > 0 and np.quantile(values, 0.95) / np.quantile(values, 0.05) > log_from:
        room = (high / low) ** margin
        return Scale(low / room, high * room, start, end, log=True)
    room = margin * (high - low) or max(abs(high), 1.0) * margin
    return Scale(low - room, high + room, start, end)


@dataclass(frozen=True, slots=True)
class Frame:
    """A panel's size, scales and what its axes are called.

    Attributes:
        width: In pixels.
        height: In pixels.
        x: From left to right.
        y: From bottom to top.
        x_label: With its unit.
        y_label: With its unit; written above the axis, where it needs no turning of heads.
        floor: The value at which `y` ends because less is not shown; its tick says so.
        percent: Whether `x` is a share, written in per cent.
    """

    width: float
    height: float
    x: Scale
    y: Scale
    x_label: str
    y_label: str
    floor: float | None = None
    percent: bool = False

    def svg(self) -> str:
        """Lines, ticks and labels."""
        left, right, bottom = self.x.start, self.x.end, self.y.start
        parts = []
        for value, y in _placed(self.y, about=4):
            text = f"≤{shown(value)}" if self.floor is not None and value <= self.floor * 1.001 else shown(value)
            parts.append(f'<path class="grid" d="M{left:g},{y:.1f}H{right:g}"/>')
            parts.append(f'<text class="tick" x="{left - 6:g}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
        for value, x in _placed(self.x, about=4):
            text = f"{shown(100 * value)} %" if self.percent else shown(value)
            parts.append(f'<path class="grid" d="M{x:.1f},{self.y.end:g}V{bottom:g}"/>')
            parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 17:g}" text-anchor="middle">{text}</text>')
        parts.append(f'<path class="axis" d="M{left:g},{bottom:g}H{right:g}"/>')
        parts.append(_label(self.x_label, right, bottom + 37, "end", self.width))
        parts.append(_label(self.y_label, 4, self.y.end - 10, "start", self.width))
        return "".join(parts)


def _placed(scale: Scale, about: int) -> list[tuple[float, float]]:
    ticks = scale.ticks(about)
    return list(zip(ticks, scale.pixels(ticks).tolist(), strict=True))


def _label(text: str, x: float, y: float, anchor: str, width: float) -> str:
    words = escaped(shortened(text, min(LONGEST_LABEL, int(width / LETTER))))
    return f'<text class="label" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{words}</text>'
