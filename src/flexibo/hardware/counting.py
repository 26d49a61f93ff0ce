"""A meter from a counter of joules that starts anywhere."""

from __future__ import annotations

from collections.abc import Callable

from flexibo.hardware.base import MeterError


class CounterMeter:
    """The joules of a counter since this object was made.

    Args:
        read: The joules of the counter now.
        name: What is read.
        update_seconds: The time between two updates of the counter.
    """

    is_estimate = False

    def __init__(self, read: Callable[[], float], *, name: str, update_seconds: float) -> None:
        self.name = name
        self.update_seconds = update_seconds
        self._read = read
        self._last = read()
        self._total = 0.0

    def read_joules(self) -> float:
        """The energy since the start; an error if the counter fell, as when its driver is loaded again."""
        now = self._read()
        before, self._last = self._last, now
        if now < before:
            raise MeterError(f"{self.name} fell from {before:g} J to {now:g} J, and energy only grows; measure again.")
        self._total += now - before
        return self._total
