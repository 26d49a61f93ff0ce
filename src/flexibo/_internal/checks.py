"""Checks of arguments that several packages share."""

from __future__ import annotations

from flexibo._internal.arrays import plain
from flexibo.errors import InvalidValueError


def whole_number(name: str, number: object, *, least: int) -> int:
    """The number as an int; an error unless it is at least `least`."""
    number = plain(number)
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise InvalidValueError(f"{name} is {number!r}; it must be a whole number, {least} or more.", argument=name)
    return number


def checked_delta(delta: object) -> float:
    """The probability of failure as a float; an error unless it is above 0 and below 1."""
    delta = plain(delta)
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 < delta < 1:
        raise InvalidValueError(f"delta is {delta!r}; it must be between 0 and 1.", argument="delta")
    return float(delta)
