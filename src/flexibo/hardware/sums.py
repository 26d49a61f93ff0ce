"""A sum of meters, such as processor and GPU."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from flexibo.errors import InvalidValueError
from flexibo.hardware.base import EnergyMeter, MeterError, close_meter

if TYPE_CHECKING:
    from types import TracebackType


class SumMeter:
    """The joules of several meters together; their devices must not overlap, or energy counts twice.

    Args:
        meters: The meters, at least one.
    """

    def __init__(self, meters: Sequence[EnergyMeter]) -> None:
        if not meters:
            raise InvalidValueError("A sum of meters needs at least one meter; none was given.")
        self._meters = tuple(meters)
        self.name = " + ".join(meter.name for meter in self._meters)
        self.is_estimate = any(meter.is_estimate for meter in self._meters)

    @property
    def update_seconds(self) -> float:
        """The update interval of the slowest meter."""
        return max(meter.update_seconds for meter in self._meters)

    def read_joules(self) -> float:
        """The energy of all meters; an error if one of them cannot be read."""
        # All are read before an error is raised, so that a counter that fell fails one reading only.
        joules, failure = 0.0, None
        for meter in self._meters:
            try:
                joules += meter.read_joules()
            except MeterError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return joules

    def close(self) -> None:
        """Close the meters; leaving a `with` block does so."""
        with ExitStack() as stack:
            for meter in self._meters:
                stack.callback(close_meter, meter)

    def __enter__(self) -> SumMeter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
