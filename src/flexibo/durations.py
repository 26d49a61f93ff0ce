"""Durations as people write them."""

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
