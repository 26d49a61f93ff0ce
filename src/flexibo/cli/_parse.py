"""How the command line puts things."""

from __future__ import annotations


def size(number: float) -> str:
    """How many designs there are.

    >>> size(12554), size(float("inf"))
    ('12,554', 'infinitely many')
    """
    return "infinitely many" if number == float("inf") else f"{number:,}"


def names(given: list[str]) -> list[str]:
    """The names in an option that may be repeated and may hold several, with commas or spaces.

    >>> names(["a,b", "c a"])
    ['a', 'b', 'c']
    """
    return list(dict.fromkeys(name for text in given for name in text.replace(",", " ").split()))


def seconds(text: str) -> float:
    """The seconds in a duration: a number, of seconds unless s, m, h or d follows.

    >>> seconds("30m"), seconds("1.5h"), seconds("90")
    (1800.0, 5400.0, 90.0)
    """
    from flexibo._internal.durations import parse_seconds as duration
    from flexibo.errors import InvalidValueError

    value = duration(text)
    if value is None:
        raise InvalidValueError(f"The duration is {text!r}; give a positive number such as 90, 30m, 2h or 1d.")
    return value


def share(text: str) -> float:
    """A share below 1, as a number or in per cent.

    >>> share("5%"), share("0.1")
    (0.05, 0.1)
    """
    from flexibo._internal.durations import parse_share as parsed
    from flexibo.errors import InvalidValueError

    value = parsed(text)
    if value is None:
        raise InvalidValueError(f"The share is {text!r}; give one below 100 %, such as 5% or 0.05.")
    return value
