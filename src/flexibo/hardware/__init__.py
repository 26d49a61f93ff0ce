"""Meters, and in `flexibo.hardware.knobs` knobs: one file per device family. Imports errors and `_internal` only."""

from __future__ import annotations

from flexibo.hardware.amd import AmdMeter, AmdUnavailableError
from flexibo.hardware.apple import AppleMeter, AppleUnavailableError
from flexibo.hardware.base import Availability, EnergyMeter, MeterError, close_meter
from flexibo.hardware.by_command import CommandMeter, CommandMeterError
from flexibo.hardware.counting import CounterMeter
from flexibo.hardware.estimate import EstimatedMeter
from flexibo.hardware.grace import GraceMeter, GraceUnavailableError
from flexibo.hardware.hwmon import HwmonMeter, HwmonUnavailableError
from flexibo.hardware.ina3221 import SYS, Ina3221Meter, Ina3221UnavailableError
from flexibo.hardware.metered import (
    IdlePower,
    MeteredRun,
    MeteredRuns,
    TooShortError,
    measured_idle,
    metered,
    metered_runs,
)
from flexibo.hardware.nvml import NvmlMeter, NvmlUnavailableError
from flexibo.hardware.rapl import POWERCAP, RaplMeter, RaplUnavailableError
from flexibo.hardware.reading import EnergyReading, MeterStoppedError, idle_power, measure
from flexibo.hardware.sampling import SampledMeter
from flexibo.hardware.sums import SumMeter
from flexibo.hardware.table import (
    METERS,
    MeterPlaces,
    chosen_meter,
    find_meter,
    is_meter_name,
    machine_meter,
    meters_report,
    open_meter,
)
from flexibo.hardware.thermals import Temperature, Thermals, TooHotError, cool_down

__all__ = [
    "METERS",
    "POWERCAP",
    "SYS",
    "AmdMeter",
    "AmdUnavailableError",
    "AppleMeter",
    "AppleUnavailableError",
    "Availability",
    "CommandMeter",
    "CommandMeterError",
    "CounterMeter",
    "EnergyMeter",
    "EnergyReading",
    "EstimatedMeter",
    "GraceMeter",
    "GraceUnavailableError",
    "HwmonMeter",
    "HwmonUnavailableError",
    "IdlePower",
    "Ina3221Meter",
    "Ina3221UnavailableError",
    "MeterError",
    "MeterPlaces",
    "MeterStoppedError",
    "MeteredRun",
    "MeteredRuns",
    "NvmlMeter",
    "NvmlUnavailableError",
    "RaplMeter",
    "RaplUnavailableError",
    "SampledMeter",
    "SumMeter",
    "Temperature",
    "Thermals",
    "TooHotError",
    "TooShortError",
    "chosen_meter",
    "close_meter",
    "cool_down",
    "find_meter",
    "idle_power",
    "is_meter_name",
    "machine_meter",
    "measure",
    "measured_idle",
    "metered",
    "metered_runs",
    "meters_report",
    "open_meter",
]
