"""Knobs of NVIDIA's Jetson boards: the frequencies of the GPU and of the memory (EMC)."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from flexibo.hardware.knobs._frequencies import pinned, spread, step_of
from flexibo.hardware.knobs.base import KnobUnavailableError, Level, Machine, Write
from flexibo.hardware.knobs.cpu import ActiveCores, CpuFrequency
from flexibo.hardware.knobs.files import number_of, numbers_of

DEVFREQ = Path("class/devfreq")
BPMP = Path("kernel/debug/bpmp/debug")
_HZ = 1e9  # per GHz
_TOLERANCE = 0.01
# 17000000.gp10b is the TX2's GPU, 17000000.gv11b the Xavier's, 17000000.ga10b the Orin's; newer kernels say .gpu.
_GPU = re.compile(r".*\.(gpu|g[a-z]\d+b)")

TX2_EMC_MHZ = (40.8, 68, 102, 204, 408, 665.6, 800, 1062.4, 1331.2, 1600, 1866)
XAVIER_EMC_MHZ = (204, 408, 665.6, 800, 1065.6, 1331.2, 1600, 1866, 2133)
# NVIDIA's power modes of the AGX Orin (nvpmodel_p3701_0000.conf) name 2133 MHz only; the others are those that
# published measurements on that board set.
ORIN_EMC_MHZ = (204, 665.6, 2133, 3199)
"""The memory frequencies of the boards, for firmware that does not list them."""


@dataclass(frozen=True, slots=True)
class GpuFrequency:
    """The frequency of a board's GPU in GHz: both of its limits are set to it; attributes as in `CpuFrequency`."""

    machine: Machine
    steps: int = 8
    bounds: tuple[float, float] | None = None
    name: str = "gpu_frequency"

    def values(self) -> tuple[Level, ...]:
        """The steps of the GPU."""
        return spread(self._table(), self.steps, self.bounds)

    def read(self) -> Level:
        """The present upper limit."""
        return number_of(self.machine, self._folder() / "max_freq") / _HZ

    def writes(self, value: Level) -> tuple[Write, ...]:
        """Both limits."""
        folder = self._folder()
        target = round(step_of(self.name, value, self._table()) * _HZ)
        return pinned(self.machine, folder / "min_freq", folder / "max_freq", target, tolerance=_TOLERANCE)

    def _table(self) -> list[float]:
        path = self._folder() / "available_frequencies"
        table = numbers_of(self.machine, path)
        if not table:
            raise KnobUnavailableError(f"{path} lists no frequency.")
        return [step / _HZ for step in table]

    def _folder(self) -> Path:
        folder = self.machine.roots.sys / DEVFREQ
        try:
            found = sorted(name for name in os.listdir(folder) if _GPU.fullmatch(name))
        except OSError:
            found = []
        if not found:
            raise KnobUnavailableError(f"There is no GPU of a Jetson board under {folder}.")
        return folder / found[0]


@dataclass(frozen=True, slots=True)
class EmcFrequency:
    """The frequency of a board's memory in GHz: the clock is locked, then set; attributes as in `CpuFrequency`.

    The files belong to debugfs, which only root may read. A restored clock may change at any time, so only the lock is
    verified then.
    """

    machine: Machine
    steps: int = 8
    bounds: tuple[float, float] | None = None
    name: str = "emc_frequency"

    def values(self) -> tuple[Level, ...]:
        """The steps that the firmware lists, or those known of the TX2, Xavier or Orin within its range."""
        return spread(self._table(), self.steps, self.bounds)

    def read(self) -> Level:
        """The frequency now."""
        return number_of(self.machine, self._clock / "rate") / _HZ

    def writes(self, value: Level) -> tuple[Write, ...]:
        """The lock, then the rate, then the clock itself in case it is off."""
        target = round(step_of(self.name, value, self._table()) * _HZ)
        lock, rate, on = (self._clock / name for name in ("mrq_rate_locked", "rate", "state"))
        locked = number_of(self.machine, lock)
        before = str(number_of(self.machine, rate))
        writes = [
            Write(str(lock), "1", str(locked)),
            Write(str(rate), str(target), before, tolerance=_TOLERANCE, steady=bool(locked)),
            Write(str(on), "1", str(number_of(self.machine, on))),
        ]
        # An unlocked rate may change at any time, so it is written even if it has this value now.
        return tuple(write for write in writes if not write.steady or write.value != write.before)

    @property
    def _clock(self) -> Path:
        return self.machine.roots.sys / BPMP / "clk" / "emc"

    def _table(self) -> list[float]:
        listed = numbers_of(self.machine, self.machine.roots.sys / BPMP / "emc" / "possible_rates")
        low, high = number_of(self.machine, self._clock / "min_rate"), number_of(self.machine, self._clock / "max_rate")
        usual = _usual_rates(self.machine, high)
        rates = [khz * 1000 for khz in listed] or [round(mhz * 1e6) for mhz in usual]
        found = {rate for rate in rates if low <= rate <= high} | {low, high}
        return [rate / _HZ for rate in sorted(found)]


def _usual_rates(machine: Machine, highest_hz: int) -> tuple[float, ...]:
    """The memory frequencies of a board in MHz, by its processor or else by the highest one."""
    chips = ""
    with suppress(OSError):
        chips = machine.read(str(machine.roots.proc / "device-tree/compatible"))
    if "tegra234" in chips or highest_hz > XAVIER_EMC_MHZ[-1] * 1e6:
        return ORIN_EMC_MHZ
    return TX2_EMC_MHZ if highest_hz <= TX2_EMC_MHZ[-1] * 1e6 else XAVIER_EMC_MHZ


JetsonKnob: TypeAlias = ActiveCores | CpuFrequency | GpuFrequency | EmcFrequency


def orin_knobs(machine: Machine, *, steps: int = 8) -> tuple[JetsonKnob, ...]:
    """The same four knobs for an Orin, which the paper did not have: all that the board offers."""
    frequencies = (CpuFrequency(machine, steps), GpuFrequency(machine, steps), EmcFrequency(machine, steps))
    return (ActiveCores(machine), *frequencies)


def jetson_knobs(machine: Machine, *, steps: int = 8) -> tuple[JetsonKnob, ...]:
    """The paper's four hardware knobs, in the order in which they are set: the paper's ranges, the board's steps."""
    return (
        ActiveCores(machine, highest=6),
        CpuFrequency(machine, steps, (0.3, 2.3)),
        GpuFrequency(machine, steps, (0.3, 1.8)),
        EmcFrequency(machine, steps, (0.3, 2.0)),
    )
