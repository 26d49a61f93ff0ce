"""The steps at which an evaluation may stop: which they are, and how much of the way lies between two of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TypeAlias

from flexibo._internal.arrays import plain

MOST_STOPS = 8
SPACING = 3  # each stop is about this many times as far as the one before it
FARTHEST = 10**9
EARLIEST = 0.1  # a stop before this share of the way is not asked for: it tells little, and misleads where curves cross

Steps: TypeAlias = int | tuple[int, ...]


def checked_steps(steps: object) -> Steps | None:
    """Steps as they are kept, a number or ascending stops; None if they can be neither.

    >>> checked_steps(27), checked_steps([1, 3, 9]), checked_steps([3, 1]), checked_steps(0)
    (27, (1, 3, 9), None, None)
    """
    number = plain(steps)
    if _is_step(number):
        return int(number)
    if isinstance(steps, str | bytes) or not isinstance(steps, Iterable):
        return None
    stops = tuple(plain(step) for step in steps)
    is_usable = 0 < len(stops) <= MOST_STOPS and all(map(_is_step, stops))
    return stops if is_usable and all(a < b for a, b in pairwise(stops)) else None


def stops_of(steps: Steps | None) -> tuple[int, ...]:
    """The stops that steps stand for, ascending; a number stands for itself, a third of it, a ninth and so on.

    >>> stops_of(27), stops_of(52), stops_of((2, 5)), stops_of(None)
    ((1, 3, 9, 27), (1, 2, 6, 18, 52), (2, 5), ())
    """
    if steps is None or isinstance(steps, tuple):
        return steps or ()
    parts = (-(-steps // SPACING**k) for k in range(MOST_STOPS))
    return tuple(sorted(set(parts)))


def share(start: int, stop: int | None, stops: tuple[int, ...]) -> float:
    """The share of the whole way that lies between two steps; 1 where there are no steps.

    >>> share(9, 27, (9, 27)), share(0, None, ())
    (0.6666666666666666, 1.0)
    """
    return 1.0 if stop is None or not stops else (stop - start) / stops[-1]


def _is_step(number: object) -> bool:
    return type(number) is int and 1 <= number <= FARTHEST
