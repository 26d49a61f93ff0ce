"""Meters and knobs: one file per device family."""

from __future__ import annotations

from pathlib import Path

from flexibo.hardware.base import Availability, EnergyMeter
from flexibo.hardware.rapl import POWERCAP, RaplMeter, RaplUnavailableError

__all__ = ["POWERCAP", "Availability", "EnergyMeter", "RaplMeter", "RaplUnavailableError", "find_meter"]


def find_meter(root: str | Path = POWERCAP) -> EnergyMeter | None:
    """The energy meter of this machine, or None where none can be read.

    Args:
        root: The powercap folder to look in.
    """
    try:
        return RaplMeter(root)
    except RaplUnavailableError:
        return None
