"""The contract of a meter: a counter of joules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from flexibo.errors import MachineError


class MeterError(MachineError, OSError):
    """A meter cannot be read, or its reading is impossible."""


def unreadable(error: OSError) -> str:
    """What to do about a file that this user may not read."""
    return f"{error.filename} may not be read by this user; run as root, or let root run: chmod a+r {error.filename}."


def close_meter(meter: EnergyMeter) -> None:
    """Release what a meter holds: a thread, a program, a library; many hold nothing."""
    close = getattr(meter, "close", None) or getattr(meter, "stop", None)
    if close is not None:
        close()


class EnergyMeter(Protocol):
    """A counter of the energy that a machine has used.

    Only differences between two readings are meaningful; the counter may start anywhere.
    """

    @property
    def name(self) -> str:
        """What is read, such as "RAPL, 2 packages"."""

    @property
    def update_seconds(self) -> float:
        """The time between two updates of the counter; a measurement must last many times as long."""

    @property
    def is_estimate(self) -> bool:
        """Whether the joules are calculated from an assumption instead of measured."""

    def read_joules(self) -> float:
        """The energy used so far; never falls, because the meter handles wrap-around."""


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a meter can be read; usable as a bool.

    >>> bool(Availability(False, "There is no such folder."))
    False

    Attributes:
        is_available: Whether it can be read.
        reason: Why not, or what is read.
    """

    is_available: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.is_available
