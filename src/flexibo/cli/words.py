"""How the command line puts things."""

from __future__ import annotations


def size(number: float) -> str:
    """How many designs there are.

    >>> size(12554), size(float("inf"))
    ('12,554', 'infinitely many')
    """
    return "infinitely many" if number == float("inf") else f"{number:,}"
