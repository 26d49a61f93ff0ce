"""The table of meters: names, sums, commands, and what a machine has."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.hardware.fake_sensors import make_acpi_meter, make_chip
from tests.unit.hardware.test_rapl import make_zone, set_counter

from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.hardware import (
    METERS,
    MeterError,
    MeterPlaces,
    SumMeter,
    chosen_meter,
    find_meter,
    is_meter_name,
    machine_meter,
    meters_report,
    open_meter,
)
from flexibo.hardware.table import check_meter_name


@pytest.fixture(autouse=True)
def no_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def places(sys: Path) -> MeterPlaces:
    return MeterPlaces.of_environment({"FLEXIBO_SYS": str(sys)})


@pytest.mark.parametrize("text", ["auto", *METERS, "rapl+nvml", "rapl + nvml:all", "hwmon:amdgpu/PPT"])
def test_names_of_meters_are_told_from_commands(text: str) -> None:
    assert is_meter_name(text)
    assert not is_meter_name(f"./{text}")


@pytest.mark.parametrize("text", ["rapl+rapl", "grace+nvml", "ina3221+rapl", "hwmon+rapl", "rapl:3"])
def test_what_would_count_twice_or_means_nothing_is_refused(text: str, tmp_path: Path) -> None:
    make_zone(tmp_path / "class/powercap", "intel-rapl:0", "package-0", 0)
    with pytest.raises(InvalidValueError):
        open_meter(text, places(tmp_path))
    with pytest.raises(UnknownNameError, match="rapl"):
        open_meter("rapl+rappl", places(tmp_path))


def test_a_name_that_is_too_long_for_a_file_is_an_unknown_meter(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Unknown meter 'zz"):
        check_meter_name("z" * 100_000, folder=tmp_path)


def test_processor_and_gpu_are_summed_by_name_and_by_themselves(tmp_path: Path) -> None:
    make_zone(tmp_path / "class/powercap", "intel-rapl:0", "package-0", 5_000_000)
    make_chip(tmp_path, 0, "amdgpu", power1_average=0, power1_label="PPT")
    for meter in (open_meter("rapl+amd", places(tmp_path)), machine_meter(places(tmp_path))):
        before = meter.read_joules()
        set_counter(tmp_path / "class/powercap", "intel-rapl:0", 5_000_000)
        set_counter(tmp_path / "class/powercap", "intel-rapl:0", 7_000_000)
        assert meter.read_joules() - before == pytest.approx(2.0)
        assert meter.name == "RAPL, 1 package + AMD, 1 GPU (driver)"
        assert isinstance(meter, SumMeter)
        meter.close()
        set_counter(tmp_path / "class/powercap", "intel-rapl:0", 5_000_000)


def test_the_meter_of_a_module_is_preferred_to_its_parts(tmp_path: Path) -> None:
    make_zone(tmp_path / "class/powercap", "intel-rapl:0", "package-0", 5_000_000)
    make_acpi_meter(tmp_path, 0, "Module Power Socket 0", 80_000_000)
    meter = machine_meter(places(tmp_path))
    assert meter.name == "Grace, Module Power Socket 0"


def test_a_machine_without_meters_is_told_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(MeterError) as caught:
        machine_meter(places(tmp_path))
    assert all(kind in str(caught.value) for kind in METERS)
    assert "doctor" in str(caught.value)
    report = meters_report(places(tmp_path))
    assert list(report) == list(METERS)
    assert not any(report.values())


def test_a_machine_with_only_one_sensor_uses_it(tmp_path: Path) -> None:
    make_chip(tmp_path, 3, "ina226", power1_input=4_000_000)
    meter = machine_meter(places(tmp_path))
    assert meter.name == "hwmon, ina226/power1"


def test_a_sensor_with_a_slash_in_its_name_is_no_folder(tmp_path: Path) -> None:
    make_chip(tmp_path, 3, "ina226", power1_input=4_000_000, power1_label="VDD")
    found = find_meter("hwmon:ina226/VDD", places(tmp_path))
    assert found is not None
    assert found.name == "hwmon, ina226/VDD"


def test_what_is_no_name_is_a_command_if_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_chip(tmp_path, 3, "ina226", power1_input=4_000_000)
    assert chosen_meter("auto", places(tmp_path)).name == "hwmon, ina226/power1"
    assert chosen_meter(" hwmon ", places(tmp_path)).name == "hwmon, ina226/power1"
    assert chosen_meter("echo 5 J", places(tmp_path)).name == "command echo 5 J"
    with pytest.raises(UnknownNameError, match=r"'rapll'.*'rapl'"):
        chosen_meter("rapll", places(tmp_path))
    with pytest.raises(UnknownNameError):
        chosen_meter("", places(tmp_path))
    (tmp_path / "plug").write_text("#!/bin/sh\necho 5 J\n")
    with pytest.raises(UnknownNameError, match=r"\./plug"):
        chosen_meter("plug", places(tmp_path), folder=tmp_path, environment={"PATH": "/nowhere"})
    (tmp_path / "plug").chmod(0o755)
    assert chosen_meter("plug", places(tmp_path)).read_joules() == 0.0
