"""The state of a study, derived from its budget, its evaluations in flight and its workers' signs of life."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np

from flexibo.belief.costs import mean_costs
from flexibo.belief.price_list import ROUNDING
from flexibo.history import History
from flexibo.storage import Sign
from flexibo.storage.heartbeat import is_dead, is_lease_over

STATES = ("running", "waiting", "finished", "silent", "reading", "unreadable")
"""The states: being measured; with idle workers; at the end of its budget; without a worker before that; being read for
the first time; not readable."""


def state_of(history: History, alive: Collection[str]) -> str:
    """The state of a study that was read."""
    if any(holder.worker in alive for holder in history.assignments.values()):
        return "running"
    if alive:
        return "waiting"
    return "finished" if not history.pending and is_spent(history) else "silent"


def is_spent(history: History) -> bool:
    """Whether there is no further question: the budget is below the cheapest evaluation, or their number is reached."""
    most = (history.stop or {}).get("max_evaluations")
    if most is not None and len(history.asked) >= most:
        return True
    if history.budget is None:
        return False
    left = history.budget - history.spent
    prices = mean_costs(history)
    priced = prices[np.isfinite(prices) & (prices > 0)]
    return left <= ROUNDING * history.budget or (len(priced) > 0 and left < float(priced.min()))


class Heartbeats:
    """When each worker last gave a sign of life, by the clock of this process: clocks are never compared."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[int, float]] = {}

    def note(self, workers: Mapping[str, Sign]) -> None:
        """Record the latest signs of life; workers that left are forgotten."""
        now, before = self._clock(), self._seen
        self._seen = {
            worker: before[worker] if worker in before and before[worker][0] == sign.beat else (sign.beat, now)
            for worker, sign in workers.items()
        }

    def alive(self, workers: Mapping[str, Sign]) -> set[str]:
        """The workers that gave a sign within their lease and whose process is not known to be dead."""
        now = self._clock()
        return {
            worker
            for worker, sign in workers.items()
            if worker in self._seen
            and now - self._seen[worker][1] <= sign.lease
            and not is_dead(sign.about)
            and not is_lease_over(sign, now)
        }
