"""Numbers as text: enough digits to distinguish the values of a column, and costs with their unit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

FEWEST_DIGITS, MOST_DIGITS = 4, 8
"""Limits of the significant digits of a value in a table."""
LARGE = 1e7
"""Values from here on are written with an exponent."""
LEAST_PERCENT = 0.01
"""Smaller shares are words."""
ROUNDING = 1e-9
"""A share of a number that is a rounding error."""
BLUR = 0.1
"""Values that differ by less than this share of their standard deviation may look the same."""


def format_number(value: float, digits: int = FEWEST_DIGITS) -> str:
    """A number with `digits` significant digits, without an exponent if it is below `LARGE`.

    >>> format_number(70792.4), format_number(0.123456), format_number(5.1e8), format_number(123.4, 2)
    ('70792', '0.1235', '5.1e+08', '123')
    """
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < LARGE else text


def rounded_up(value: float, digits: int = FEWEST_DIGITS) -> float:
    """The next number of at least `value` that `format_number` writes exactly; rounding errors are not rounded up.

    >>> rounded_up(89.0301), rounded_up(70792.4), rounded_up(110.0), rounded_up(3 * 1.1)
    (89.04, 70793.0, 110.0, 3.3)
    """
    if value <= 0.0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    unit = unit if value >= LARGE else min(unit, 1.0)
    return float(format_number(math.ceil(value * (1.0 - ROUNDING) / unit) * unit, digits))


def format_share(share: float) -> str:
    """A share in per cent with two digits, or words for one that is too small to matter.

    >>> format_share(0.163), format_share(0.0484), format_share(0.00072), format_share(0.00003), format_share(1.25)
    ('16%', '4.8%', '0.07%', 'less than 0.01%', '125%')
    """
    percent = 100.0 * share
    if percent <= 0.0:
        return "0%"
    if percent < LEAST_PERCENT:
        return f"less than {LEAST_PERCENT:g}%"
    places = 0 if percent >= 9.95 else 1 if percent >= 0.095 else 2
    return f"{percent:.{places}f}%"


def format_exact(value: float) -> str:
    """A number with all its digits.

    >>> format_exact(70792.0), format_exact(0.1)
    ('70792', '0.1')
    """
    return repr(float(value)).removesuffix(".0")


def significant_digits(values: Iterable[tuple[float, float]]) -> int:
    """The number of significant digits that distinguishes (value, standard deviation) pairs.

    >>> significant_digits([(1.0, 0.0), (2.0, 0.0)]), significant_digits([(0.123456, 0.0), (0.123457, 0.0)])
    (4, 6)
    >>> significant_digits([(0.123456, 0.01), (0.123457, 0.01)])
    4
    """
    differing = [
        (one, two)
        for (one, blur), (two, other_blur) in pairwise(sorted(values))
        if two - one > BLUR * max(blur, other_blur)
    ]
    for digits in range(FEWEST_DIGITS, MOST_DIGITS):
        if all(format_number(one, digits) != format_number(two, digits) for one, two in differing):
            return digits
    return MOST_DIGITS


def cost_unit(origin: Mapping[str, Any], timed: Mapping[str, bool]) -> str:
    """The unit of a study's costs: seconds, or empty if only the user knows it.

    Costs are seconds where a system or a budget in seconds says so (`origin`), and where flexibo `timed` the
    measurements of every objective. They are the user's own where people or functions report them.

    >>> cost_unit({"system": "lenet"}, {}), cost_unit({"study_file": "tea.yaml", "cost_unit": ""}, {})
    ('s', '')
    >>> cost_unit({}, {"error": True}), cost_unit({}, {}), cost_unit({"study_file": "tea.yaml"}, {"error": False})
    ('s', '', '')
    """
    if "cost_unit" in origin or origin.get("system"):
        return str(origin.get("cost_unit", "s"))
    is_known = bool(timed) or bool(origin.get("study_file"))
    return "s" if is_known and all(timed.values()) else ""


def format_budget(budget: float, unit: str) -> str:
    """A budget with its unit.

    >>> format_budget(1234.5, "s"), format_budget(30.0, "")
    ('1234.5 s', '30')
    """
    return f"{format_number(budget, 5)} {unit}".rstrip()


def format_spent(spent: float, budget: float | None, unit: str) -> str:
    """The cost that was spent, and the budget if there is one.

    >>> format_spent(10.94, 30.0, "s"), format_spent(10.94, None, "")
    ('10.94 of 30 s', '10.94')
    """
    if budget is not None:
        return f"{format_number(spent)} of {format_budget(budget, unit)}"
    return f"{format_number(spent)} {unit}".rstrip()
