"""Pauses between attempts to get a lock that many processes want."""

from __future__ import annotations

import random
from collections.abc import Callable

SHORTEST, LONGEST = 0.001, 0.2  # seconds
_SHARE = 16  # a pause is this part of the wait
_AGED = 5.0  # seconds after which a process counts as overdue, and its pauses shrink
_AGED_SHORTEST = 0.02
_MEMORY = 4  # the usual wait is that of about so many waits
_chance = random.SystemRandom()  # independent of the user's seeds, and different in forked processes


class Congestion:
    """How crowded a lock is, by the waits of this process.

    Whoever waits longer has more processes before it. A pause is a fixed part of the wait, of this one or of the usual
    one: so the lock stands free for that part of the time only, whether few or many wait, and the attempts of those who
    wait leave the processor to the one that holds the lock. All wait about equally long and so have equal chances, and
    one that had bad luck for seconds tries more often than the others.
    """

    def __init__(self, uniform: Callable[[float, float], float] = _chance.uniform) -> None:
        self._uniform = uniform
        self._usual = 0.0

    def pause(self, waited: float) -> float:
        """Seconds until the next attempt, after `waited` seconds without success; random, so that no two agree."""
        seconds = min(max(self._usual, waited) / _SHARE, LONGEST)
        if waited > _AGED:
            seconds = min(seconds, max(LONGEST * (_AGED / waited) ** 2, _AGED_SHORTEST))
        return self._uniform(0.5, 1.5) * max(seconds, SHORTEST)

    def got(self, waited: float) -> None:
        """Remember how long it took to get the lock."""
        self._usual += (waited - self._usual) / _MEMORY
