"""Temperature and throttling, on copies of the kernel's files and a GPU that plays them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.hardware.fake_linux import put
from tests.unit.hardware.fake_sensors import make_chip

from flexibo.errors import InvalidValueError
from flexibo.hardware import Temperature, Thermals, TooHotError, cool_down
from flexibo.hardware.thermals import risen


class HotGpu:
    """The functions of `pynvml` for the temperature of one GPU."""

    celsius = 64
    nanoseconds = 0
    n_open = 0

    def nvmlInit(self) -> None:  # noqa: N802
        self.n_open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.n_open -= 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return 1

    def nvmlDeviceGetHandleByIndex(self, at: int) -> int:  # noqa: N802
        return at

    def nvmlDeviceGetTemperature(self, handle: int, sensor: int) -> int:  # noqa: N802
        return self.celsius

    def nvmlDeviceGetViolationStatus(self, handle: int, policy: int) -> Any:  # noqa: N802
        if policy == 0:
            raise RuntimeError("not supported")
        return SimpleNamespace(violationTime=self.nanoseconds)


def test_the_hottest_of_processor_and_gpu_is_found(tmp_path: Path) -> None:
    make_chip(tmp_path, 0, "coretemp", temp1_input=51_000, temp2_input=55_500)
    make_chip(tmp_path, 1, "nvme", temp1_input=80_000)  # a disk does not slow a processor down
    gpu = HotGpu()
    with Thermals(tmp_path, library=gpu) as thermals:
        assert thermals.hottest() == Temperature(64.0, "GPU 0")
        gpu.celsius = 30
        assert thermals.hottest() == Temperature(55.5, "coretemp")
    assert gpu.n_open == 0


def test_boards_have_thermal_zones(tmp_path: Path) -> None:
    for number, (kind, temperature) in enumerate(
        {"CPU-therm": 41_000, "PMIC-Die": 100_000, "GPU-therm": 42_500}.items()
    ):
        put(tmp_path / f"class/thermal/thermal_zone{number}/type", kind)
        put(tmp_path / f"class/thermal/thermal_zone{number}/temp", temperature)
    assert Thermals(tmp_path, library=object()).hottest() == Temperature(42.5, "GPU-therm")


def test_a_machine_that_shows_nothing_has_no_temperature(tmp_path: Path) -> None:
    thermals = Thermals(tmp_path, library=object())
    assert thermals.hottest() is None
    assert thermals.slowdowns() == {}
    with pytest.raises(TooHotError):
        cool_down(thermals.hottest, 60)


def test_slowdowns_are_differences_of_counters(tmp_path: Path) -> None:
    for core, count in enumerate((3, 4)):
        put(tmp_path / f"devices/system/cpu/cpu{core}/thermal_throttle/core_throttle_count", count)
    gpu = HotGpu()
    thermals = Thermals(tmp_path, library=gpu)
    before = thermals.slowdowns()
    assert risen(before, thermals.slowdowns()) == {}
    put(tmp_path / "devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", 9)
    gpu.nanoseconds = 1_500_000_000
    assert list(risen(before, thermals.slowdowns()).values()) == [5.0, 1.5]


class Cooling:
    """A machine that cools by a degree a second."""

    def __init__(self, celsius: float, floor: float = 0.0) -> None:
        self.now, self.celsius, self.floor = 0.0, celsius, floor

    def hottest(self) -> Temperature:
        return Temperature(max(self.celsius - self.now, self.floor), "processor")

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_hot_machine_is_waited_for() -> None:
    machine = Cooling(80.0)
    assert cool_down(machine.hottest, 70, clock=lambda: machine.now, sleep=machine.sleep) == pytest.approx(10.0)
    assert cool_down(machine.hottest, 70, clock=lambda: machine.now, sleep=machine.sleep) == 0.0


def test_the_wait_has_a_limit_and_says_how_hot_it_is() -> None:
    machine = Cooling(80.0, floor=75.0)
    with pytest.raises(TooHotError, match=r"processor.*75 .*30 s.*70"):
        cool_down(machine.hottest, 70, limit_seconds=30, clock=lambda: machine.now, sleep=machine.sleep)
    assert machine.now == pytest.approx(30.0)


@pytest.mark.parametrize(("celsius", "limit"), [(float("nan"), 5), (500, 5), (50, 0), (50, float("inf"))])
def test_impossible_temperatures_and_limits_are_refused(celsius: float, limit: float) -> None:
    with pytest.raises(InvalidValueError):
        cool_down(lambda: None, celsius, limit_seconds=limit)
