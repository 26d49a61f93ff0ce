"""Durations and shares as people write them."""

from __future__ import annotations

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
"""The seconds of each unit."""


def seconds(text: str) -> float | None:
    """The seconds in a duration, a positive number that s, m, h or d may follow; None if it is none.

    >>> seconds("30m"), seconds("1.5 h"), seconds("90"), seconds("soon")
    (1800.0, 5400.0, 90.0, None)
    """
    text = text.strip()
    number, factor = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1.0)
    try:
        value = float(number) * factor
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None


def share(text: str) -> float | None:
    """A share from 0 up to and without 1, as a number or in per cent; None if it is none.

    >>> share("5%"), share("2.5 %"), share("0.05"), share("5"), share("few")
    (0.05, 0.025, 0.05, None, None)
    """
    text = text.strip()
    number, factor = (text[:-1], 0.01) if text.endswith("%") else (text, 1.0)
    try:
        value = round(float(number) * factor, 12)
    except (ValueError, OverflowError):
        return None
    return value if 0 <= value < 1 else None
