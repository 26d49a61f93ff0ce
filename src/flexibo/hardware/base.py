"""What a meter is: a counter of joules, and whether it can be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from flexibo.errors import MachineError


class MeterError(MachineError, OSError):
    """A meter cannot be read, or says what cannot be true."""


class EnergyMeter(Protocol):
    """A counter of the energy that a machine has used.

    Only differences between two readings mean anything; the counter starts wherever it likes.
    """

    @property
    def name(self) -> str:
        """What is read, for a report: "RAPL, 2 packages"."""
        ...

    @property
    def update_seconds(self) -> float:
        """How often the counter moves; what is measured must last many times as long."""
        ...

    @property
    def is_estimate(self) -> bool:
        """Whether the joules are calculated from an assumption instead of measured."""
        ...

    def read_joules(self) -> float:
        """The energy used so far; it never falls, because the meter takes care of wrap-around."""
        ...


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a meter can be read; true and false like a bool.

    >>> bool(Availability(False, "There is no such folder."))
    False

    Attributes:
        is_available: Whether it can be read.
        reason: If not, why; otherwise what is read, where that is said.
    """

    is_available: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.is_available
