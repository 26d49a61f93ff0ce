"""Systems of stored studies, built again on other machines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import pytest
from tests.command_line import (
    SPACE,
    FakeMeter,
    good,
    refusal,
    write_mnist,
)

from flexibo import Study
from flexibo.hardware import MeterError
from flexibo.systems import catalogue
from flexibo.systems.platforms import LinuxCpu

BOARD = """
import os, signal

calls = []

def error(design):
    calls.append(design)
    if {fail!r} == "error":
        raise RuntimeError("burnt \\x1b[31m" + chr(10) + "and gone")
    if {kill!r} and len(calls) == 3:
        os.kill(os.getpid(), {kill!r})
    return design["x"] + design["k"] / 10, 5.0

def energy(design):
    return 1 - design["x"] + design["k"] / 20, 1.0

functions = {{"error": error, "energy": energy}}

def made():
    return functions

class Bench:
    functions = functions

needs = lambda argument: functions
number = 3
"""


def board(*, fail: str = "", kill: int = 0) -> None:
    Path("board.py").write_text(BOARD.format(fail=fail, kill=kill))


SMALL = {
    f"{what}_{layer}": values
    for layer in (1, 2, 3, 4)
    for what, values in (("filters", (16, 32)), ("filter_size", (1, 3)))
}


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # where the processor has no bfloat16 of its own
class TestSplitBetweenMachines:
    """The paper's split: a board reads energy and begins the study, a GPU machine trains."""

    @pytest.fixture
    def data(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """MNIST in its own format, but small."""
        pytest.importorskip("torch")
        monkeypatch.setattr(catalogue, "NETWORKS", MappingProxyType({**catalogue.NETWORKS, "lenet": SMALL}))
        reading = SimpleNamespace(joules=0.25, call_seconds=0.5, watts=0.5, seconds_total=0.01)
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
            common = ("--data", data, "--platform", "linux-cpu", "--epochs", "1", "--idle", "0.3s", "--budget", "20s")
            return good("run", "lenet", "--only", "energy_millijoules", *common, *more)

        return run

    def test_a_board_begins_and_a_trainer_without_a_meter_goes_on(
        self, data: Path, begin: Callable[..., str], no_meter: Callable[[], None]
    ) -> None:
        shown = begin("--and", "latency_ms")
        assert "energy_millijoules is of one inference, read from a fake." in " ".join(shown.split())
        assert "held-out" not in shown
        assert not Path("models").exists()
        study = Study.load("sqlite:///lenet.db")
        origin = study.history.origin
        assert origin["system"] == "lenet"
        assert (origin["epochs"], origin["dataset"], origin["and"]) == (1, "mnist", ["latency_ms"])
        assert not {"storage", "data", "models"} & set(origin)
        assert study.history.count(0) == 0
        assert study.history.count(1) == study.history.count(2) > 0
        no_meter()
        good("worker", "--system", "lenet", "--only", "error_percent", "--data", data, "--idle", "0.3s")
        study.refresh()
        assert study.history.count(0) > 0
        assert list(Path("models").glob("lenet-*.json"))
        assert "Without a meter" in refusal("worker", "--data", data, "--idle", "0.3s")

    def test_run_with_the_error_alone_joins_what_was_begun_where_energy_is_measured(
        self, data: Path, begin: Callable[..., str], no_meter: Callable[[], None]
    ) -> None:
        only = ("run", "lenet", "--only", "error_percent", "--data", data, "--idle", "0.3s")
        assert "There is no file" in refusal(*only)
        begin()
        no_meter()
        good(*only)
        assert Study.load("sqlite:///lenet.db").history.count(0) > 0
        Study(SPACE, ["a", "b"], storage="sqlite:///other.db", seed=0).close()
        assert "holds no study of lenet" in refusal(*only, "--storage", "sqlite:///other.db")

    def test_what_would_mix_values_is_refused(
        self, data: Path, begin: Callable[..., str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begin()
        reading = ("worker", "--only", "energy_millijoules", "--idle", "0.3s", "--data", data)
        assert "study is of system 'lenet'; 'resnet' given" in refusal(*reading, "--system", "resnet")
        with monkeypatch.context() as patch:
            patch.setattr(FakeMeter, "name", "another")
            assert "is measured with a fake; here it would be another" in refusal(*reading)
        with monkeypatch.context() as patch:
            offers = LinuxCpu.options
            patch.setattr(LinuxCpu, "options", lambda self, traits: {**offers(self, traits), "batch": (1, 2)})
            assert "This machine offers other values of batch" in refusal(*reading)
        assert "which decides the shape of the network; give --data" in refusal(*reading[:-2])
        good(*reading)

    def test_a_study_that_was_trained_otherwise_is_not_gone_on_with(
        self, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(LinuxCpu, "meter", lambda self: FakeMeter())
        both = ("--data", data, "--platform", "linux-cpu", "--epochs", "1", "--budget", "1s")
        good("run", "lenet", *both)
        training = ("worker", "--only", "error_percent", "--data", data, "--idle", "0.3s")
        assert "are not those that the study was started with" in refusal(*training, "--epochs", "2")
        assert "are not those that the study was started with" in refusal(*training, "--limit", "30")
        good(*training)
        good("resume", "--data", data, "--budget", "2s")
