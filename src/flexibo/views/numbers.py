"""Numbers in pictures: with as many digits as tell them apart."""

from __future__ import annotations

from collections.abc import Collection

FEWEST, MOST = 4, 8
"""Significant digits that a number is written with, at least and at most."""
NEARLY_ALL = 0.95
"""So many of the values are told apart; of many values, some are always near each other."""


def telling_digits(values: Collection[float]) -> int:
    """How many significant digits tell values apart.

    >>> telling_digits([1.0, 2.5]), telling_digits([70792.0, 70794.0]), telling_digits([0.1, 0.1 + 1e-12])
    (4, 5, 4)
    """
    wanted = NEARLY_ALL * len({number(value) for value in values})
    return next((d for d in range(FEWEST, MOST) if len({number(value, d) for value in values}) >= wanted), MOST)


def number(value: float, digits: int = MOST) -> str:
    """A number with at most so many significant digits; no power of ten as long as it is readable without.

    >>> number(70792.4, 5), number(70792.4, 4), number(0.5, 4), number(3e-7)
    ('70792', '70790', '0.5', '3e-07')
    """
    return f"{float(f'{value:.{digits}g}'):.{MOST}g}"
