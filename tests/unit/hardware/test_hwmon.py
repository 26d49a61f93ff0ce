"""Sensors of Linux drivers, on copies of what they show under /sys/class/hwmon."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.unit.hardware.fake_linux import put
from tests.unit.hardware.fake_sensors import make_acpi_meter, make_chip

from flexibo.hardware import HwmonMeter, HwmonUnavailableError
from flexibo.hardware.hwmon import hwmon_sensors


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_counter_is_read_as_it_is(tmp_path: Path) -> None:
    folder = make_chip(tmp_path, 0, "xe", energy1_input=7_000_000, power1_input=30_000_000)
    meter = HwmonMeter(tmp_path)
    put(folder / "energy1_input", 9_500_000)
    assert meter.read_joules() == pytest.approx(2.5)
    assert [sensor.name for sensor in meter.sensors] == ["xe/energy1"]  # not its power: that is the same energy


def test_power_is_sampled_and_integrated(tmp_path: Path) -> None:
    folder, clock = make_chip(tmp_path, 2, "ina226", power1_input=10_000_000, power1_label="VDD"), Clock()
    with HwmonMeter(tmp_path, sensors=["ina226/VDD"], clock=clock) as meter:
        assert meter.read_joules() == 0.0
        clock.now = 2.0
        put(folder / "power1_input", 20_000_000)
        assert meter.read_joules() == pytest.approx(30.0)
        put(folder / "power1_input", -40)  # without load
        assert meter.read_joules() == pytest.approx(30.0)
    assert meter.name == "hwmon, ina226/VDD"


def test_sensors_add_up_only_if_they_are_named(tmp_path: Path) -> None:
    first = make_chip(tmp_path, 0, "corsairpsu", energy1_input=0, energy2_input=0)
    make_chip(tmp_path, 10, "ina226", power1_input=5_000_000)
    with pytest.raises(HwmonUnavailableError, match=r"corsairpsu/energy1, corsairpsu/energy2, ina226/power1.*hwmon:"):
        HwmonMeter(tmp_path)
    with pytest.raises(HwmonUnavailableError, match=r"'corsairpsu'.*energy1, .*energy2"):
        HwmonMeter(tmp_path, sensors=["corsairpsu"])
    with pytest.raises(HwmonUnavailableError, match=r"'amdgpu'.*ina226/power1"):
        HwmonMeter(tmp_path, sensors=["amdgpu"])
    with pytest.raises(HwmonUnavailableError):
        HwmonMeter(tmp_path, sensors=[])
    meter = HwmonMeter(tmp_path, sensors=["corsairpsu/energy1", "hwmon0/energy2"])
    put(first / "energy1_input", 1_000_000)
    put(first / "energy2_input", 2_000_000)
    assert meter.read_joules() == pytest.approx(3.0)


def test_the_whole_machine_comes_before_its_parts_and_batteries_do_not_count(tmp_path: Path) -> None:
    make_chip(tmp_path, 0, "BAT0", power1_input=9_000_000)
    make_chip(tmp_path, 1, "ina226", power1_input=5_000_000)
    assert [sensor.chip for sensor in HwmonMeter(tmp_path).sensors] == ["ina226"]
    make_acpi_meter(tmp_path, 2, "", 100_000_000)
    (sensor,) = HwmonMeter(tmp_path).sensors
    assert (sensor.chip, sensor.read(), sensor.period_seconds) == ("power_meter", 100.0, 0.05)
    put(tmp_path / "class/hwmon/hwmon2/device/power1_is_battery", 1)
    assert [sensor.chip for sensor in hwmon_sensors(tmp_path)] == ["BAT0", "ina226"]


def test_chips_are_in_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (10, 9, 2):
        make_chip(tmp_path, number, f"chip{number}", power1_average=1)
    assert [sensor.chip for sensor in hwmon_sensors(tmp_path)] == ["chip2", "chip9", "chip10"]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(HwmonUnavailableError, match=str(tmp_path / "class/hwmon")):
        HwmonMeter(tmp_path)
    folder = make_chip(tmp_path, 0, "ina226", power1_input="no number")
    with pytest.raises(HwmonUnavailableError, match="ina226/power1"):
        HwmonMeter(tmp_path)
    os.unlink(folder / "power1_input")
    (folder / "power1_input").mkdir()
    with pytest.raises(HwmonUnavailableError, match="ina226/power1"):
        HwmonMeter(tmp_path)
