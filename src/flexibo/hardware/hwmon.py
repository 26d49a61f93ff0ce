"""hwmon: the power and energy sensors of Linux drivers, under /sys/class/hwmon.

A chip is a folder `hwmonN` with its `name` and files such as

    energy1_input                      microjoules, a counter (Intel Arc GPUs, AMD processors with amd_energy)
    power1_input, power1_average       microwatts (AMD GPUs, supplies, INA sensors, the ACPI power meter of a server)
    power1_label, power1_oem_info      what it measures

Sensors of one machine overlap: a supply feeds the processor that another sensor measures. So nothing is added by guess:
the ACPI power meter of the whole machine is used, or the only sensor that there is; of several one is named, as chip or
chip/label.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from flexibo.hardware.base import EnergyMeter, MeterError, unreadable
from flexibo.hardware.counting import CounterMeter
from flexibo.hardware.ina3221 import SYS
from flexibo.hardware.sampling import SampledMeter
from flexibo.hardware.sums import SumMeter

SAMPLE_SECONDS = 0.02
COUNTER_SECONDS = 0.1  # drivers update counters between once per millisecond and ten times a second
WHOLE_MACHINE = "power_meter"  # the driver of ACPI power meters
_SENSOR = re.compile(r"(energy\d+)_input|(power\d+)_(input|average)")
_SUPPLY = re.compile(r"BAT|AC|ADP|ucsi", re.IGNORECASE)  # what flows there charges a battery too


class HwmonUnavailableError(MeterError):
    """There is no such sensor, it cannot be read, or it is not known which to use."""


@dataclass(frozen=True, slots=True)
class HwmonSensor:
    """One sensor of a chip.

    Attributes:
        chip: The name of the chip, such as "amdgpu".
        channel: The channel, such as "power1".
        label: What it measures, as the driver says; empty if it does not.
        file: The file with the number, in microjoules or microwatts.
        period_seconds: How often the number changes, as far as the driver says.
    """

    chip: str
    channel: str
    label: str
    file: Path
    period_seconds: float = SAMPLE_SECONDS

    @property
    def is_counter(self) -> bool:
        """Whether it counts energy, rather than reporting power."""
        return self.channel.startswith("energy")

    @property
    def name(self) -> str:
        """How a user names it."""
        return f"{self.chip}/{self.label or self.channel}"

    def read(self) -> float:
        """Joules or watts."""
        return int(self.file.read_text()) / 1e6

    def answers_to(self, name: str) -> bool:
        """Whether a user means this sensor by a chip, a folder such as hwmon2, or either with a label or channel."""
        chip, _, what = name.partition("/")
        folder = next((part for part in reversed(self.file.parts) if re.fullmatch(r"hwmon\d+", part)), "")
        return chip in (self.chip, folder) and what in ("", self.label, self.channel)


class HwmonMeter(SumMeter):
    """The energy of sensors of Linux drivers in joules: counters as they are, powers sampled and integrated.

    Args:
        root: The folder /sys; different in tests and containers.
        sensors: Names such as "amdgpu" or "ina226/VDD_CPU", whose energies are added; by default the ACPI power meter,
            or the only sensor that there is.
        clock: Seconds.

    Attributes:
        sensors: The sensors that are read.

    Raises:
        HwmonUnavailableError: A sensor is missing or cannot be read, or several are there and none is named.
    """

    def __init__(
        self,
        root: str | Path = SYS,
        *,
        sensors: Iterable[str] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        folder = Path(root) / "class" / "hwmon"
        found = list(hwmon_sensors(root))
        wanted = (sensors,) if isinstance(sensors, str) else sensors
        self.sensors = _only_one(found, folder) if wanted is None else _named(found, folder, tuple(wanted))
        super().__init__(opened(self.sensors, "hwmon", clock))
        self.name = f"hwmon, {' + '.join(sensor.name for sensor in self.sensors)}"


def hwmon_sensors(root: str | Path) -> Iterator[HwmonSensor]:
    """All sensors of power and energy, those of a chip that has a counter without its powers."""
    for folder in sorted((Path(root) / "class" / "hwmon").glob("hwmon*"), key=_number):
        # ACPI power meters have their files in the folder of the device, on older kernels other drivers too.
        for place in (folder, folder / "device"):
            found = list(_sensors_of(place, _text(folder / "name") or _text(place / "name") or folder.name))
            if found:
                counters = [sensor for sensor in found if sensor.is_counter]
                yield from counters or found
                break


def opened(sensors: Sequence[HwmonSensor], what: str, clock: Callable[[], float]) -> list[EnergyMeter]:
    """A meter for each sensor; an error that says what to do if one cannot be read."""
    meters: list[EnergyMeter] = []
    try:
        for sensor in sensors:
            sensor.read()  # fails early
            meters.append(_counter(sensor) if sensor.is_counter else _sampled(sensor, what, clock))
    except PermissionError as error:
        raise HwmonUnavailableError(unreadable(error)) from error
    except (OSError, ValueError) as error:
        raise HwmonUnavailableError(f"The sensor {sensor.name} ({sensor.file}) cannot be read: {error}.") from error
    return meters


def _counter(sensor: HwmonSensor) -> CounterMeter:
    return CounterMeter(sensor.read, name=sensor.name, update_seconds=COUNTER_SECONDS)


def _sampled(sensor: HwmonSensor, what: str, clock: Callable[[], float]) -> SampledMeter:
    # A sensor without load sometimes reads slightly below zero.
    return SampledMeter(
        lambda: max(sensor.read(), 0.0),
        period_seconds=sensor.period_seconds,
        clock=clock,
        name=f"{what} {sensor.name}",
    )


def _sensors_of(folder: Path, chip: str) -> Iterator[HwmonSensor]:
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError:
        return
    seen = set()
    for name in names:  # power1_average comes before power1_input, which is the same or follows it more closely
        match = _SENSOR.fullmatch(name)
        channel = match and (match[1] or match[2])
        if not channel or channel in seen or _text(folder / f"{channel}_is_battery") == "1":
            continue
        seen.add(channel)
        file = folder / (f"{channel}_input" if f"{channel}_input" in names else name)
        label = _text(folder / f"{channel}_label") or _text(folder / f"{channel}_oem_info")
        interval = _text(folder / f"{channel}_average_interval")  # milliseconds
        period = max(SAMPLE_SECONDS, int(interval) / 1000) if interval.isdecimal() else SAMPLE_SECONDS
        yield HwmonSensor(chip, channel, label, file, period)


def _only_one(found: Sequence[HwmonSensor], folder: Path) -> tuple[HwmonSensor, ...]:
    usable = [sensor for sensor in found if not _SUPPLY.match(sensor.chip)]
    whole = [sensor for sensor in usable if sensor.chip == WHOLE_MACHINE]
    if len(whole) == 1 or len(usable) == 1:
        return tuple(whole if len(whole) == 1 else usable)
    if not found:
        raise HwmonUnavailableError(f"There is no sensor of power or energy under {folder}.")
    example = (usable or list(found))[0].name
    raise HwmonUnavailableError(
        f"Of the sensors {_listed(found)} under {folder} it is not known which to use, because they may overlap; name "
        f"one, as in hwmon:{example}."
    )


def _named(found: Sequence[HwmonSensor], folder: Path, names: Sequence[str]) -> tuple[HwmonSensor, ...]:
    chosen: list[HwmonSensor] = []
    for name in names:
        meant = [sensor for sensor in found if sensor.answers_to(name)]
        if not meant:
            there = f"there are {_listed(found)}" if found else "there is none"
            raise HwmonUnavailableError(f"There is no sensor {name!r} under {folder}; {there}.")
        if len(meant) > 1:
            raise HwmonUnavailableError(
                f"{name!r} names several sensors, which may overlap: {_listed(meant)}; name one of them."
            )
        chosen += [sensor for sensor in meant if sensor not in chosen]
    if not chosen:
        raise HwmonUnavailableError(f"No sensor was named; there are {_listed(found) or 'none'}.")
    return tuple(chosen)


def _listed(sensors: Sequence[HwmonSensor]) -> str:
    names = [sensor.name for sensor in sensors]
    shown = [
        name if names.count(name) == 1 else f"{sensor.file.parent.name}/{sensor.label or sensor.channel}"
        for name, sensor in zip(names, sensors, strict=True)
    ]
    return ", ".join(shown)


def _number(path: Path) -> int:
    digits = re.sub(r"\D", "", path.name)
    return int(digits) if digits else -1


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
