"""The files of a Linux machine that knobs read and write.

Only files that belong to a knob of this package can be written: the rest of /sys and /proc/sys can do anything to a
machine, and a journal, which lists what to write where, is a file that somebody might have changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from flexibo.hardware.knobs.base import HERE, KnobUnavailableError, Machine, Roots, chosen

NVML = "nvml:"
NVPMODEL = "nvpmodel:"

_SYS = re.compile(
    r"devices/system/cpu/cpu\d+/online"
    r"|devices/system/cpu/cpufreq/policy\d+/scaling_(min_freq|max_freq|setspeed|governor)"
    r"|block/[^/]+/queue/scheduler"
    r"|class/devfreq/[^/]+/(min_freq|max_freq)"
    r"|kernel/debug/bpmp/debug/clk/emc/(rate|mrq_rate_locked|state)"
)
_PROC = re.compile(r"sys/vm/(swappiness|vfs_cache_pressure|dirty_(background_)?(ratio|bytes))")
_GPU = re.compile(r"nvml:\d+/(power_limit_mw|locked_clock_mhz|locked_memory_clock_mhz)")


def is_knob_place(path: str, roots: Roots) -> bool:
    """Whether the path belongs to a knob of this package.

    >>> is_knob_place("/proc/sys/vm/swappiness", Roots()), is_knob_place("/proc/sysrq-trigger", Roots())
    (True, False)
    """
    if _GPU.fullmatch(path) or path == f"{NVPMODEL}mode":
        return True
    if ".." in PurePosixPath(path).parts:
        return False
    for root, pattern in ((roots.sys, _SYS), (roots.proc, _PROC)):
        if PurePosixPath(path).is_relative_to(root) and pattern.fullmatch(str(PurePosixPath(path).relative_to(root))):
            # The kernel's folders have many links, but none leads outside.
            return Path(path).resolve().is_relative_to(root.resolve())
    return False


@dataclass(frozen=True, slots=True)
class LinuxMachine:
    """A Linux machine through its files.

    Attributes:
        roots: The folders of the kernel's files.
        nvidia: Handles names that begin with "nvml:"; None if GPUs must not be changed.
        nvpmodel: Handles names that begin with "nvpmodel:"; None if the power mode of a board must not be changed.
    """

    roots: Roots = HERE
    nvidia: Machine | None = None
    nvpmodel: Machine | None = None

    def read(self, path: str) -> str:
        """The text of a file, stripped of spaces."""
        if other := self._other(path):
            return other.read(path)
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()

    def write(self, path: str, text: str) -> None:
        """Write a text as one line to an existing file of a knob."""
        if other := self._other(path):
            other.write(path, text)
            return
        if not is_knob_place(path, self.roots):
            raise PermissionError(0, "it is not the file of a knob", path)
        # Never created: a missing file means that the kernel has no such setting.
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(descriptor, f"{text}\n".encode())
        finally:
            os.close(descriptor)

    def refusal(self, path: str) -> str:
        """Why this user cannot write to a file, as a sentence; empty if nothing is known to forbid it."""
        if path.startswith((NVML, NVPMODEL)):
            handler = self.nvidia if path.startswith(NVML) else self.nvpmodel
            return handler.refusal(path) if handler is not None else _NO_GPUS
        if not is_knob_place(path, self.roots):
            return f"{path} is not the file of a knob."
        if not os.path.exists(path):
            return f"{path} is not there."
        if not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            return f"{path} may not be written by this user; run as root, or let root run: chmod a+w {path}."
        return ""

    def _other(self, path: str) -> Machine | None:
        """What handles a name that is no file; None for a file."""
        for beginning, handler in ((NVML, self.nvidia), (NVPMODEL, self.nvpmodel)):
            if path.startswith(beginning):
                if handler is None:
                    raise PermissionError(0, _NO_GPUS.rstrip("."), path)
                return handler
        return None


_NO_GPUS = "Clocks and power limits of GPUs, and power modes, are not changed unless that is allowed."


def text_of(machine: Machine, path: Path) -> str:
    """The text of a file; of several words the one in brackets; KnobUnavailableError if it cannot be read."""
    return chosen(words_of(machine, path))


def words_of(machine: Machine, path: Path) -> str:
    """The whole text of a file; KnobUnavailableError if it cannot be read."""
    try:
        return machine.read(str(path))
    except PermissionError:
        raise KnobUnavailableError(f"{path} may not be read by this user; run as root.") from None
    except OSError as error:
        raise KnobUnavailableError(f"{path} cannot be read: {error.strerror}.") from None


def number_of(machine: Machine, path: Path) -> int:
    """The whole number in a file; KnobUnavailableError if there is none."""
    text = text_of(machine, path)
    try:
        return int(text)
    except ValueError:
        raise KnobUnavailableError(f"{path} contains {text!r}; a whole number was expected.") from None


def numbers_of(machine: Machine, path: Path) -> tuple[int, ...]:
    """The whole numbers in a file, ascending; empty if there is no such file."""
    try:
        words = machine.read(str(path)).split()
    except OSError:
        return ()
    return tuple(sorted({int(word) for word in words if word.isdecimal()}))


def numbered(folder: Path, stem: str) -> Sequence[Path]:
    """The members of a folder named by a stem and a number, such as cpu10, in order of the number."""
    try:
        names = os.listdir(folder)
    except OSError:
        return ()
    found = [(int(match.group(1)), match.string) for name in names if (match := re.fullmatch(rf"{stem}(\d+)", name))]
    return [folder / name for _, name in sorted(found)]
