"""Pauses between attempts to get a lock that many processes want."""

from __future__ import annotations

import random
from collections.abc import Callable

SHORTEST, LONGEST = 0.001, 0.2  # seconds
_SHARE = 16  # those who wait try so often, all together, while one holds the lock
_SHORTEST_EACH = 0.0002  # seconds per process, so that all together do not try too often
_MEMORY = 8  # transactions that the average is over, about
_chance = random.SystemRandom()  # independent of the user's seeds, and different in forked processes


class Congestion:
    """How crowded a lock is: how many processes may want it, and for how long one holds it.

    A turn of all takes as long as both multiplied, and pauses are a part of that turn. So the attempts leave the
    processor to the one that holds the lock, and the lock is not free for long, whether few or many wait. Everybody has
    the same chances, except that they grow with the wait: nobody waits for ever.
    """

    def __init__(self, uniform: Callable[[float, float], float] = _chance.uniform) -> None:
        self.crowd = 1  # processes that may want the lock; 1 if unknown
        self._hold = SHORTEST
        self._uniform = uniform

    def pause(self, waited: float) -> float:
        """Seconds until the next attempt, after `waited` seconds without success; random, so that no two agree."""
        turn = self.crowd * self._hold
        if self.crowd <= 1:  # who waits that long is not alone
            turn = max(turn, waited)
        seconds = 2 * turn / (1 + waited / turn) / _SHARE
        seconds = max(seconds, SHORTEST, self.crowd * _SHORTEST_EACH)
        return self._uniform(0.5, 1.5) * min(seconds, LONGEST)

    def held(self, seconds: float) -> None:
        """Remember how long this process held the lock."""
        self._hold += (max(seconds, SHORTEST) - self._hold) / _MEMORY
