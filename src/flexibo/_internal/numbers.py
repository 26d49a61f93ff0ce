"""Numbers for people: as many digits as tell the values of a column apart, and the unit of costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

FEWEST, MOST = 4, 8
"""Significant digits of a value in a table."""
LARGE = 1e7
"""From here on, values are written with an exponent."""
BLUR = 0.1
"""Values that differ by less than this share of their standard deviation need not be told apart."""


def figure(value: float, digits: int = FEWEST) -> str:
    """A number with so many significant digits, and without an exponent as long as it is below `LARGE`.

    >>> figure(70792.4), figure(0.123456), figure(12.0), figure(5.1e8), figure(123.4, 2)
    ('70792', '0.1235', '12', '5.1e+08', '123')
    """
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < LARGE else text


def in_full(value: float) -> str:
    """A number as exactly as it is kept.

    >>> in_full(70792.0), in_full(0.1)
    ('70792', '0.1')
    """
    return repr(float(value)).removesuffix(".0")


def digits_of(values: Iterable[tuple[float, float]]) -> int:
    """How many significant digits tell values apart, given with their standard deviations: `FEWEST` to `MOST`.

    >>> digits_of([(1.0, 0.0), (2.0, 0.0)]), digits_of([(0.123456, 0.0), (0.123457, 0.0)])
    (4, 6)
    >>> digits_of([(0.123456, 0.01), (0.123457, 0.01)])
    4
    """
    differing = [
        (one, two)
        for (one, blur), (two, other_blur) in pairwise(sorted(values))
        if two - one > BLUR * max(blur, other_blur)
    ]
    for digits in range(FEWEST, MOST):
        if all(figure(one, digits) != figure(two, digits) for one, two in differing):
            return digits
    return MOST


def cost_unit(origin: Mapping[str, Any]) -> str:
    """The unit of a study's costs, given where it comes from; empty where only its program knows it.

    >>> cost_unit({"system": "lenet"}), cost_unit({})
    ('s', '')
    """
    return "s" if origin.get("system") or origin.get("study_file") else ""


def money(spent: float, budget: float | None, unit: str) -> str:
    """What was spent, of what may be.

    >>> money(10.94, 30.0, "s"), money(10.94, None, "")
    ('10.94 of 30 s', '10.94')
    """
    limit = "" if budget is None else f" of {figure(budget, 5)}"
    return f"{figure(spent)}{limit}{f' {unit}' if unit else ''}"
