"""The table of meters: by name, in sums, by command, or whatever this machine has."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from flexibo.errors import InvalidValueError, MissingExtraError, UnknownNameError, unknown_name
from flexibo.hardware.amd import AmdMeter
from flexibo.hardware.apple import AppleMeter
from flexibo.hardware.base import Availability, EnergyMeter, MeterError, close_meter
from flexibo.hardware.by_command import PERIOD_SECONDS, CommandMeter
from flexibo.hardware.grace import GraceMeter
from flexibo.hardware.hwmon import HwmonMeter
from flexibo.hardware.ina3221 import SYS, Ina3221Meter
from flexibo.hardware.nvml import NvmlMeter
from flexibo.hardware.rapl import POWERCAP, RaplMeter
from flexibo.hardware.sums import SumMeter

AUTO = "auto"
SYS_VARIABLE = "FLEXIBO_SYS"


@dataclass(frozen=True, slots=True)
class MeterPlaces:
    """Where meters are searched.

    Attributes:
        gpu: The GPU that NVML reads: an index among the visible GPUs or a UUID, or several, or "all" visible ones.
        nvml: The module `pynvml`, or an object with the same functions; None imports it.
        powercap: The folder of the RAPL counters.
        sys: The folder /sys, for all other sensors.
        sensors: The sensors that hwmon reads, by name; None for the only one.
    """

    gpu: int | str | Sequence[int | str] = 0
    nvml: Any = None
    powercap: str | Path = POWERCAP
    sys: str | Path = SYS
    sensors: Sequence[str] | None = None

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> MeterPlaces:
        """The places of this machine; FLEXIBO_SYS names the folder /sys where it is elsewhere, as in a container."""
        sys = Path(environment.get(SYS_VARIABLE) or SYS)
        return cls(powercap=sys / POWERCAP.relative_to(SYS), sys=sys)


METERS: Mapping[str, Callable[[MeterPlaces], EnergyMeter]] = MappingProxyType(  # "auto" tries them in this order
    {
        "nvml": lambda places: NvmlMeter(places.gpu, library=places.nvml),
        "rapl": lambda places: RaplMeter(places.powercap),
        "ina3221": lambda places: Ina3221Meter(places.sys),
        "grace": lambda places: GraceMeter(places.sys, library=places.nvml),
        "amd": lambda places: AmdMeter(places.sys),
        "hwmon": lambda places: HwmonMeter(places.sys, sensors=places.sensors),
        "apple": lambda places: AppleMeter(),
    }
)
_PROCESSOR, _NVIDIA, _AMD = "the processor", "NVIDIA GPUs", "AMD GPUs"
COVERED: Mapping[str, frozenset[str]] = MappingProxyType(  # what each kind measures; a sum must have nothing twice
    {
        "nvml": frozenset({_NVIDIA}),
        "rapl": frozenset({_PROCESSOR}),
        "ina3221": frozenset({_PROCESSOR, _NVIDIA}),
        "grace": frozenset({_PROCESSOR, _NVIDIA}),
        "amd": frozenset({_AMD}),
        "hwmon": frozenset({_PROCESSOR, _NVIDIA, _AMD}),  # the whole machine, unless a sensor is named
        "apple": frozenset({_PROCESSOR}),
    }
)
_WHOLE = ("ina3221", "grace")  # of a module with everything that matters on it
_PARTS = ("rapl", "nvml:all", "amd")
_OTHERWISE = ("hwmon", "apple")


def is_meter_name(text: str) -> bool:
    """Whether a text names meters, rather than a command that is one.

    >>> is_meter_name("auto"), is_meter_name("rapl+nvml:0"), is_meter_name("read-my-plug --watts")
    (True, True, False)
    """
    kinds = [part.partition(":")[0].strip() for part in text.split("+")]
    return text == AUTO or all(kind in METERS for kind in kinds)


def check_meter_name(text: str, *, folder: str | Path | None = None, path: str | None = None) -> None:
    """Raise an error for a text that is neither the name of meters nor a command; nothing is opened or run.

    Args:
        text: What was given.
        folder: Where a command would run.
        path: The search path of programs; None: that of this process.
    """
    if text == AUTO:
        return
    if is_meter_name(text):
        _check_apart([part.strip() for part in text.split("+")])
        return
    is_word = re.fullmatch(r"[\w.+:-]+", text) is not None
    if not text.strip() or (is_word and shutil.which(text, path=path) is None):
        unknown = unknown_name("meter", text, (AUTO, *METERS))
        is_file = os.path.isfile(Path(folder or ".") / text)  # a name that is too long is none
        there = f" There is a file of that name; write ./{text}." if is_file else ""
        raise UnknownNameError(f"{unknown} A command that prints joules or watts is a meter too.{there}")


def chosen_meter(
    text: str,
    places: MeterPlaces | None = None,
    *,
    folder: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    period_seconds: float = PERIOD_SECONDS,
) -> EnergyMeter:
    """The meter that a user names: ``"auto"``, a name or a sum of names, or a command (see `CommandMeter`).

    Raises:
        UnknownNameError: It is neither a name nor a command.
        InvalidValueError: A device would count twice, or a detail is not understood.
        MeterError: It cannot be read; the message says what to do.
        MissingExtraError: It needs a package that is not installed.
    """
    text = text.strip()
    check_meter_name(text, folder=folder, path=None if environment is None else environment.get("PATH"))
    if text == AUTO:
        return machine_meter(places)
    if is_meter_name(text):
        return open_meter(text, places)
    return CommandMeter(text, folder=folder, environment=environment, period_seconds=period_seconds)


def open_meter(kind: str, places: MeterPlaces | None = None) -> EnergyMeter:
    """The meter of this kind, or the sum of several, as in ``"rapl+nvml"``.

    A detail may follow a colon: ``"nvml:1"``, ``"nvml:0,1"`` or ``"nvml:all"`` for other GPUs than the first visible
    one, ``"hwmon:amdgpu"`` or ``"hwmon:ina226/VDD_CPU"`` for a sensor.

    Raises:
        UnknownNameError: There is no such kind.
        InvalidValueError: A device would count twice, or a detail is not understood.
        MeterError: It does not exist or cannot be read; the message says what to do.
        MissingExtraError: It needs a package that is not installed.
    """
    parts = [part.strip() for part in kind.split("+")]
    _check_apart(parts)
    opened: list[EnergyMeter] = []
    try:
        for part in parts:
            name, _, detail = part.partition(":")
            opened.append(METERS[name](_placed(name, detail, places or MeterPlaces())))
    except BaseException:
        for meter in opened:
            close_meter(meter)
        raise
    return opened[0] if len(opened) == 1 else SumMeter(opened)


def machine_meter(places: MeterPlaces | None = None) -> EnergyMeter:
    """The meter of everything that can be read here: a board's or module's own, or the sum of processor and GPUs.

    Raises:
        MeterError: Nothing can be read; the message says what was looked for and what to do.
    """
    reasons: dict[str, MeterError | MissingExtraError] = {}

    def tried(kinds: Sequence[str]) -> list[EnergyMeter]:
        found = []
        for kind in kinds:
            try:
                found.append(open_meter(kind, places))
            except (MeterError, MissingExtraError) as error:
                reasons[kind.partition(":")[0]] = error
        return found

    for kind in _WHOLE:
        if whole := tried([kind]):
            return whole[0]
    if parts := tried(_PARTS):
        return parts[0] if len(parts) == 1 else SumMeter(parts)
    for kind in _OTHERWISE:
        if other := tried([kind]):
            return other[0]
    refused = [error for error in reasons.values() if isinstance(error.__cause__, PermissionError)]
    raise MeterError(
        f"No energy meter can be read here (looked for {', '.join(reasons)}); "
        + (
            str(refused[0])
            if refused
            else "name a command that prints joules or watts as the meter, as in 'read-my-plug'."
        )
        + " flexibo doctor says more about each."
    )


def _check_apart(parts: Sequence[str]) -> None:
    counted: dict[str, str] = {}
    for part in parts:
        name, _, detail = part.partition(":")
        if name not in METERS:
            raise unknown_name("meter", name, METERS)
        for device in () if name == "hwmon" and detail else COVERED[name]:
            if device in counted:
                raise InvalidValueError(
                    f"{counted[device]} and {part} both measure {device}, which would count twice; leave one out."
                )
            counted[device] = part


def _placed(name: str, detail: str, places: MeterPlaces) -> MeterPlaces:
    """The places with what follows the colon of a name."""
    if not detail:
        return places
    if name == "hwmon":
        return replace(places, sensors=tuple(one.strip() for one in detail.split(",")))
    if name != "nvml":
        raise InvalidValueError(f"Meter {name!r} takes nothing after a colon; {detail!r} was given.")
    if detail == "all":
        return replace(places, gpu="all")
    gpus = [one.strip() for one in detail.split(",")]
    return replace(places, gpu=[int(gpu) if gpu.isdecimal() else gpu for gpu in gpus])


def find_meter(kind: str | Path = "auto", places: MeterPlaces | None = None) -> EnergyMeter | None:
    """The energy meter of this machine, or None if none can be read (`meters_report` says why).

    Args:
        kind: A name in `METERS`, or "auto" for the first that can be read. A folder means RAPL in that folder.
        places: Where to search.
    """
    if isinstance(kind, Path) or (os.sep in kind and not is_meter_name(kind)):
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
            meter = open_meter(kind, places)
            report[kind] = Availability(True, meter.name)
            close_meter(meter)
        except (MeterError, MissingExtraError) as error:
            report[kind] = Availability(False, str(error))
    return report
