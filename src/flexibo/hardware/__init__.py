"""Meters, and in `flexibo.hardware.knobs` knobs: one file per device family. Imports errors and `_internal` only."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from flexibo.errors import MissingExtraError, unknown_name
from flexibo.hardware.base import Availability, EnergyMeter, MeterError
from flexibo.hardware.estimate import EstimatedMeter
from flexibo.hardware.ina3221 import SYS, Ina3221Meter, Ina3221UnavailableError
from flexibo.hardware.nvml import NvmlMeter, NvmlUnavailableError
from flexibo.hardware.rapl import POWERCAP, RaplMeter, RaplUnavailableError
from flexibo.hardware.reading import EnergyReading, MeterStoppedError, idle_power, measure
from flexibo.hardware.sampling import SampledMeter

__all__ = [
    "METERS",
    "POWERCAP",
    "SYS",
    "Availability",
    "EnergyMeter",
    "EnergyReading",
    "EstimatedMeter",
    "Ina3221Meter",
    "Ina3221UnavailableError",
    "MeterError",
    "MeterPlaces",
    "MeterStoppedError",
    "NvmlMeter",
    "NvmlUnavailableError",
    "RaplMeter",
    "RaplUnavailableError",
    "SampledMeter",
    "find_meter",
    "idle_power",
    "measure",
    "meters_report",
    "open_meter",
]


@dataclass(frozen=True, slots=True)
class MeterPlaces:
    """Where meters are searched.

    Attributes:
        gpu: The GPU that NVML reads: an index among the visible GPUs or a UUID, or several of them.
        nvml: The module `pynvml`, or an object with the same functions; None imports it.
        powercap: The folder of the RAPL counters.
        sys: The folder /sys, for the sensors of Jetson boards.
    """

    gpu: int | str | Sequence[int | str] = 0
    nvml: Any = None
    powercap: str | Path = POWERCAP
    sys: str | Path = SYS


METERS: Mapping[str, Callable[[MeterPlaces], EnergyMeter]] = MappingProxyType(  # "auto" tries them in this order
    {
        "nvml": lambda places: NvmlMeter(places.gpu, library=places.nvml),
        "rapl": lambda places: RaplMeter(places.powercap),
        "ina3221": lambda places: Ina3221Meter(places.sys),
    }
)


def open_meter(kind: str, places: MeterPlaces | None = None) -> EnergyMeter:
    """The meter of this kind.

    Raises:
        UnknownNameError: There is no such kind.
        MeterError: It does not exist or cannot be read; the message says what to do.
        MissingExtraError: It needs a package that is not installed.
    """
    if kind not in METERS:
        raise unknown_name("meter", kind, METERS)
    return METERS[kind](places or MeterPlaces())


def find_meter(kind: str | Path = "auto", places: MeterPlaces | None = None) -> EnergyMeter | None:
    """The energy meter of this machine, or None if none can be read (`meters_report` says why).

    Args:
        kind: A name in `METERS`, or "auto" for the first that can be read. A folder means RAPL in that folder.
        places: Where to search.
    """
    if isinstance(kind, Path) or os.sep in kind:
        kind, places = "rapl", MeterPlaces(powercap=kind)
    for name in METERS if kind == "auto" else (kind,):
        try:
            return open_meter(name, places)
        except (MeterError, MissingExtraError):
            continue
    return None


def meters_report(places: MeterPlaces | None = None) -> dict[str, Availability]:
    """Whether each kind of meter can be read here, and if not, why."""
    report = {}
    for kind in METERS:
        try:
            report[kind] = Availability(True, open_meter(kind, places).name)
        except (MeterError, MissingExtraError) as error:
            report[kind] = Availability(False, str(error))
    return report
