"""Knobs: hardware and operating-system settings that are set, verified and always restored.

machine = LinuxMachine()
journal = Journal(default_path(os.environ, Path.home()))
with settings(linux_knobs(machine), {"swappiness": 10, "active_cores": 2}, machine=machine, journal=journal):
    measure()
"""

from __future__ import annotations

from flexibo.hardware.knobs._lock import InUseError, lock_path
from flexibo.hardware.knobs.base import (
    Knob,
    KnobError,
    KnobUnavailableError,
    Level,
    Machine,
    RestoreError,
    Roots,
    State,
    Write,
    state,
)
from flexibo.hardware.knobs.cpu import ActiveCores, CpuFrequency, CpuGovernor
from flexibo.hardware.knobs.files import LinuxMachine
from flexibo.hardware.knobs.jetson import EmcFrequency, GpuFrequency, jetson_knobs, orin_knobs
from flexibo.hardware.knobs.journal import Journal, JournalError, default_path
from flexibo.hardware.knobs.memory import memory_knobs
from flexibo.hardware.knobs.nvidia import GpuClock, MemoryClock, NvidiaGpus, PowerLimit, nvidia_knobs
from flexibo.hardware.knobs.nvpmodel import NvpModel, PowerMode
from flexibo.hardware.knobs.session import check_free, restore, settings
from flexibo.hardware.knobs.storage import Scheduler

__all__ = [
    "ActiveCores",
    "CpuFrequency",
    "CpuGovernor",
    "EmcFrequency",
    "GpuClock",
    "GpuFrequency",
    "InUseError",
    "Journal",
    "JournalError",
    "Knob",
    "KnobError",
    "KnobUnavailableError",
    "Level",
    "LinuxMachine",
    "Machine",
    "MemoryClock",
    "NvidiaGpus",
    "NvpModel",
    "PowerLimit",
    "PowerMode",
    "RestoreError",
    "Roots",
    "Scheduler",
    "State",
    "Write",
    "all_knobs",
    "check_free",
    "default_path",
    "jetson_knobs",
    "linux_knobs",
    "lock_path",
    "nvidia_knobs",
    "orin_knobs",
    "os_knobs",
    "restore",
    "settings",
    "state",
]


def os_knobs(machine: Machine) -> tuple[Knob, ...]:
    """The paper's five operating-system knobs: the memory's four and the I/O scheduler."""
    return (*memory_knobs(machine), Scheduler(machine))


def linux_knobs(machine: Machine, *, steps: int = 8) -> tuple[Knob, ...]:
    """The knobs of any Linux machine, in the order in which they are set: cores, their governor, their frequencies."""
    return (ActiveCores(machine), CpuGovernor(machine), CpuFrequency(machine, steps), *os_knobs(machine))


def all_knobs(machine: Machine, gpus: NvidiaGpus, *, steps: int = 8) -> tuple[Knob, ...]:
    """All knobs, including those that this machine does not have; a power mode comes first, because it sets others."""
    boards = (GpuFrequency(machine, steps), EmcFrequency(machine, steps))
    mode = PowerMode(NvpModel(machine.roots))
    return (mode, *linux_knobs(machine, steps=steps), *boards, *nvidia_knobs(gpus, steps=steps))
