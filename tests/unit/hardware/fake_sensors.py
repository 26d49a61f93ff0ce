"""Sensors under /sys/class/hwmon, in a folder."""

from __future__ import annotations

from pathlib import Path

from tests.unit.hardware.fake_linux import put


def make_chip(sys: Path, number: int, name: str, **files: object) -> Path:
    """A chip with its files, such as power1_input; returns its folder."""
    folder = sys / "class/hwmon" / f"hwmon{number}"
    put(folder / "name", name)
    for file, text in files.items():
        put(folder / file, text)
    return folder


def make_acpi_meter(sys: Path, number: int, what: str, microwatts: int) -> Path:
    """An ACPI power meter, whose files are in the folder of its device; returns the file with its power."""
    device = sys / "class/hwmon" / f"hwmon{number}" / "device"
    put(device / "name", "power_meter")
    put(device / "power1_is_battery", 0)
    put(device / "power1_oem_info", what)
    put(device / "power1_average_interval", 50)
    return put(device / "power1_average", microwatts)
