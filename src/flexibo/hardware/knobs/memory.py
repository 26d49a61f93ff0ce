"""Knobs of the kernel's memory: swapping, dirty pages and the caches of names, with the paper's values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flexibo.hardware.boards.agent import VM as MEMORY  # a board has nothing but that file
from flexibo.hardware.knobs.base import Level, Machine, Write, changes, whole
from flexibo.hardware.knobs.files import number_of

VM = Path("sys/vm")


@dataclass(frozen=True, slots=True)
class MemoryKnob:
    """A whole number in a file under /proc/sys/vm.

    The kernel keeps a limit on dirty pages in two files, in percent of memory and in bytes, of which one is in force:
    writing either sets the other to 0, and 0 cannot be written to the bytes. So the one in force is restored.
    """

    machine: Machine
    name: str
    file: str
    offered: tuple[int, ...]
    bounds: tuple[int, int]  # the smallest and the largest value that a kernel accepts; an older one may refuse it

    def values(self) -> tuple[Level, ...]:
        """The values for designs, if the file exists."""
        self.read()
        return self.offered

    def read(self) -> Level:
        """The number now; 0 if a limit in bytes is in force."""
        return number_of(self.machine, self._path)

    def writes(self, value: Level) -> tuple[Write, ...]:
        """One write, or none if the machine has this value already."""
        text = str(whole(self.name, value, *self.bounds))
        in_bytes = self._path.with_name(self.file.replace("_ratio", "_bytes"))
        if in_bytes != self._path and in_bytes.exists() and (size := number_of(self.machine, in_bytes)):
            return (Write(str(self._path), text, str(size), before_path=str(in_bytes)),)
        return changes([Write(str(self._path), text, str(self.read()))])

    @property
    def _path(self) -> Path:
        return self.machine.roots.proc / VM / self.file


def memory_knobs(machine: Machine) -> tuple[MemoryKnob, ...]:
    """The four memory knobs with the paper's values."""
    return tuple(MemoryKnob(machine, name, *about) for name, about in MEMORY.items())
