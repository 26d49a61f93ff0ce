"""Durations and shares as users write them."""

from __future__ import annotations

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
"""Seconds per unit."""


def parse_seconds(text: str, *, allows_zero: bool = False) -> float | None:
    """The seconds in a duration: a positive number, optionally followed by s, m, h or d. None for any other text.

    >>> parse_seconds("30m"), parse_seconds("1.5 h"), parse_seconds("90"), parse_seconds("soon")
    (1800.0, 5400.0, 90.0, None)
    """
    text = text.strip()
    number, factor = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1.0)
    try:
        value = float(number) * factor
    except ValueError:
        return None
    return value if 0 < value < float("inf") or (allows_zero and value == 0) else None


def seconds_or_same(value: object) -> object:
    """The seconds in a text that is a duration; anything else as it is.

    >>> seconds_or_same("2h"), seconds_or_same("soon"), seconds_or_same(3)
    (7200.0, 'soon', 3)
    """
    seconds = parse_seconds(value) if isinstance(value, str) else None
    return value if seconds is None else seconds


def parse_share(text: str) -> float | None:
    """A share in [0, 1), given as a number or in per cent. None for any other text.

    >>> parse_share("5%"), parse_share("2.5 %"), parse_share("0.05"), parse_share("5"), parse_share("few")
    (0.05, 0.025, 0.05, None, None)
    """
    text = text.strip()
    number, factor = (text[:-1], 0.01) if text.endswith("%") else (text, 1.0)
    try:
        value = round(float(number) * factor, 12)
    except (ValueError, OverflowError):
        return None
    return value if 0 <= value < 1 else None
