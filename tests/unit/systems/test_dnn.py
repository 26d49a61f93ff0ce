"""A network as a system: its space, its objectives, and what a reading gives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from flexibo.errors import UnknownNameError
from flexibo.hardware import EstimatedMeter
from flexibo.hardware.knobs import LinuxMachine, Roots, Write
from flexibo.objectives import Reading
from flexibo.systems.dnn import dnn_system
from flexibo.systems.options import NETWORKS

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tests.unit.systems.fake_runner import FakePlatform, FakeTask, lenet, runner_of, short_readings  # noqa: E402


@pytest.fixture(autouse=True)
def _short_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    short_readings(monkeypatch)


@dataclass(frozen=True)
class FakeKnob:
    name: str = "swappiness"

    def values(self) -> tuple[int, ...]:
        return (10, 60)

    def read(self) -> int:
        return 60

    def writes(self, value: Any) -> tuple[Write, ...]:
        return ()


def test_a_design_has_options_of_network_platform_and_machine(tmp_path: Path) -> None:
    system = dnn_system(runner_of(tmp_path, knobs=(FakeKnob(),)))
    assert system.space.names == (*NETWORKS["lenet"], "threads", "precision", "batch", "layout", "swappiness")


def test_each_objective_names_its_own_options(tmp_path: Path) -> None:
    error, energy = dnn_system(runner_of(tmp_path)).objectives
    assert tuple(error.depends_on) == (*NETWORKS["lenet"], "precision")
    assert error.reuse == tuple(NETWORKS["lenet"]), "a stored network is tested in other precisions"
    assert set(energy.depends_on) == {*NETWORKS["lenet"], "threads", "precision", "batch", "layout"}


@pytest.mark.parametrize(
    ("system", "silent"),
    [
        ("bert-imdb", {"dropout", "learning_rate", "weight_decay"}),
        ("bert-squad", {"dropout", "learning_rate", "weight_decay"}),
        ("deepspeech", {"epochs", "dropout", "learning_rate"}),
    ],
)
def test_what_changes_the_training_alone_does_not_change_energy(tmp_path: Path, system: str, silent: set[str]) -> None:
    found = dnn_system(runner_of(tmp_path, system))
    error, energy = found.objectives
    assert set(found.space.names) - set(energy.depends_on) == silent
    assert silent <= set(error.depends_on)


def test_the_error_as_trained_depends_on_the_network_alone(tmp_path: Path) -> None:
    runner = runner_of(tmp_path)
    system = dnn_system(runner, as_trained=True)
    assert tuple(system.objectives[0].depends_on) == tuple(NETWORKS["lenet"])
    assert system.objectives[0].reuse == ()
    assert dnn_system(replace(runner, store=None)).objectives[0].reuse == (), "nothing is kept"
    found = [system.functions["error_percent"](lenet(precision=precision)) for precision in ("fp32", "bf16")]
    assert found == [(7.5, 0.5)] * 2
    assert system.identity == dnn_system(runner).identity


def test_the_error_comes_from_the_store_and_depends_on_network_and_precision_alone(tmp_path: Path) -> None:
    runner = runner_of(tmp_path)
    found = dnn_system(runner).functions["error_percent"](lenet(batch=16))
    assert found == (7.5, 0.5)  # what the request cost here, and not the 3.25 s that the training took
    assert runner.store.asked == [{name: lenet()[name] for name in NETWORKS["lenet"]}]


def test_a_reading_gives_millijoules_and_what_lies_beside_them(tmp_path: Path) -> None:
    system = dnn_system(runner_of(tmp_path), beside=["latency_ms", "power_watts"])
    found = system.functions["energy_millijoules"](lenet())
    assert isinstance(found, Mapping)
    assert list(found) == ["energy_millijoules", "latency_ms", "power_watts"]
    assert all(value > 0 for value in found.values())
    assert [isinstance(value, Reading) for value in found.values()] == [True, True, False]
    assert [objective.measured_with for objective in system.objectives[2:]] == ["energy_millijoules"] * 2


def test_an_objective_that_no_reading_gives_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"'latency'.*'latency_ms'"):
        dnn_system(runner_of(tmp_path), beside=["latency"])


def test_an_estimate_is_called_one(tmp_path: Path) -> None:
    system = dnn_system(runner_of(tmp_path, meter=EstimatedMeter(15)))
    assert [objective.name for objective in system.objectives] == ["error_percent", "estimated_energy_millijoules"]
    assert "estimate: 15 W x time" in system.notes[2]


def test_a_report_says_what_the_data_is(tmp_path: Path) -> None:
    notes = dnn_system(runner_of(tmp_path)).notes
    assert re.search("40 held-out .*shades", notes[0])
    assert notes[1] == "Made up."
    assert "a fake" in notes[2]


def test_a_report_says_what_is_not_offered_and_what_is_not_measured(tmp_path: Path) -> None:
    machine = LinuxMachine(Roots(sys=tmp_path, proc=tmp_path))
    notes = dnn_system(runner_of(tmp_path, platform=FakePlatform(2, machine), longest_seconds=60.0)).notes
    assert "bf16" in notes[3]
    assert re.search(r"\b60 s .*not measured", notes[4])
    (tmp_path / "cpuinfo").write_text("flags : avx512_bf16\n")
    assert len(dnn_system(runner_of(tmp_path, platform=FakePlatform(2, machine))).notes) == 3


def test_values_that_were_made_otherwise_are_another_study(tmp_path: Path) -> None:
    runners = [
        runner_of(tmp_path),
        runner_of(tmp_path, seed=1),
        runner_of(tmp_path, task=FakeTask(fingerprint="def")),
        runner_of(tmp_path, meter=EstimatedMeter(15)),
        runner_of(tmp_path, meter=EstimatedMeter(16)),
    ]
    assert len({dnn_system(runner).identity for runner in runners}) == 5
    assert dnn_system(runner_of(tmp_path)).identity == dnn_system(runners[0]).identity
