"""AMD GPUs, on copies of the driver's files and on commands that print what amd-smi and rocm-smi print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.hardware.fake_linux import put
from tests.unit.hardware.fake_sensors import make_chip

from flexibo.hardware import AmdMeter, AmdUnavailableError
from flexibo.hardware.amd import amd_smi, rocm_smi


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def make_program(folder: Path, name: str, printed: Any, status: int = 0) -> Path:
    """A program that prints the content of a file, which a test may change."""
    content = folder / f"{name}.json"
    content.write_text(printed if isinstance(printed, str) else json.dumps(printed))
    program = folder / name
    program.write_text(f'#!/bin/sh\nwhile read -r line; do echo "$line"; done < {content}\nexit {status}\n')
    program.chmod(0o755)
    content.write_text(content.read_text() + "\n")
    return content


def test_the_cards_of_the_driver_are_added_and_an_apu_is_not(programs: Path, tmp_path: Path) -> None:
    sys, now = tmp_path / "sys", [0.0]
    first = make_chip(sys, 0, "amdgpu", power1_average=100_000_000, power1_label="PPT")
    make_chip(sys, 1, "amdgpu", power1_input=50_000_000)
    make_chip(sys, 2, "amdgpu", power1_input=20_000_000, power1_label="slowPPT")
    make_chip(sys, 3, "nvme", power1_input=20_000_000)
    make_program(programs, "amd-smi", "[]")
    with AmdMeter(sys, clock=lambda: now[0]) as meter:
        assert meter.read_joules() == 0.0
        now[0] = 2.0
        put(first / "power1_average", 300_000_000)
        assert meter.read_joules() == pytest.approx(2 * (200 + 50))
        assert meter.name == "AMD, 2 GPUs (driver)"


def test_the_counter_of_amd_smi_is_read_where_there_are_no_files(programs: Path, tmp_path: Path) -> None:
    def gpus(*joules: Any) -> list[dict[str, Any]]:
        return [
            {
                "gpu": at,
                "power": {"socket_power": {"value": 133, "unit": "W"}},
                "energy": {"total_energy_consumption": {"value": one, "unit": "J"}},
            }
            for at, one in enumerate(joules)
        ]

    content = make_program(programs, "amd-smi", gpus(1000.5, 2000.0))
    meter = AmdMeter(tmp_path / "sys")
    content.write_text(json.dumps({"gpu_data": gpus(1010.5, 2005.0)}) + "\n")  # as newer versions print it
    assert meter.read_joules() == pytest.approx(15.0)
    assert meter.name == "AMD, all GPUs (amd-smi)"
    content.write_text("no JSON\n")
    with pytest.raises(AmdUnavailableError, match="amd-smi"):
        meter.read_joules()


def test_the_power_of_rocm_smi_is_sampled_where_amd_smi_fails(programs: Path, tmp_path: Path) -> None:
    make_program(programs, "amd-smi", "", status=1)
    make_program(programs, "rocm-smi", {"card0": {"Average Graphics Package Power (W)": "38.0"}})
    now = [0.0]
    with AmdMeter(tmp_path / "sys", clock=lambda: now[0]) as meter:
        meter.read_joules()
        now[0] = 10.0
        assert meter.read_joules() == pytest.approx(380.0)
        assert meter.name == "AMD, all GPUs (rocm-smi)"


def test_a_machine_without_an_amd_gpu_is_told_what_was_looked_for(programs: Path, tmp_path: Path) -> None:
    with pytest.raises(AmdUnavailableError, match=r"amd-smi.*rocm-smi"):
        AmdMeter(tmp_path)
    make_chip(tmp_path, 2, "amdgpu", power1_input=20_000_000, power1_label="fastPPT")
    with pytest.raises(AmdUnavailableError, match="rapl"):
        AmdMeter(tmp_path)


@pytest.mark.parametrize(
    ("report", "found"),
    [
        ([], {}),
        ([{"gpu": 0, "power": "N/A", "energy": "N/A"}], {}),
        ([{"power": {"socket_power": "30 W"}}, {"power": {"socket_power": {"value": "N/A"}}}], {"watts": 30.0}),
        ([{"energy": {"total_energy_consumption": {"value": 5.0}}, "power": {}}], {"joules": 5.0}),
        ([{"power": {"socket_power": {"value": -1}}}], {}),
    ],
)
def test_what_amd_smi_prints_is_read_and_what_it_does_not_know_is_left_out(
    report: Any, found: dict[str, float]
) -> None:
    assert amd_smi(report) == found


def test_the_second_die_of_a_card_reports_nothing_to_rocm_smi() -> None:
    key = "Current Socket Graphics Package Power (W)"
    assert rocm_smi({"card0": {key: "90.0"}, "card1": {key: "N/A"}, "system": {}}) == {"watts": 90.0}
    assert rocm_smi({"card0": {"Temperature": "40"}}) == {}
