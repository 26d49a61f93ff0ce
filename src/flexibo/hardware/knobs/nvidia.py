"""Knobs of NVIDIA GPUs through their driver (NVML): graphics clock, memory clock, power limit, if the user allows it.

The driver does not report locked clocks. So a clock cannot be verified, and restoring it means unlocking it, even if
it was locked before. All settings end when the driver is unloaded. Without persistence mode, that happens as soon as
nothing uses the GPU, so the library stays open until the process ends.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from flexibo.errors import InvalidValueError, missing_extra
from flexibo.hardware.knobs._frequencies import spread, step_of
from flexibo.hardware.knobs.base import HERE, KnobUnavailableError, Level, Write, changes
from flexibo.hardware.knobs.files import NVML

UNLOCKED = "unlocked"
_GRAPHICS, _MEMORY = 0, 2  # NVML_CLOCK_GRAPHICS, NVML_CLOCK_MEM
_MHZ = 1e3  # per GHz
_MW = 1e3  # per W
_POWER_TOLERANCE = 0.01
_FORBIDDEN = "Clocks and power limits of GPUs are not changed unless allowed; give allow=True or --allow-gpu."


class NvidiaGpus:
    """The GPUs of a machine, read and written as texts with names such as "nvml:0/power_limit_mw".

    Reading is always allowed, changing only with `allow`. The binding pynvml (extra `nvml`) is opened when first
    needed.
    """

    def __init__(self, *, allow: bool = False, library: Any = None) -> None:
        self._allow = allow
        self._library = library
        self._is_open = False
        self.roots = HERE

    def read(self, path: str) -> str:
        """The power limit in mW; locked clocks cannot be read."""
        index, what = _parted(path)
        if what != "power_limit_mw":
            raise OSError(errno.ENOTSUP, "the driver does not report locked clocks", path)
        return str(self.ask("nvmlDeviceGetPowerManagementLimit", index))

    def write(self, path: str, text: str) -> None:
        """Set the power limit in mW, or lock the clocks in MHz, or unlock them."""
        if not self._allow:
            raise PermissionError(errno.EPERM, _FORBIDDEN, path)
        index, what = _parted(path)
        if what == "power_limit_mw":
            self.ask("nvmlDeviceSetPowerManagementLimit", index, int(text))
            return
        which = "Memory" if what == "locked_memory_clock_mhz" else "Gpu"
        if text == UNLOCKED:
            self.ask(f"nvmlDeviceReset{which}LockedClocks", index)
        else:
            self.ask(f"nvmlDeviceSet{which}LockedClocks", index, int(text), int(text))

    def refusal(self, path: str) -> str:
        """Why nothing may be written; whether the driver permits it is only known when it is tried."""
        return "" if self._allow else _FORBIDDEN

    def ask(self, function: str, index: int, *arguments: int) -> Any:
        """The result of a function of the driver for a GPU; its errors become OSErrors."""
        library = self._open()
        try:
            return getattr(library, function)(library.nvmlDeviceGetHandleByIndex(index), *arguments)
        except library.NVMLError as error:
            if error.value == library.NVML_ERROR_NO_PERMISSION:
                raise PermissionError(errno.EPERM, str(error)) from error
            raise OSError(errno.EIO, str(error)) from error

    def _open(self) -> Any:
        if self._library is None:
            try:
                self._library = import_module("pynvml")
            except ImportError:
                raise KnobUnavailableError(str(missing_extra("nvidia-ml-py", "nvml"))) from None
        if not self._is_open:
            try:
                self._library.nvmlInit()
            except self._library.NVMLError as error:
                raise KnobUnavailableError(f"There is no NVIDIA GPU: {error}.") from None
            self._is_open = True
        return self._library

    def answer(self, function: str, index: int, *arguments: int) -> Any:
        """Like `ask`, but an error of the driver means that the knob is not available."""
        if not self._allow:
            raise KnobUnavailableError(_FORBIDDEN)
        try:
            return self.ask(function, index, *arguments)
        except KnobUnavailableError:
            raise
        except OSError as error:
            raise KnobUnavailableError(f"GPU {index} does not support it: {error.strerror}.") from None


@dataclass(frozen=True, slots=True)
class GpuClock:
    """The locked graphics clock of a GPU, in GHz; at most `steps` frequencies are offered."""

    gpus: NvidiaGpus
    index: int = 0
    steps: int = 8
    name: str = "gpu_clock"

    def values(self) -> tuple[Level, ...]:
        """The steps of the GPU at its fastest memory clock."""
        return spread(self._table(), self.steps)

    def read(self) -> Level:
        """The present clock, locked or not."""
        return float(self.gpus.answer("nvmlDeviceGetClockInfo", self.index, _GRAPHICS)) / _MHZ

    def writes(self, value: Level) -> tuple[Write, ...]:
        """One lock."""
        target = round(step_of(self.name, value, self._table()) * _MHZ)
        return (Write(f"{NVML}{self.index}/locked_clock_mhz", str(target), UNLOCKED, readable=False),)

    def _table(self) -> list[float]:
        memory = max(self.gpus.answer("nvmlDeviceGetSupportedMemoryClocks", self.index))
        clocks = self.gpus.answer("nvmlDeviceGetSupportedGraphicsClocks", self.index, memory)
        return sorted(clock / _MHZ for clock in clocks)


@dataclass(frozen=True, slots=True)
class MemoryClock:
    """The locked memory clock of a GPU, in GHz; at most `steps` frequencies are offered. The driver may need root."""

    gpus: NvidiaGpus
    index: int = 0
    steps: int = 8
    name: str = "gpu_memory_clock"

    def values(self) -> tuple[Level, ...]:
        """The memory clocks of the GPU."""
        return spread(self._table(), self.steps)

    def read(self) -> Level:
        """The present clock, locked or not."""
        return float(self.gpus.answer("nvmlDeviceGetClockInfo", self.index, _MEMORY)) / _MHZ

    def writes(self, value: Level) -> tuple[Write, ...]:
        """One lock."""
        target = round(step_of(self.name, value, self._table()) * _MHZ)
        return (Write(f"{NVML}{self.index}/locked_memory_clock_mhz", str(target), UNLOCKED, readable=False),)

    def _table(self) -> list[float]:
        clocks = self.gpus.answer("nvmlDeviceGetSupportedMemoryClocks", self.index)
        return sorted(clock / _MHZ for clock in clocks)


@dataclass(frozen=True, slots=True)
class PowerLimit:
    """The power limit of a GPU in watts; `steps` limits are offered."""

    gpus: NvidiaGpus
    index: int = 0
    steps: int = 8
    name: str = "power_limit"

    def values(self) -> tuple[Level, ...]:
        """Whole watts, evenly spaced over the range of the GPU."""
        low, high = self._range()
        return spread(range(int(np.ceil(low)), int(high) + 1), self.steps)

    def read(self) -> Level:
        """The present limit."""
        return float(self.gpus.answer("nvmlDeviceGetPowerManagementLimit", self.index)) / _MW

    def writes(self, value: Level) -> tuple[Write, ...]:
        """One write, or none if the GPU has this limit already."""
        low, high = self._range()
        if isinstance(value, (str, bool)) or not low <= value <= high:
            raise InvalidValueError(f"Option {self.name!r} is {value!r}; it must be between {low:g} and {high:g}.")
        path = f"{NVML}{self.index}/power_limit_mw"
        before = str(self.gpus.answer("nvmlDeviceGetPowerManagementLimit", self.index))
        return changes([Write(path, str(round(value * _MW)), before, tolerance=_POWER_TOLERANCE)])

    def _range(self) -> tuple[float, float]:
        low, high = self.gpus.answer("nvmlDeviceGetPowerManagementLimitConstraints", self.index)
        return low / _MW, high / _MW


def nvidia_knobs(
    gpus: NvidiaGpus, *, index: int = 0, steps: int = 8
) -> tuple[GpuClock | MemoryClock | PowerLimit, ...]:
    """The knobs of one GPU, in the order in which they are set: graphics clocks depend on the memory clock."""
    return (PowerLimit(gpus, index, steps), MemoryClock(gpus, index, steps), GpuClock(gpus, index, steps))


def _parted(path: str) -> tuple[int, str]:
    index, _, what = path.removeprefix(NVML).partition("/")
    return int(index), what
