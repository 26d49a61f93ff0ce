"""Grace modules, on copies of their ACPI power meters and on an NVML that plays them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.hardware.fake_linux import put
from tests.unit.hardware.fake_sensors import make_acpi_meter, make_chip

from flexibo.hardware import GraceMeter, GraceUnavailableError
from flexibo.hardware.grace import module_watts
from flexibo.hardware.nvml import NvmlUnavailableError


class ModuleNvml:
    """The functions of `pynvml` for the power of a module: milliwatts by GPU, None for one without a module."""

    def __init__(self, *milliwatts: int | None) -> None:
        self.milliwatts = milliwatts

    def nvmlInit(self) -> None:  # noqa: N802
        pass

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.milliwatts)

    def nvmlDeviceGetHandleByIndex(self, at: int) -> int:  # noqa: N802
        return at

    def nvmlDeviceGetFieldValues(self, handle: int, fields: list[tuple[int, int]]) -> list[Any]:  # noqa: N802
        assert fields == [(186, 1)]
        found = self.milliwatts[handle]
        return [SimpleNamespace(nvmlReturn=0 if found else 3, value=SimpleNamespace(uiVal=found or 0))]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_modules_are_added_and_none_of_their_parts(tmp_path: Path) -> None:
    clock = Clock()
    whats = [f"{what} Power Socket {socket}" for what in ("Module", "Grace", "CPU", "SysIO") for socket in (0, 1)]
    files = [make_acpi_meter(tmp_path, number, what, 100_000_000) for number, what in enumerate(whats)]
    meter = GraceMeter(tmp_path, library=ModuleNvml(), clock=clock)
    assert meter.read_joules() == 0.0
    clock.now = 3.0
    put(files[1], 300_000_000)
    assert meter.read_joules() == pytest.approx(3 * 100 + 3 * 200)
    assert meter.name == "Grace, Module Power Socket 0 + Module Power Socket 1"
    assert meter.update_seconds == 0.05
    meter.close()


def test_without_a_module_meter_the_grace_part_is_read(tmp_path: Path) -> None:
    make_acpi_meter(tmp_path, 0, "Grace Power Socket 0", 100_000_000)
    make_acpi_meter(tmp_path, 1, "CPU Power Socket 0", 80_000_000)
    assert GraceMeter(tmp_path, library=ModuleNvml()).name == "Grace, Grace Power Socket 0"


def test_nvml_is_asked_where_there_are_no_files(tmp_path: Path) -> None:
    clock = Clock()
    with GraceMeter(tmp_path, library=ModuleNvml(None, 500_000), clock=clock) as meter:
        assert meter.name == "Grace, module of GPU 1"
        meter.read_joules()
        clock.now = 2.0
        assert meter.read_joules() == pytest.approx(1000.0)


def test_other_machines_have_no_module(tmp_path: Path) -> None:
    make_chip(tmp_path, 0, "ina226", power1_input=5_000_000)
    with pytest.raises(GraceUnavailableError, match=str(tmp_path)):
        GraceMeter(tmp_path, library=ModuleNvml(None))
    with pytest.raises(NvmlUnavailableError):
        module_watts(object(), 0)
