"""An estimate in place of a meter: the nominal power of a device times the time that passes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from flexibo.errors import InvalidValueError


class EstimatedMeter:
    """Joules that nobody measured: nominal watts times the seconds since the meter was made.

    It makes a design that takes half the time cost half the energy, whatever it does with the device. Its readings
    carry `is_estimate` and are never to be stored as measured.

    >>> EstimatedMeter(15).name
    'estimate: 15 W x time'

    Args:
        watts: The power that the device is assumed to draw all the time.
        clock: Seconds.

    Raises:
        InvalidValueError: The power is not a positive number.
    """

    update_seconds = 0.0
    is_estimate = True

    def __init__(self, watts: float, clock: Callable[[], float] = time.perf_counter) -> None:
        if not (math.isfinite(watts) and watts > 0):
            raise InvalidValueError(f"The nominal power is {watts!r} W; it must be a positive number of watts.")
        self._watts = watts
        self._clock = clock
        self._start = clock()

    @property
    def name(self) -> str:
        """What is assumed, for a report."""
        return f"estimate: {self._watts:g} W x time"

    def read_joules(self) -> float:
        """The assumed energy since the meter was made."""
        return self._watts * (self._clock() - self._start)
