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
