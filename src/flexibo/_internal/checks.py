"""Checks of arguments that several packages share."""

from __future__ import annotations

from flexibo._internal.arrays import plain
from flexibo.errors import InvalidTypeError, InvalidValueError


def whole_number(name: str, number: object, *, least: int, most: int | None = None) -> int:
    """The number as an int; an error unless it is at least `least`, and at most `most` if that is given."""
    number = plain(number)
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise InvalidValueError(f"{name} is {number!r}; it must be a whole number, {least} or more.", argument=name)
    if most is not None and number > most:
        shown = f"{number:.4g}" if number.bit_length() < 1000 else f"a number of {number.bit_length()} bits"
        raise InvalidValueError(f"{name} is {shown}; it must be at most {most:,}.", argument=name)
    return number


def checked_flag(name: str, flag: object) -> bool:
    """The flag as a bool; an error unless it is True or False, or a number or numpy scalar that equals one of them."""
    flag = plain(flag)
    if not isinstance(flag, int) or flag not in (0, 1):
        raise InvalidTypeError(f"{name} is {flag!r}; it must be True or False.", argument=name)
    return bool(flag)


def checked_unicode(what: str, text: str) -> str:
    """The text; an error if it has half of a surrogate pair, which no file and no terminal can hold.

    `what` begins the sentence, such as "An option is named".
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise InvalidValueError(
            f"{what} {text!a}; its character {error.start + 1} (U+{code:04X}) is half of a character and is no valid "
            "Unicode, so give another text."
        ) from None
    return text


def checked_delta(delta: object) -> float:
    """The probability of failure as a float; an error unless it is above 0 and below 1."""
    delta = plain(delta)
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 < delta < 1:
        raise InvalidValueError(f"delta is {delta!r}; it must be between 0 and 1.", argument="delta")
    return float(delta)
