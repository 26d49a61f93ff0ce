"""Knobs of the kernel's memory: swapping, dirty pages and the caches of names, as the paper's table has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flexibo.hardware.knobs.base import Level, Machine, Write, changes, whole
from flexibo.hardware.knobs.files import number_of

VM = Path("sys/vm")


@dataclass(frozen=True, slots=True)
class NumberKnob:
    """A whole number in a file under /proc/sys/vm.

    Attributes:
        machine: Where.
        name: The option's name.
        file: The file's name.
        offered: The values that designs choose from.
        highest: The largest value that a kernel takes; an older one may refuse it.
    """

    machine: Machine
    name: str
    file: str
    offered: tuple[int, ...]
    highest: int

    def values(self) -> tuple[Level, ...]:
        """The values that designs choose from, where the file is there."""
        self.read()
        return self.offered

    def read(self) -> Level:
        """The number now."""
        return number_of(self.machine, self._path)

    def writes(self, value: Level) -> tuple[Write, ...]:
        """One write, or none if the number is there already."""
        text = str(whole(self.name, value, 0, self.highest))
        return changes([Write(str(self._path), text, str(self.read()))])

    @property
    def _path(self) -> Path:
        return self.machine.roots.proc / VM / self.file


@dataclass(frozen=True, slots=True)
class RatioKnob:
    """A limit on dirty pages in percent of memory, which the kernel also keeps in bytes.

    Only one of the two files holds: writing either makes the other 0, and 0 cannot be written to the bytes. So what
    held before is what is put back.

    Attributes:
        machine: Where.
        name: The option's name and the file's; that of the bytes ends in `_bytes` instead of `_ratio`.
        offered: The values that designs choose from.
    """

    machine: Machine
    name: str
    offered: tuple[int, ...]

    def values(self) -> tuple[Level, ...]:
        """The values that designs choose from, where the file is there."""
        self.read()
        return self.offered

    def read(self) -> Level:
        """The percentage now; 0 if bytes hold."""
        return number_of(self.machine, self._path)

    def writes(self, value: Level) -> tuple[Write, ...]:
        """One write, or none if the percentage holds already."""
        text = str(whole(self.name, value, 1, 100))
        limit = self._path.with_name(self.name.replace("_ratio", "_bytes"))
        if limit.exists() and (size := number_of(self.machine, limit)):
            return (Write(str(self._path), text, str(size), before_path=str(limit)),)
        return changes([Write(str(self._path), text, str(self.read()))])

    @property
    def _path(self) -> Path:
        return self.machine.roots.proc / VM / self.name


def memory_knobs(machine: Machine) -> tuple[NumberKnob | RatioKnob, ...]:
    """The four memory knobs with the paper's values."""
    return (
        NumberKnob(machine, "swappiness", "swappiness", (10, 30, 60, 100), 200),
        RatioKnob(machine, "dirty_background_ratio", (10, 50, 80)),
        RatioKnob(machine, "dirty_ratio", (5, 50)),
        NumberKnob(machine, "cache_pressure", "vfs_cache_pressure", (100, 500), 2**31 - 1),
    )
