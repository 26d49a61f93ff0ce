"""An estimate instead of a meter: the nominal power of a device times the elapsed time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from flexibo.errors import InvalidValueError


class EstimatedMeter:
    """Estimated joules: nominal watts times the seconds since the meter was created.

    A design that takes half the time gets half the energy, however it uses the device. Readings are marked with
    `is_estimate` and must not be stored as measurements.

    >>> EstimatedMeter(15).name
    'estimate: 15 W x time'
    """

    update_seconds = 0.0
    is_estimate = True

    def __init__(self, watts: float, clock: Callable[[], float] = time.perf_counter) -> None:
        if not (math.isfinite(watts) and watts > 0):
            raise InvalidValueError(f"The nominal power is {watts!r} W; it must be a positive number of watts.")
        self.name = f"estimate: {watts:g} W x time"
        self._watts = watts
        self._clock = clock
        self._start = clock()

    def read_joules(self) -> float:
        """The estimated energy since the meter was created."""
        return self._watts * (self._clock() - self._start)
