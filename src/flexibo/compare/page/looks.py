"""Looks: the colour, dashes and marker by which a method is known throughout a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

OURS = ("#D55E00", "#FF7A1A")
"""The colour of the method that a report is about, on white and on black."""

# Okabe and Ito's palette, told apart by colour-blind people; grey in place of its yellow, which is lost on white.
COLOURS = (
    ("#0072B2", "#4C9BE8"),
    ("#009E73", "#2CC295"),
    ("#CC79A7", "#E79AC4"),
    ("#E69F00", "#F2C14E"),
    ("#56B4E9", "#8FD3FF"),
    ("#6B6B6B", "#B5B5B5"),
)
DASHES = ("", "7 3", "1.5 3")
MARKERS = ("circle", "square", "triangle", "diamond", "wedge", "cross")


@dataclass(frozen=True, slots=True)
class Look:
    """How one method is drawn.

    Attributes:
        method: Its name.
        number: Its place in the legend; 0 belongs to the method that the report is about, drawn or not.
    """

    method: str
    number: int

    @property
    def is_ours(self) -> bool:
        """Whether the report is about this method."""
        return self.number == 0

    @property
    def colours(self) -> tuple[str, str]:
        """Its colour on white and on black."""
        return OURS if self.is_ours else COLOURS[(self.number - 1) % len(COLOURS)]

    @property
    def dashes(self) -> str:
        """Its dashes, as SVG writes them; empty for a full line."""
        return "" if self.is_ours else DASHES[(self.number - 1) // len(COLOURS) % len(DASHES)]

    @property
    def marker(self) -> str:
        """The name of its marker."""
        k = self.number - 1
        return "circle" if self.is_ours else MARKERS[(k + 1 + k // len(COLOURS)) % len(MARKERS)]

    @property
    def css_class(self) -> str:
        """What its colour and dashes hang on."""
        return f"m{self.number}"


def looks_of(methods: Iterable[str], ours: str) -> dict[str, Look]:
    """A look for each method: ours first, then the others by name."""
    others = sorted(set(methods) - {ours}, key=lambda name: (name.casefold(), name))
    numbered = {method: Look(method, number) for number, method in enumerate(others, start=1)}
    return ({ours: Look(ours, 0)} if ours in methods else {}) | numbered


def look_rules(looks: Iterable[Look]) -> str:
    """CSS: the colours on white and on black, and the dashes."""
    looks = list(looks)
    light = [f".{look.css_class}{{color:{look.colours[0]}}}" for look in looks]
    dark = [f".{look.css_class}{{color:{look.colours[1]}}}" for look in looks]
    dashes = [f".{look.css_class} .line{{stroke-dasharray:{look.dashes}}}" for look in looks if look.dashes]
    return "\n".join([*light, *dashes, "@media screen and (prefers-color-scheme:dark){", *dark, "}", ""])


def legend_rules(looks: Iterable[Look]) -> str:
    """CSS: what is hidden, and what stands out, when the legend says so."""
    return "".join(
        f".hide-{name} .series.{name}{{display:none}}\n"
        f".focus-{name} svg .series:not(.{name}){{opacity:.13}}\n"
        f".focus-{name} svg .series.{name} .line{{stroke-width:3.2}}\n"
        f".focus-{name} svg .series.{name} .band{{opacity:.3}}\n"
        for name in (look.css_class for look in looks)
    )


def markers(look: Look, positions: Sequence[tuple[float, float]], size: float) -> str:
    """The path data of the method's marker at all positions."""
    shape = _shape(look.marker, size)
    return "".join(f"M{x:.1f},{y:.1f}{shape}" for x, y in positions)


def _shape(marker: str, r: float) -> str:
    """One marker, drawn from its middle."""
    s, d = 0.89 * r, 1.25 * r
    return {
        "circle": f"m{-r:g},0a{r:g},{r:g} 0 1 0 {2 * r:g},0a{r:g},{r:g} 0 1 0 {-2 * r:g},0z",
        "square": f"m{-s:g},{-s:g}h{2 * s:g}v{2 * s:g}h{-2 * s:g}z",
        "triangle": f"m0,{-d:g}l{1.1 * r:g},{1.9 * r:g}h{-2.2 * r:g}z",
        "wedge": f"m0,{d:g}l{1.1 * r:g},{-1.9 * r:g}h{-2.2 * r:g}z",
        "diamond": f"m0,{-d:g}l{d:g},{d:g}l{-d:g},{d:g}l{-d:g},{-d:g}z",
        "cross": f"m{-r:g},{-0.33 * r:g}h{0.67 * r:g}v{-0.67 * r:g}h{0.66 * r:g}v{0.67 * r:g}h{0.67 * r:g}"
        f"v{0.66 * r:g}h{-0.67 * r:g}v{0.67 * r:g}h{-0.66 * r:g}v{-0.67 * r:g}h{-0.67 * r:g}z",
    }[marker]
