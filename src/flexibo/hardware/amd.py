"""AMD GPUs: their power from the driver's files (hwmon), or else from the command amd-smi or rocm-smi.

The files are preferred: reading them takes microseconds. The commands take a tenth of a second or more, and are run
once a second; amd-smi also reports an energy counter on data-centre GPUs, which loses nothing between two calls.

The power is that of the socket: the GPU with its memory, on an MI200 of both dies, of which only the first reports it.
An APU reports the power of the whole package, which RAPL measures better, so it is left out if the driver says so.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from flexibo.hardware.base import EnergyMeter, MeterError
from flexibo.hardware.counting import CounterMeter
from flexibo.hardware.hwmon import hwmon_sensors, opened
from flexibo.hardware.ina3221 import SYS
from flexibo.hardware.sampling import SampledMeter
from flexibo.hardware.sums import SumMeter

CHIP = "amdgpu"
WHOLE_PACKAGE = ("slowPPT", "fastPPT")  # labels of APUs
COMMAND_SECONDS = 1.0  # the time between two calls of a command
LIMIT_SECONDS = 15.0  # of one call
AMD_SMI = ("metric", "--power", "--energy", "--json")
ROCM_SMI = ("--showpower", "--json")


class AmdUnavailableError(MeterError):
    """There is no AMD GPU whose power or energy can be read."""


class AmdMeter(SumMeter):
    """The energy of all AMD GPUs of a machine together, in joules since the meter was created.

    Args:
        root: The folder /sys; different in tests and containers.
        clock: Seconds.

    Raises:
        AmdUnavailableError: There is no AMD GPU, or it cannot be read.
    """

    def __init__(self, root: str | Path = SYS, *, clock: Callable[[], float] = time.perf_counter) -> None:
        found = [sensor for sensor in hwmon_sensors(root) if sensor.chip == CHIP]
        cards = [sensor for sensor in found if sensor.label not in WHOLE_PACKAGE]
        meters = opened(cards, "AMD", clock) or _by_command(clock)
        if not meters:
            why = "the one there is an APU, whose package rapl measures" if found else "there is none"
            raise AmdUnavailableError(
                f"No AMD GPU can be read: under {Path(root) / 'class' / 'hwmon'} {why}, and neither amd-smi nor "
                "rocm-smi reports one."
            )
        super().__init__(meters)
        source = "driver" if cards else meters[0].name
        self.name = f"AMD, {len(cards) or 'all'} GPU{'s' if len(cards) != 1 else ''} ({source})"


def _by_command(clock: Callable[[], float]) -> list[EnergyMeter]:
    """One meter for all GPUs, from the first command that reports something; none if no command does."""
    for program, arguments, read in (("amd-smi", AMD_SMI, amd_smi), ("rocm-smi", ROCM_SMI, rocm_smi)):
        path = shutil.which(program)
        if path is None:
            continue
        command = (path, *arguments)
        try:
            found = _asked(command, read)
        except MeterError:
            continue
        if "joules" in found:
            return [
                CounterMeter(partial(_number_of, "joules", command, read), name=program, update_seconds=COMMAND_SECONDS)
            ]
        return [
            SampledMeter(
                partial(_number_of, "watts", command, read), period_seconds=COMMAND_SECONDS, clock=clock, name=program
            )
        ]
    return []


def _number_of(what: str, command: tuple[str, ...], read: Callable[[Any], dict[str, float]]) -> float:
    found = _asked(command, read)
    if what not in found:
        raise AmdUnavailableError(f"{command[0]} no longer reports {what}.")
    return found[what]


def _asked(command: tuple[str, ...], read: Callable[[Any], dict[str, float]]) -> dict[str, float]:
    """What a command reports; a MeterError if it fails, or reports neither energy nor power."""
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS)
        found = read(json.loads(done.stdout)) if done.returncode == 0 else {}
    except (OSError, subprocess.TimeoutExpired, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise AmdUnavailableError(f"{command[0]} cannot be read: {error}.") from error
    if not found:
        raise AmdUnavailableError(f"{command[0]} reports neither energy nor power (exit status {done.returncode}).")
    return found


def amd_smi(report: Any) -> dict[str, float]:
    """The joules of all GPUs, or their watts, from what amd-smi prints; empty if it prints neither.

    >>> amd_smi([{"gpu": 0, "power": {"socket_power": {"value": 133, "unit": "W"}}, "energy": "N/A"}])
    {'watts': 133.0}
    """
    gpus = report.get("gpu_data", []) if isinstance(report, Mapping) else report
    joules = list(_numbers(gpus, "energy", "total_energy_consumption"))
    watts = list(_numbers(gpus, "power", "socket_power"))
    if joules and len(joules) >= len(watts):
        return {"joules": sum(joules)}
    return {"watts": sum(watts)} if watts else {}


def rocm_smi(report: Mapping[str, Mapping[str, str]]) -> dict[str, float]:
    """The watts of all GPUs from what rocm-smi prints; empty if it prints none.

    >>> rocm_smi({"card0": {"Current Socket Graphics Package Power (W)": "38.0"}, "card1": {"Power": "N/A"}})
    {'watts': 38.0}
    """
    watts = []
    for card in report.values():
        for key, text in card.items() if isinstance(card, Mapping) else ():
            if "Package Power (W)" in key and (number := _number(text)) is not None:
                watts.append(number)
                break
    return {"watts": sum(watts)} if watts else {}


def _numbers(gpus: Any, group: str, key: str) -> Iterator[float]:
    for gpu in gpus:
        found = gpu.get(group)
        value = found.get(key) if isinstance(found, Mapping) else None
        number = _number(value.get("value") if isinstance(value, Mapping) else value)
        if number is not None:
            yield number


def _number(value: Any) -> float | None:
    """A number, written as such or as text with or without its unit; None for what is not available."""
    try:
        number = float(str(value).split()[0])
    except (ValueError, IndexError):
        return None
    return number if 0 <= number < float("inf") else None
