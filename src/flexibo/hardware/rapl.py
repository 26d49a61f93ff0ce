"""RAPL: the energy counters of Intel and AMD processors in Linux, under /sys/class/powercap.

Each processor package is a zone `intel-rapl:N` (on AMD as well) with `name`, `energy_uj` and `max_energy_range_uj`. Its
sub-zones `intel-rapl:N:M` (core, uncore, dram) are parts of it or other devices, `psys` is the whole board, and
`intel-rapl-mmio:N` is a second view of a package: these are not added.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flexibo.hardware.base import Availability, MeterError, unreadable

POWERCAP = Path("/sys/class/powercap")
_TOP_LEVEL_ZONE = re.compile(r"intel-rapl:\d+")


class RaplUnavailableError(MeterError):
    """The RAPL counters are missing or cannot be read."""


@dataclass(slots=True)
class _Package:
    """One processor package: its counter file and its energy since the meter was created."""

    counter: Path
    range_microjoules: int
    last_microjoules: int
    total_microjoules: int = 0

    def advance(self) -> int:
        now = _read_int(self.counter)
        rise = now - self.last_microjoules
        if rise < 0:
            # It wrapped around. A range lasts minutes at full power, so it wrapped only once.
            rise += self.range_microjoules
        self.last_microjoules = now
        self.total_microjoules += rise
        return self.total_microjoules


class RaplMeter:
    """The energy of all processor packages together, in joules since the meter was created.

    It covers the whole packages, including idle power and other processes.

    Args:
        root: The powercap folder; different in tests and containers.

    Raises:
        RaplUnavailableError: A counter is missing or cannot be read; the message says what to do.
    """

    update_seconds = 0.001
    is_estimate = False

    def __init__(self, root: str | Path = POWERCAP) -> None:
        self._packages = _open_packages(Path(root))
        count = len(self._packages)
        self.name = f"RAPL, {count} package{'s' if count > 1 else ''}"

    def read_joules(self) -> float:
        """The energy since the meter was created."""
        return sum(package.advance() for package in self._packages) / 1e6

    @staticmethod
    def available(root: str | Path = POWERCAP) -> Availability:
        """Whether the counters of all packages can be read now, and if not, the reason."""
        try:
            _open_packages(Path(root))
        except RaplUnavailableError as error:
            return Availability(False, str(error))
        return Availability(True)


def _open_packages(root: Path) -> tuple[_Package, ...]:
    try:
        packages = tuple(_package(zone) for zone in _package_zones(root))
    except PermissionError as error:
        raise RaplUnavailableError(unreadable(error)) from error
    except (OSError, ValueError) as error:
        raise RaplUnavailableError(f"The RAPL counters under {root} cannot be read: {error}.") from error
    if not packages:
        raise RaplUnavailableError(f"There is no RAPL processor package under {root}.")
    return packages


def _package_zones(root: Path) -> Iterator[Path]:
    if not root.is_dir():
        return
    for zone in sorted(root.iterdir()):
        if _TOP_LEVEL_ZONE.fullmatch(zone.name) and (zone / "name").read_text().startswith("package-"):
            yield zone


def _package(zone: Path) -> _Package:
    counter = zone / "energy_uj"
    return _Package(counter, _read_int(zone / "max_energy_range_uj"), _read_int(counter))


def _read_int(path: Path) -> int:
    return int(path.read_text())
