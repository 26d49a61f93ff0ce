"""Recorded systems: tables made by 'flexibo record' on real hardware that come with the package."""

from __future__ import annotations

from pathlib import Path

from flexibo.errors import unknown_name
from flexibo.systems.recording.table import RecordedTable, read_table

FOLDER = Path(__file__).parent
SUFFIX = ".csv.gz"


def recordings(system: str | None = None, folder: Path = FOLDER) -> list[str]:
    """The names of the recorded tables, of all systems or of one, as in ``lenet-h200``."""
    names = sorted(path.name.removesuffix(SUFFIX) for path in folder.glob(f"*{SUFFIX}"))
    return [name for name in names if system is None or name.startswith(f"{system}-")]


def newest_recording(system: str, folder: Path = FOLDER) -> str:
    """The name of the table of a system that was recorded last; empty if there is none."""
    dates = {name: str(recorded_table(name, folder).heading["date"]) for name in recordings(system, folder)}
    return max(dates, key=lambda name: (dates[name], name), default="")


def recorded_table(name: str, folder: Path = FOLDER) -> RecordedTable:
    """The recorded table of that name."""
    if name not in recordings(folder=folder):
        raise unknown_name("recorded system", name, recordings(folder=folder))
    return read_table(folder / f"{name}{SUFFIX}")
