"""A meter from a power sensor: watts, sampled in a thread and integrated over time."""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable

from flexibo.errors import InvalidValueError
from flexibo.hardware.base import MeterError


class SampledMeter:
    """The joules of a device that reports its power only: the integral of sampled watts by the trapezoidal rule.

    A thread samples from the first reading (or `start`) to `stop`, which leaving a `with` block calls. A later reading
    starts it again; the time in between is not counted. Each reading takes a sample, so that it includes the time up to
    now.

    If the sensor fails or returns an impossible power, the next reading raises an error, because the energy of that
    time is unknown. The meter continues with the next good sample.

    Args:
        power_watts: Reads the sensor; called from the thread and from readings, never at the same time.
        period_seconds: The time between two samples.
        clock: Seconds.
        name: What is read.
    """

    is_estimate = False

    def __init__(
        self,
        power_watts: Callable[[], float],
        *,
        period_seconds: float = 0.02,
        clock: Callable[[], float] = time.perf_counter,
        name: str = "power samples",
    ) -> None:
        if not (math.isfinite(period_seconds) and period_seconds > 0):
            raise InvalidValueError(f"period_seconds is {period_seconds!r}; it must be a positive number.")
        self._power_watts = power_watts
        self._clock = clock
        self.name = name
        self.update_seconds = period_seconds
        self._lock = threading.RLock()
        self._joules = 0.0
        self._last: tuple[float, float] | None = None
        self._failure: Exception | None = None
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    @property
    def is_sampling(self) -> bool:
        """Whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def read_joules(self) -> float:
        """The energy since the first sample, up to now; an error if the sensor failed since the last reading."""
        with self._lock:
            self.start()
            self.sample()
            failure, self._failure = self._failure, None
            if failure is not None:
                raise MeterError(f"{self.name}: the power cannot be read: {str(failure).rstrip('.')}.") from failure
            return self._joules

    def sample(self) -> None:
        """Read the sensor once and add the energy since the previous sample."""
        with self._lock:
            try:
                watts = self._power_watts()
                if not (math.isfinite(watts) and watts >= 0):
                    raise ValueError(f"it returned {watts!r} W")
            except Exception as error:  # raised by the next reading, not in the thread
                self._failure = self._failure or error
                self._last = None
                return
            now = self._clock()
            if self._last is not None:
                before, watts_before = self._last
                self._joules += max(now - before, 0.0) * (watts + watts_before) / 2
            self._last = now, watts

    def start(self) -> None:
        """Start the thread, unless it runs."""
        with self._lock:
            if self.is_sampling:
                return
            self._last = None
            self._stopped = threading.Event()
            # A weak reference, so that the thread ends when the meter is garbage-collected.
            arguments = (weakref.ref(self), self._stopped, self.update_seconds)
            self._thread = threading.Thread(target=_keep_sampling, args=arguments, name=self.name, daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for its end."""
        self._stopped.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def __enter__(self) -> SampledMeter:
        self.start()
        self.sample()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def _keep_sampling(reference: weakref.ref[SampledMeter], stopped: threading.Event, period_seconds: float) -> None:
    while not stopped.wait(period_seconds):
        meter = reference()
        if meter is None:
            return
        meter.sample()
        del meter
