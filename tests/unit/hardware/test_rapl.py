"""The RAPL meter, on faithful copies of what Linux shows under /sys/class/powercap."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from tests.ordinary_user import as_an_ordinary_user

from flexibo.errors import FlexiBOError
from flexibo.hardware import EnergyMeter, RaplMeter, find_meter

RANGE = 262_143_328_850


def make_zone(root: Path, zone: str, name: str, energy_uj: int) -> Path:
    folder = root / zone
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "energy_uj").write_text(f"{energy_uj}\n")
    (folder / "max_energy_range_uj").write_text(f"{RANGE}\n")
    return folder / "energy_uj"


@pytest.fixture
def powercap(tmp_path: Path) -> Path:
    """Two packages with sub-zones, the board's own zone and a second view of a package, as on a real server."""
    root = tmp_path / "powercap"
    (root / "intel-rapl").mkdir(parents=True)
    (root / "intel-rapl" / "enabled").write_text("1\n")
    make_zone(root, "intel-rapl:0", "package-0", 5_000_000)
    make_zone(root, "intel-rapl:0:0", "core", 1_000_000)
    make_zone(root, "intel-rapl:0:1", "dram", 1_000_000)
    make_zone(root, "intel-rapl:1", "package-1", 7_000_000)
    make_zone(root, "intel-rapl:2", "psys", 90_000_000)
    make_zone(root, "intel-rapl-mmio:0", "package-0", 5_000_000)
    return root


def set_counter(root: Path, zone: str, energy_uj: int) -> None:
    (root / zone / "energy_uj").write_text(f"{energy_uj}\n")


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike tmp_path."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_the_meter_adds_the_packages_and_nothing_else(powercap: Path) -> None:
    meter = RaplMeter(powercap)
    before = meter.read_joules()
    for zone, energy in {
        "intel-rapl:0": 5_500_000,
        "intel-rapl:1": 7_250_000,
        "intel-rapl:0:0": 900_000_000,
        "intel-rapl:0:1": 900_000_000,
        "intel-rapl:2": 900_000_000,
        "intel-rapl-mmio:0": 900_000_000,
    }.items():
        set_counter(powercap, zone, energy)
    assert meter.read_joules() - before == pytest.approx(0.75)
    assert meter.name == "RAPL, 2 packages"


def test_a_counter_that_starts_again_at_zero_keeps_rising(powercap: Path) -> None:
    set_counter(powercap, "intel-rapl:0", RANGE - 1_000_000)
    meter = RaplMeter(powercap)
    readings = [meter.read_joules()]
    for energy in (2_000_000, RANGE - 3_000_000, 1_000_000):
        set_counter(powercap, "intel-rapl:0", energy)
        readings.append(meter.read_joules())
    rises = [after - before for before, after in pairwise(readings)]
    assert rises == pytest.approx([3.0, (RANGE - 5_000_000) / 1e6, 4.0])


def test_one_package_wraps_while_the_other_goes_on(powercap: Path) -> None:
    set_counter(powercap, "intel-rapl:1", RANGE)
    meter = RaplMeter(powercap)
    before = meter.read_joules()
    set_counter(powercap, "intel-rapl:0", 6_000_000)
    set_counter(powercap, "intel-rapl:1", 500_000)
    assert meter.read_joules() - before == pytest.approx(1.5)


def test_packages_of_several_dies_are_packages(tmp_path: Path) -> None:
    make_zone(tmp_path, "intel-rapl:0", "package-0-die-0", 0)
    make_zone(tmp_path, "intel-rapl:1", "package-0-die-1", 0)
    meter = RaplMeter(tmp_path)
    set_counter(tmp_path, "intel-rapl:1", 2_000_000)
    assert meter.read_joules() == pytest.approx(2.0)


def test_a_readable_machine_has_a_meter(powercap: Path) -> None:
    meter: EnergyMeter | None = find_meter(powercap)
    assert meter is not None
    assert meter.read_joules() == 0.0
    assert RaplMeter.available(powercap)


def test_a_machine_without_powercap_has_no_meter_and_the_reason_names_the_folder(tmp_path: Path) -> None:
    missing = tmp_path / "powercap"
    available = RaplMeter.available(missing)
    assert not available
    assert re.search(f"no RAPL .*{missing}", available.reason)
    assert find_meter(missing) is None


def test_a_machine_without_a_package_zone_has_no_meter(tmp_path: Path) -> None:
    make_zone(tmp_path, "intel-rapl:0", "psys", 0)
    assert not RaplMeter.available(tmp_path)


def test_a_counter_that_this_user_may_not_read_names_the_file_and_the_way_out(shared_folder: Path) -> None:
    counter = make_zone(shared_folder, "intel-rapl:0", "package-0", 0)
    counter.chmod(0o400 if os.geteuid() == 0 else 0o000)
    with as_an_ordinary_user():
        available = RaplMeter.available(shared_folder)
        assert find_meter(shared_folder) is None
    assert not available
    assert re.search(f"^{counter} .*chmod a\\+r {counter}", available.reason)


def test_a_counter_that_is_gone_or_says_no_number_is_a_clear_error(powercap: Path) -> None:
    (powercap / "intel-rapl:1" / "energy_uj").write_text("none\n")
    with pytest.raises(FlexiBOError, match=rf"RAPL .*{powercap}.*'none"):
        RaplMeter(powercap)
    (powercap / "intel-rapl:1" / "energy_uj").unlink()
    assert "energy_uj" in RaplMeter.available(powercap).reason
    assert find_meter(powercap) is None
