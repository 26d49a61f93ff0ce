"""The knob of block devices: their I/O scheduler.

The paper chooses between CFP, meaning the fair scheduler CFQ, and NOOP. Kernels since 5.0 have neither: the fair one is
then `bfq`, or if that is missing `mq-deadline` (or `deadline`), the kernel's default in place of CFQ; NOOP is `none`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from flexibo.errors import InvalidValueError
from flexibo.hardware.knobs.base import KnobUnavailableError, Level, Machine, Write, changes, chosen
from flexibo.hardware.knobs.files import words_of

SCHEDULERS = {"CFP": ("cfq", "bfq", "mq-deadline", "deadline"), "NOOP": ("noop", "none")}
"""For each of the paper's names the kernel's names, the closest first."""

MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Scheduler:
    """The I/O scheduler of all block devices that offer both of the paper's kinds."""

    machine: Machine
    name: str = "scheduler"

    def values(self) -> tuple[Level, ...]:
        """CFP and NOOP."""
        self._files()
        return tuple(SCHEDULERS)

    def read(self) -> Level:
        """The paper's name of the present scheduler, the kernel's if it has none, or "mixed" if devices differ."""
        present = {_word(chosen(words)) for words in self._files().values()}
        return present.pop() if len(present) == 1 else MIXED

    def writes(self, value: Level) -> tuple[Write, ...]:
        """One write for each device that has another scheduler."""
        files = self._files()
        if value not in SCHEDULERS:
            raise InvalidValueError(f"Option {self.name!r} is {value!r}; it must be {' or '.join(SCHEDULERS)}.")
        return changes(Write(str(path), _best(str(value), words), chosen(words)) for path, words in files.items())

    def _files(self) -> dict[Path, str]:
        """The file of each device with a choice, and its text."""
        folder = self.machine.roots.sys / "block"
        try:
            devices = sorted(os.listdir(folder))
        except OSError:
            devices = []
        paths = [folder / device / "queue" / "scheduler" for device in devices]
        said = {path: words_of(self.machine, path) for path in paths if path.exists()}
        found = {path: words for path, words in said.items() if all(_best(word, words) for word in SCHEDULERS)}
        if not found:
            raise KnobUnavailableError(f"No block device under {folder} offers a choice of schedulers.")
        return found


def _word(name: str) -> str:
    """The paper's name for one of the kernel's; the name itself if it has none."""
    return next((word for word, names in SCHEDULERS.items() if name in names), name)


def _best(word: str, offered: str) -> str:
    """The kernel's name for one of the paper's among those that a device offers; empty if it offers none.

    >>> _best("CFP", "[none] mq-deadline kyber")
    'mq-deadline'
    """
    names = offered.replace("[", "").replace("]", "").split()
    return next((name for name in SCHEDULERS[word] if name in names), "")
