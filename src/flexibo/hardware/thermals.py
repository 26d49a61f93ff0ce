"""Temperature and throttling: what makes two readings of the same work differ.

The hottest of the processors and GPUs, from the drivers' files (hwmon, else thermal zones) and NVML; how often a
processor was slowed down, from the counters of x86 cores; how long a GPU was, from NVML. What is not readable is left
out: a reading is worth something without it.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexibo.errors import InvalidValueError
from flexibo.hardware.base import MeterError
from flexibo.hardware.ina3221 import SYS
from flexibo.hardware.nvml import load_pynvml

CHIPS = frozenset({"coretemp", "k10temp", "zenpower", "cpu_thermal", "amdgpu", "scpi_sensors", "apm_xgene"})
_ZONE = re.compile(r"cpu|gpu|soc|pkg|core|tj", re.IGNORECASE)
GPU_TEMPERATURE = 0  # NVML_TEMPERATURE_GPU
POLICIES = {1: "temperature", 0: "power limit"}  # NVML_PERF_POLICY_THERMAL, NVML_PERF_POLICY_POWER
LOOK_SECONDS = 1.0  # the time between two looks at the temperature


NO_TEMPERATURE = "No temperature of a processor or GPU can be read here; do not ask to wait for one."


class TooHotError(MeterError):
    """The machine did not cool down in time, or its temperature cannot be read."""


@dataclass(frozen=True, slots=True)
class Temperature:
    """A temperature in degrees Celsius, and where it was read."""

    celsius: float
    where: str


class Thermals:
    """The temperature of a machine, and how much it was slowed down.

    Args:
        root: The folder /sys; different in tests and containers.
        library: The module `pynvml`, or an object with the same functions; None imports it if it is installed.
    """

    def __init__(self, root: str | Path = SYS, *, library: Any = None) -> None:
        self._root = Path(root)
        self._nvml = _opened(library)

    def hottest(self) -> Temperature | None:
        """The highest temperature of processors and GPUs; None if none can be read."""
        found = [*self._chips(), *self._gpus()]
        return max(found, key=lambda one: one.celsius, default=None)

    def slowdowns(self) -> dict[str, float]:
        """Counters that rise when something is slowed down; only differences are meaningful."""
        cores = (self._root / "devices" / "system" / "cpu").glob("cpu[0-9]*/thermal_throttle/core_throttle_count")
        counts = [number for core in cores if (number := _number(core)) is not None]
        found = {"times processor cores were too hot": float(sum(counts))} if counts else {}
        for at, handle in enumerate(self._handles()):
            for policy, why in POLICIES.items():
                status = self._ask("nvmlDeviceGetViolationStatus", handle, policy)
                if status is not None:
                    found[f"s GPU {at} was slowed down by its {why}"] = status.violationTime / 1e9
        return found

    def close(self) -> None:
        """Release NVML; leaving a `with` block does so."""
        if self._nvml is not None:
            self._nvml.nvmlShutdown()
            self._nvml = None

    def __enter__(self) -> Thermals:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _chips(self) -> Iterator[Temperature]:
        found = False
        for folder in sorted((self._root / "class" / "hwmon").glob("hwmon*")):
            chip = _text(folder / "name")
            for file in sorted(folder.glob("temp*_input")) if chip in CHIPS else ():
                if (number := _number(file)) is not None:
                    found = True
                    yield Temperature(number / 1000, chip)
        for zone in () if found else sorted((self._root / "class" / "thermal").glob("thermal_zone*")):
            kind, number = _text(zone / "type"), _number(zone / "temp")
            if number is not None and _ZONE.search(kind):
                yield Temperature(number / 1000, kind)

    def _gpus(self) -> Iterator[Temperature]:
        for at, handle in enumerate(self._handles()):
            celsius = self._ask("nvmlDeviceGetTemperature", handle, GPU_TEMPERATURE)
            if celsius is not None:
                yield Temperature(float(celsius), f"GPU {at}")

    def _handles(self) -> list[Any]:
        count = 0 if self._nvml is None else self._ask("nvmlDeviceGetCount") or 0
        handles = (self._ask("nvmlDeviceGetHandleByIndex", at) for at in range(int(count)))
        return [handle for handle in handles if handle is not None]

    def _ask(self, function: str, *arguments: object) -> Any:
        try:
            return getattr(self._nvml, function)(*arguments)
        except Exception:  # NVML's own error, or an old binding without the function
            return None


def risen(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """What was slowed down between two moments.

    >>> risen({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 5.0})
    {'b': 3.0}
    """
    return {what: after[what] - before[what] for what in before if after.get(what, 0.0) > before[what]}


def check_celsius(celsius: float, thermals: Thermals | None = None) -> None:
    """Refuse a temperature that is no possible one to wait for, or, where a machine is given, that cannot be read."""
    if not (math.isfinite(celsius) and -50 <= celsius <= 150):
        raise InvalidValueError(f"The temperature to wait for is {celsius!r} degrees; it must be from -50 to 150.")
    if thermals is not None and thermals.hottest() is None:
        raise TooHotError(NO_TEMPERATURE)


def cool_down(
    hottest: Callable[[], Temperature | None],
    celsius: float,
    *,
    limit_seconds: float = 600.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> float:
    """Wait until the machine is at most this warm; returns the seconds that took.

    Raises:
        InvalidValueError: The temperature or the limit is no possible number.
        TooHotError: It is warmer after the limit, or no temperature can be read.
    """
    check_celsius(celsius)
    if not (math.isfinite(limit_seconds) and limit_seconds > 0):
        raise InvalidValueError(f"The limit is {limit_seconds!r} s; it must be a positive number.")
    begin = clock()
    while True:
        now = hottest()
        if now is None:
            raise TooHotError(NO_TEMPERATURE)
        if now.celsius <= celsius:
            return clock() - begin
        if clock() - begin >= limit_seconds:
            raise TooHotError(
                f"{now.where} has {now.celsius:g} degrees Celsius after {limit_seconds:g} s, and was to cool down to "
                f"{celsius:g}; wait for a higher temperature or for longer, or find what keeps the machine busy."
            )
        sleep(min(LOOK_SECONDS, max(limit_seconds - (clock() - begin), 0.001)))


def _opened(library: Any) -> Any:
    try:
        nvml = load_pynvml() if library is None else library
        nvml.nvmlInit()
    except Exception:  # no binding, no driver, no GPU: each has an error of its own
        return None
    return nvml


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
