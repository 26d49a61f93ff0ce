"""Jetson boards: the paper's options, the sensors of the board, and its GPU."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from tests.unit.hardware.fake_linux import jetson, put

from flexibo.hardware import MeterError
from flexibo.hardware.knobs import LinuxMachine, Roots
from flexibo.systems.catalogue import find_system
from flexibo.systems.platforms import PLATFORMS, Jetson, NvidiaGpu


def test_a_jetson_has_the_papers_nine_knobs() -> None:
    hardware = {"active_cores", "cpu_frequency", "gpu_frequency", "emc_frequency"}
    system = {"scheduler", "swappiness", "dirty_ratio", "dirty_background_ratio", "cache_pressure"}
    assert {knob.name for knob in Jetson("tx2").knobs()} == hardware | system
    assert Jetson("tx2").name == "jetson-tx2"


def test_a_board_offers_batches_and_precisions_but_no_streams_or_graphs() -> None:
    assert dict(Jetson().options(find_system("lenet").traits)) == {
        "batch": (1, 4, 16, 64, 256),
        "precision": ("fp32", "fp16"),
    }
    assert dict(Jetson().options(find_system("bert-imdb").traits)) == {"precision": ("fp32", "fp16")}


def test_an_orin_computes_in_the_precisions_of_its_gpu_and_has_its_own_ranges(tmp_path: Path) -> None:
    board = PLATFORMS["jetson-orin"]()
    assert board.name == "jetson-orin"
    assert board.options(find_system("bert-imdb").traits)["precision"] == ("fp32", "tf32", "bf16", "fp16")
    orin, xavier = (Jetson(name, LinuxMachine(jetson(tmp_path / name))) for name in ("orin", "xavier"))
    lowest = [{knob.name: knob.values()[0] for knob in one.knobs()}["gpu_frequency"] for one in (orin, xavier)]
    assert lowest == [0.11475, 0.34425]


def test_its_knobs_are_those_of_its_own_machine(tmp_path: Path) -> None:
    board = Jetson("tx2", LinuxMachine(jetson(tmp_path)))
    values = {knob.name: knob.read() for knob in board.knobs()}
    assert (values["active_cores"], values["emc_frequency"], values["swappiness"]) == (6, 1.6, 60)


def test_its_meter_looks_for_sensors_on_its_own_machine(tmp_path: Path) -> None:
    board = Jetson(machine=LinuxMachine(Roots(sys=tmp_path / "sys", proc=tmp_path)))
    with pytest.raises(MeterError, match=f"{tmp_path}/sys"):
        board.meter()
    put(tmp_path / "sys/bus/i2c/drivers/ina3221x/0-0041/iio:device1/rail_name_0", "VDD_IN")
    put(tmp_path / "sys/bus/i2c/drivers/ina3221x/0-0041/iio:device1/in_power0_input", "4000")
    with board.meter() as meter:  # type: ignore[attr-defined]
        assert "VDD_IN" in meter.name


def test_a_network_runs_on_the_gpu_in_one_stream_without_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    designs: list[dict[str, Any]] = []
    monkeypatch.setattr(
        NvidiaGpu, "serving", lambda self, model, inputs, design: (designs.append(design), nullcontext())[1]
    )
    with Jetson().serving("a model", lambda count, device: (), {"batch": 4, "streams": 9}):
        pass
    assert designs == [{"batch": 4, "streams": 1, "cuda_graphs": False}]
