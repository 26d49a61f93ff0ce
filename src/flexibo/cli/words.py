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
    from flexibo.errors import InvalidValueError

    units = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    number, factor = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1.0)
    try:
        value = float(number) * factor
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise InvalidValueError(f"The duration is {text!r}; give a positive number such as 90, 30m, 2h or 1d.")
    return value
