"""The power mode of NVIDIA's Jetson boards: limits of power, cores and clocks under one name, set by `nvpmodel`.

Its modes are in /etc/nvpmodel.conf. Some can only be entered by a restart; nvpmodel then asks for one, gets no answer,
and changes nothing, which is noticed because the mode is read back.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from flexibo.errors import InvalidValueError
from flexibo.hardware.knobs.base import HERE, KnobUnavailableError, Level, Roots, Write, changes
from flexibo.hardware.knobs.files import NVPMODEL

PLACE = f"{NVPMODEL}mode"
CONFIGURATION = Path("etc/nvpmodel.conf")  # beside /sys
LIMIT_SECONDS = 30.0
_MODE = re.compile(r"<\s*POWER_MODEL\s+ID=(\d+)\s+NAME=([\w.-]+)\s*>")
_PRESENT = re.compile(r"NV Power Mode:\s*([\w.-]+)")


@dataclass(frozen=True, slots=True)
class NvpModel:
    """The power mode of a board, read and written by the program nvpmodel."""

    roots: Roots = HERE
    program: str = "nvpmodel"

    def read(self, path: str) -> str:
        """The name of the present mode."""
        found = _PRESENT.search(self._run("-q"))
        if found is None:
            raise OSError(errno.EIO, "nvpmodel does not say which mode there is", path)
        return found[1]

    def write(self, path: str, text: str) -> None:
        """Enter a mode by its name."""
        modes = self.modes()
        if text not in modes:
            raise OSError(errno.EINVAL, "nvpmodel has no such mode", path)
        self._run("-m", modes[text])

    def refusal(self, path: str) -> str:
        """Why the mode cannot be set, as far as it is known before it is tried."""
        if os.geteuid() != 0:
            return "The power mode is set by nvpmodel, which needs root; run as root."
        return ""

    def modes(self) -> dict[str, str]:
        """The names of the modes, and their numbers."""
        path = self.roots.sys.parent / CONFIGURATION
        if shutil.which(self.program) is None:
            raise KnobUnavailableError("There is no nvpmodel, which sets the power mode of Jetson boards.")
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise KnobUnavailableError(f"{path}, the modes of nvpmodel, cannot be read: {error.strerror}.") from None
        found = {name: number for number, name in _MODE.findall(text)}
        if not found:
            raise KnobUnavailableError(f"{path} names no power mode.")
        return found

    def _run(self, *arguments: str) -> str:
        try:
            done = subprocess.run(
                [self.program, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=LIMIT_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise OSError(errno.ETIMEDOUT, f"nvpmodel did not end within {LIMIT_SECONDS:g} s") from None
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise OSError(errno.EIO, said[-1] if said else f"nvpmodel ended with exit status {done.returncode}")
        return done.stdout


@dataclass(frozen=True, slots=True)
class PowerMode:
    """The power mode of a Jetson board, such as MAXN or MODE_15W."""

    nvpmodel: NvpModel
    name: str = "power_mode"

    def values(self) -> tuple[Level, ...]:
        """The modes of the board."""
        return tuple(self.nvpmodel.modes())

    def read(self) -> Level:
        """The present mode."""
        self.nvpmodel.modes()
        try:
            return self.nvpmodel.read(PLACE)
        except OSError as error:
            raise KnobUnavailableError(f"The power mode cannot be read: {error.strerror}.") from None

    def writes(self, value: Level) -> tuple[Write, ...]:
        """One write, or none if the board is in this mode."""
        modes = self.nvpmodel.modes()
        if value not in modes:
            raise InvalidValueError(f"Option {self.name!r} is {value!r}; this board has {', '.join(modes)}.")
        return changes([Write(PLACE, str(value), str(self.read()))])
