"""Systems of stored studies, built again on other machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import pytest
from tests.command_line import (
    SPACE,
    FakeMeter,
    good,
    mentions,
    refusal,
    write_mnist,
)

from flexibo import Study
from flexibo.cli._build_system import build_system, recorded_table
from flexibo.hardware import MeterError
from flexibo.storage import stored_studies
from flexibo.systems import catalogue
from flexibo.systems.base import System
from flexibo.systems.platforms import LinuxCpu

TINY = {"filters_1": (16, 32)} | {
    name: (1,) if "size" in name else (16,) for name in catalogue.NETWORKS["lenet"] if name != "filters_1"
}
RUNNING = {"threads": (1,), "precision": ("fp32",), "batch": (1, 2)}


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # where the processor has no bfloat16 of its own
class TestSplitBetweenMachines:
    """The paper's split: a board reads energy and begins the study, a GPU machine trains."""

    @pytest.fixture
    def data(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """MNIST in its own format, but small, and a space of two networks with two deployments each."""
        pytest.importorskip("torch")
        monkeypatch.setattr(catalogue, "NETWORKS", MappingProxyType({**catalogue.NETWORKS, "lenet": TINY}))
        monkeypatch.setattr(LinuxCpu, "options", lambda self, traits: RUNNING)
        monkeypatch.setattr("flexibo.systems._expected_time.work_of", lambda task, design: None)
        reading = SimpleNamespace(
            joules=0.25, deviation=0.01, repeats=10, call_seconds=0.5, call_deviation=0.02, n_calls=10, watts=0.5
        )
        monkeypatch.setattr("flexibo.systems.network_runner.measure", lambda run, meter, **how: reading)
        folder = tmp_path / "data"
        folder.mkdir()
        write_mnist(folder)
        return folder

    @pytest.fixture
    def no_meter(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
        def remove() -> None:
            def nothing(self: object) -> None:
                raise MeterError("There is no meter.")

            monkeypatch.setattr(LinuxCpu, "meter", nothing)

        return remove

    @pytest.fixture
    def begin(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
        """The board begins the study; it has a meter, and does not train."""
        monkeypatch.setattr(LinuxCpu, "meter", lambda self: FakeMeter())

        def run(*more: str) -> str:
            common = ("--data", data, "--platform", "linux-cpu", "--epochs", "1", "--idle", "0.1s", "--budget", "1h")
            return good("run", "lenet", "--only", "energy_millijoules", *common, *more)

        return run

    def test_a_board_begins_and_a_trainer_without_a_meter_goes_on(
        self, data: Path, begin: Callable[..., str], no_meter: Callable[[], None]
    ) -> None:
        shown = begin("--and", "latency_ms")
        assert mentions(shown, "energy_millijoules", "one inference", "a fake")
        assert "held-out" not in shown
        assert not Path("models").exists()
        study = Study.load("sqlite:///lenet.db")
        origin = study.history.origin
        assert origin["system"] == "lenet"
        assert origin["chance"]["objective"] == "error_percent"
        assert 0 < origin["chance"]["percent"] < 100
        assert (origin["epochs"], origin["dataset"], origin["and"]) == (1, "mnist", ["latency_ms"])
        assert not {"storage", "data", "models"} & set(origin)
        assert study.history.count(0) == 0
        assert study.history.count(1) == study.history.count(2) > 0
        no_meter()
        good("worker", "--system", "lenet", "--only", "error_percent", "--data", data, "--idle", "0.1s")
        study.refresh()
        assert study.history.count(0) > 0
        assert list(Path("models").glob("lenet-*.json"))
        assert mentions(refusal("worker", "--data", data, "--idle", "0.1s"), "meter", "--only error_percent")

    def test_run_with_the_error_alone_joins_what_was_begun_where_energy_is_measured(
        self, data: Path, begin: Callable[..., str], no_meter: Callable[[], None]
    ) -> None:
        only = ("run", "lenet", "--only", "error_percent", "--data", data, "--idle", "0.1s")
        assert mentions(refusal(*only), "lenet.db")
        begin()
        no_meter()
        good(*only)
        assert Study.load("sqlite:///lenet.db").history.count(0) > 0
        Study(SPACE, ["a", "b"], storage="sqlite:///other.db", seed=0).close()
        assert mentions(refusal(*only, "--storage", "sqlite:///other.db"), "sqlite:///other.db", "lenet")

    def test_a_study_of_energy_alone_is_the_one_that_is_then_run_as_a_whole(
        self, data: Path, begin: Callable[..., str]
    ) -> None:
        begin()
        whole = ("--data", data, "--platform", "linux-cpu", "--epochs", "1", "--budget", "1h")
        good("run", "lenet", *whole)
        begin()
        (study,) = stored_studies("sqlite:///lenet.db")
        assert Study.load("sqlite:///lenet.db", study.name).history.count(0) > 0
        good("run", "lenet", *whole[:-1], "2s", "--seed", "1")
        assert len(stored_studies("sqlite:///lenet.db")) == 2

    def test_a_study_whose_errors_are_as_trained_goes_on_so(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = ("run", "lenet", "--data", data, "--platform", "linux-cpu", "--epochs", "1", "--budget")
        monkeypatch.setattr(LinuxCpu, "meter", lambda self: FakeMeter())
        with monkeypatch.context() as patch:  # as version 0.1 began it
            patch.setattr("flexibo.cli._run_system.build_system", partial(build_system, as_trained=True))
            good(*whole, "0.1s")
        (study,) = stored_studies("sqlite:///lenet.db")
        began = Study.load("sqlite:///lenet.db").history
        assert "precision" not in began.objectives[0].depends_on
        assert mentions(good(*whole, "1h"), "as trained")
        assert [one.name for one in stored_studies("sqlite:///lenet.db")] == [study.name]
        assert Study.load("sqlite:///lenet.db").history.count(0) == 2  # both networks
        good("worker", "--only", "error_percent", "--data", data, "--idle", "0.1s")

    def test_what_would_mix_values_is_refused(
        self, data: Path, begin: Callable[..., str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begin()
        reading = ("worker", "--only", "energy_millijoules", "--idle", "0.1s", "--data", data)
        assert mentions(refusal(*reading, "--system", "resnet"), "'lenet'", "'resnet'")
        with monkeypatch.context() as patch:
            patch.setattr(FakeMeter, "name", "another")
            assert mentions(refusal(*reading), "a fake", "another")
        with monkeypatch.context() as patch:
            patch.setattr(LinuxCpu, "options", lambda self, traits: {**RUNNING, "batch": (1, 4)})
            assert mentions(refusal(*reading), "values of batch")
        assert mentions(refusal(*reading[:-2]), "shape", "--data", "FLEXIBO_DATA")
        good(*reading)

    def test_a_study_that_was_trained_otherwise_is_not_gone_on_with(
        self, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(LinuxCpu, "meter", lambda self: FakeMeter())
        both = ("--data", data, "--platform", "linux-cpu", "--epochs", "1", "--budget", "1s")
        good("run", "lenet", *both)
        training = ("worker", "--only", "error_percent", "--data", data, "--idle", "0.1s")
        assert mentions(refusal(*training, "--epochs", "2"), "epochs")
        assert mentions(refusal(*training, "--limit", "30"), "limit")
        good(*training)
        good("resume", "--data", data, "--budget", "2s")


@pytest.mark.parametrize("chance", [None, (50.0, 400)])
def test_a_replayed_table_says_what_chance_is_if_it_is_known(
    toy: System, monkeypatch: pytest.MonkeyPatch, chance: tuple[float, int] | None
) -> None:
    monkeypatch.setattr("flexibo.cli._build_system.recorded_system", lambda name, **how: replace(toy, chance=chance))
    expected = chance and {"objective": "error_percent", "percent": 50.0, "examples": 400}
    assert recorded_table("toy").origin.get("chance") == expected
