"""Grace: the power of NVIDIA's Grace modules, processor and GPU with their memories together.

Linux shows it through ACPI power meters, one for each rail of a socket, with `power1_oem_info`:

    Module Power Socket 0     everything on the module: on a GH200 processor, GPU and both memories
    Grace Power Socket 0      the Grace part of it
    CPU Power Socket 0, SysIO Power Socket 0      parts of the Grace part

The modules are added, or the Grace parts if there is no module meter. Without these files NVML is asked for the power
of the module of each GPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from flexibo.hardware.base import EnergyMeter, MeterError
from flexibo.hardware.hwmon import SAMPLE_SECONDS, WHOLE_MACHINE, hwmon_sensors, opened
from flexibo.hardware.ina3221 import SYS
from flexibo.hardware.nvml import NvmlUnavailableError, load_pynvml
from flexibo.hardware.sampling import SampledMeter
from flexibo.hardware.sums import SumMeter

RAILS = ("Module Power Socket", "Grace Power Socket")
POWER_INSTANT = 186  # NVML_FI_DEV_POWER_INSTANT
MODULE_SCOPE = 1  # NVML_POWER_SCOPE_MODULE


class GraceUnavailableError(MeterError):
    """This is no Grace module, or its power cannot be read."""


class GraceMeter(SumMeter):
    """The energy of all Grace modules of a machine in joules: their sampled power, integrated.

    Args:
        root: The folder /sys; different in tests and containers.
        library: The module `pynvml`, or an object with the same functions; None imports it where it is needed.
        clock: Seconds.

    Raises:
        GraceUnavailableError: There is no such module, or it cannot be read.
    """

    def __init__(
        self, root: str | Path = SYS, *, library: Any = None, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        found = _from_files(root, clock) or _from_nvml(library, clock)
        if not found:
            raise GraceUnavailableError(
                f"There is no power meter of a Grace module: none under {Path(root) / 'class' / 'hwmon'}, and NVML "
                "reports none."
            )
        super().__init__(list(found.values()))
        self.name = f"Grace, {' + '.join(found)}"


def _from_files(root: str | Path, clock: Callable[[], float]) -> dict[str, EnergyMeter]:
    sensors = [sensor for sensor in hwmon_sensors(root) if sensor.chip == WHOLE_MACHINE]
    for rail in RAILS:
        found = [sensor for sensor in sensors if sensor.label.startswith(rail)]
        if found:
            return dict(zip((sensor.label for sensor in found), opened(found, "Grace", clock), strict=True))
    return {}


def _from_nvml(library: Any, clock: Callable[[], float]) -> dict[str, EnergyMeter]:
    try:
        nvml = load_pynvml() if library is None else library
        nvml.nvmlInit()
    except Exception:  # no binding, no driver, no GPU: each has an error of its own
        return {}
    meters: dict[str, EnergyMeter] = {}
    for at in range(int(nvml.nvmlDeviceGetCount())):
        handle = nvml.nvmlDeviceGetHandleByIndex(at)
        read = partial(module_watts, nvml, handle)
        try:
            read()
        except NvmlUnavailableError:
            continue  # a GPU on a card of its own
        name = f"module of GPU {at}"
        meters[name] = SampledMeter(read, period_seconds=SAMPLE_SECONDS, clock=clock, name=name)
    return meters


def module_watts(nvml: Any, handle: Any) -> float:
    """The power of the module that a GPU is on; NvmlUnavailableError if it is on none."""
    field = (getattr(nvml, "NVML_FI_DEV_POWER_INSTANT", POWER_INSTANT), MODULE_SCOPE)
    try:
        found = nvml.nvmlDeviceGetFieldValues(handle, [field])[0]
    except Exception as error:  # an old binding takes no scopes
        raise NvmlUnavailableError(f"NVML reports no module power: {error}.") from error
    if found.nvmlReturn != 0 or found.value.uiVal <= 0:
        raise NvmlUnavailableError("NVML reports no module power.")
    return float(found.value.uiVal) / 1000
