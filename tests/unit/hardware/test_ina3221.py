"""The meter of Jetson boards, on faithful copies of what Linux shows under /sys/bus/i2c."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.ordinary_user import as_an_ordinary_user

from flexibo.hardware import Ina3221Meter, Ina3221UnavailableError, MeterError, MeterPlaces, find_meter

NEVER = 3600.0  # the sampling thread does not come to sample while a test runs


def make_iio_chip(root: Path, address: str, device: str, milliwatts: Mapping[str, int]) -> Path:
    """A chip as JetPack 4 shows it."""
    chip = root / "bus/i2c/drivers/ina3221x" / address / device
    chip.mkdir(parents=True)
    for channel, (name, power) in enumerate(milliwatts.items()):
        (chip / f"rail_name_{channel}").write_text(f"{name}\n")
        (chip / f"in_power{channel}_input").write_text(f"{power}\n")
        (chip / f"in_voltage{channel}_input").write_text("19000\n")
        (chip / f"in_current{channel}_input").write_text("77\n")
    return chip


def make_hwmon_chip(root: Path, address: str, hwmon: str, rails: Mapping[str, tuple[int, int]]) -> Path:
    """A chip as JetPack 5 shows it: millivolts and milliamperes of each rail, and voltages over the shunts."""
    chip = root / "bus/i2c/drivers/ina3221" / address / "hwmon" / hwmon
    chip.mkdir(parents=True)
    (chip / "name").write_text("ina3221\n")
    for channel, (name, (millivolts, milliamperes)) in enumerate(rails.items(), start=1):
        (chip / f"in{channel}_label").write_text(f"{name}\n")
        (chip / f"in{channel}_input").write_text(f"{millivolts}\n")
        (chip / f"curr{channel}_input").write_text(f"{milliamperes}\n")
        (chip / f"in{channel + 3}_input").write_text("280\n")
    (chip / "in7_label").write_text("sum of shunt voltages\n")
    (chip / "in7_input").write_text("840\n")
    (chip / "curr4_input").write_text("99999\n")
    return chip


def make_tx2(root: Path) -> Path:
    make_iio_chip(root, "0-0040", "iio:device0", {"VDD_SYS_GPU": 1000, "VDD_SYS_SOC": 900, "VDD_4V0_WIFI": 30})
    module = make_iio_chip(root, "0-0041", "iio:device1", {"VDD_IN": 6000, "VDD_SYS_CPU": 700, "VDD_SYS_DDR": 1200})
    make_iio_chip(root, "0-0042", "iio:device2", {"VDD_MUX": 9000, "VDD_5V0_IO_SYS": 2000, "VDD_3V3_SYS": 20})
    return module


def make_agx_xavier(root: Path) -> Path:
    chip = make_iio_chip(root, "1-0040", "iio:device0", {"GPU": 1000, "CPU": 2000, "SOC": 3000})
    make_iio_chip(root, "1-0041", "iio:device1", {"CV": 0, "VDDRQ": 500, "SYS5V": 4000})
    return chip


def make_agx_orin(root: Path) -> Path:
    rails = {"VDD_GPU_SOC": (18_792, 140), "VDD_CPU_CV": (18_784, 20), "VIN_SYS_5V0": (4_968, 980)}
    chip = make_hwmon_chip(root, "1-0040", "hwmon3", rails)
    make_hwmon_chip(root, "1-0041", "hwmon4", {"NC": (0, 0), "VDDQ_VDD2_1V8AO": (4_968, 80)})
    return chip


def watts_of(root: Path, rails: tuple[str, ...] | str | None = None) -> float:
    """The power that the meter adds up in one second of a steady board."""
    now = [0.0]
    with Ina3221Meter(root, rails=rails, period_seconds=NEVER, clock=lambda: now[0]) as meter:
        before = meter.read_joules()
        now[0] = 1.0
        return meter.read_joules() - before


def test_a_tx2_is_its_input_rail_and_not_its_parts_nor_its_carrier_board(tmp_path: Path) -> None:
    make_tx2(tmp_path)
    assert watts_of(tmp_path) == pytest.approx(6.0)
    assert Ina3221Meter(tmp_path).name == "INA3221, VDD_IN"


def test_the_folder_names_of_jetpack_3_are_found(tmp_path: Path) -> None:
    make_iio_chip(tmp_path, "0-0041", "iio_device", {"VDD_IN": 6000})
    assert watts_of(tmp_path) == pytest.approx(6.0)


def test_a_nano_is_its_input_rail(tmp_path: Path) -> None:
    make_iio_chip(tmp_path, "6-0040", "iio:device0", {"POM_5V_IN": 1750, "POM_5V_GPU": 40, "POM_5V_CPU": 366})
    assert watts_of(tmp_path) == pytest.approx(1.75)


def test_an_agx_xavier_has_no_total_so_its_six_rails_add_up_in_either_layout(tmp_path: Path) -> None:
    make_agx_xavier(tmp_path / "iio")
    make_hwmon_chip(tmp_path / "hwmon", "1-0040", "hwmon3", {"GPU": (1000, 1000), "CPU": (2000, 1000), "SOC": (1, 0)})
    make_hwmon_chip(tmp_path / "hwmon", "1-0041", "hwmon4", {"CV": (1, 0), "VDDRQ": (500, 1000), "SYS5V": (1, 0)})
    assert watts_of(tmp_path / "iio") == pytest.approx(10.5)
    assert watts_of(tmp_path / "hwmon") == pytest.approx(3.5)
    assert Ina3221Meter(tmp_path / "iio").rails == ("GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V")


@pytest.mark.parametrize("address", ["7-0040", "1-0040"], ids=["Xavier NX", "Orin NX"])
def test_a_module_with_an_input_rail_in_the_new_layout_is_volts_times_amperes(tmp_path: Path, address: str) -> None:
    rails = {"VDD_IN": (5_000, 1_200), "VDD_CPU_GPU_CV": (5_000, 400), "VDD_SOC": (5_000, 300)}
    make_hwmon_chip(tmp_path, address, "hwmon6", rails)
    assert watts_of(tmp_path) == pytest.approx(6.0)


def test_an_agx_orin_is_three_rails_and_not_the_memory_behind_one_of_them(tmp_path: Path) -> None:
    make_agx_orin(tmp_path)
    assert watts_of(tmp_path) == pytest.approx((18_792 * 140 + 18_784 * 20 + 4_968 * 980) / 1e6)


def test_an_input_rail_beside_rails_that_could_be_added_is_read_alone(tmp_path: Path) -> None:
    make_agx_orin(tmp_path)
    make_hwmon_chip(tmp_path, "1-0044", "hwmon5", {"VDD_IN": (19_000, 500)})
    assert watts_of(tmp_path) == pytest.approx(9.5)


def test_the_rails_can_be_chosen(tmp_path: Path) -> None:
    make_tx2(tmp_path)
    assert watts_of(tmp_path, ("VDD_SYS_GPU", "VDD_SYS_CPU", "VDD_SYS_GPU")) == pytest.approx(1.7)
    assert watts_of(tmp_path, "VDD_SYS_DDR") == pytest.approx(1.2)
    with pytest.raises(Ina3221UnavailableError, match=r"no rail VDD_GPU;.*VDD_3V3_SYS, VDD_4V0"):
        Ina3221Meter(tmp_path, rails=("VDD_GPU", "VDD_IN"))
    with pytest.raises(Ina3221UnavailableError, match=r"no rail given;.*VDD_3V3_SYS, VDD_4V0"):
        Ina3221Meter(tmp_path, rails=())


def test_rails_of_an_unknown_board_are_not_added_by_guess(tmp_path: Path) -> None:
    make_hwmon_chip(tmp_path, "1-0040", "hwmon3", {"VDD_GPU": (1, 1), "VDD_CPU_SOC_MSS": (1, 1), "VIN_SYS_5V0": (1, 1)})
    with pytest.raises(Ina3221UnavailableError, match=r"VDD_CPU_SOC_MSS, VDD_GPU, VIN_SYS_5V0 .* rails="):
        Ina3221Meter(tmp_path)


def test_a_current_a_little_below_zero_is_no_energy(tmp_path: Path) -> None:
    rails = {"VDD_GPU_SOC": (18_000, -8), "VDD_CPU_CV": (18_000, 100), "VIN_SYS_5V0": (5_000, 0)}
    make_hwmon_chip(tmp_path, "1-0040", "hwmon3", rails)
    assert watts_of(tmp_path) == pytest.approx(1.8)


def test_a_rail_that_vanishes_in_the_middle_fails_that_reading_and_the_meter_goes_on_when_it_is_back(
    tmp_path: Path,
) -> None:
    power, now = make_tx2(tmp_path) / "in_power0_input", [0.0]
    with Ina3221Meter(tmp_path, period_seconds=NEVER, clock=lambda: now[0]) as meter:
        meter.read_joules()
        now[0] = 1.0
        before = meter.read_joules()
        power.unlink()
        now[0] = 2.0
        with pytest.raises(MeterError, match=rf"INA3221, VDD_IN: .*{os.strerror(errno.ENOENT)}.*in_power0"):
            meter.read_joules()
        power.write_text("8000\n")
        now[0] = 3.0
        assert meter.read_joules() == before
        now[0] = 4.0
        assert meter.read_joules() - before == pytest.approx(8.0)


def test_a_machine_without_sensors_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(Ina3221UnavailableError, match=rf"no INA3221 .*{tmp_path}/bus/i2c/drivers\.$"):
        Ina3221Meter(tmp_path)
    make_iio_chip(tmp_path, "0-0040", "iio:device0", {"NC": 5})
    with pytest.raises(Ina3221UnavailableError, match="no INA3221 "):
        Ina3221Meter(tmp_path)


@pytest.mark.parametrize("broken", ["text", "missing"])
def test_a_sensor_that_says_no_number_is_one_sentence(tmp_path: Path, broken: str) -> None:
    current = make_agx_orin(tmp_path) / "curr1_input"
    if broken == "text":
        current.write_text("none\n")
    else:
        current.unlink()
    fact = "'none" if broken == "text" else "curr1_input"
    with pytest.raises(Ina3221UnavailableError, match=rf"INA3221 .*{tmp_path}.*read: .*{fact}"):
        Ina3221Meter(tmp_path)


def test_a_sensor_that_this_user_may_not_read_names_the_file_and_the_way_out() -> None:
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        power = make_tx2(folder) / "in_power0_input"
        power.chmod(0o400 if os.geteuid() == 0 else 0o000)
        with (
            as_an_ordinary_user(),
            pytest.raises(Ina3221UnavailableError, match=rf"^{power} .*root.*chmod a\+r {power}\.$"),
        ):
            Ina3221Meter(folder)
    finally:
        shutil.rmtree(folder)


def test_a_jetson_board_is_found_where_no_other_meter_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    make_tx2(tmp_path)
    meter = find_meter("auto", MeterPlaces(powercap=tmp_path / "powercap", sys=tmp_path))
    assert isinstance(meter, Ina3221Meter)
    assert (meter.update_seconds, meter.is_estimate) == (0.02, False)
