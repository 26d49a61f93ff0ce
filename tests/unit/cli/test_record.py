"""``flexibo record``, and ``flexibo run`` of networks that are trained."""

from __future__ import annotations

import re
from pathlib import Path
from types import MappingProxyType

import pytest
from tests.command_line import (
    FakeMeter,
    call,
    mentions,
)

from flexibo.hardware import MeterError
from flexibo.systems import catalogue
from flexibo.systems.platforms import LinuxCpu
from flexibo.systems.recording.__main__ import main as record_bare
from flexibo.systems.recording.table import read_table

SMALL = {
    name: (1, 3) if "size" in name else (16, 32) if name == "filters_1" else (16,)
    for name in catalogue.NETWORKS["lenet"]
}


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # where the processor has no bfloat16 of its own
class TestWithTorch:
    @pytest.fixture(autouse=True)
    def _small(self, mnist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("torch")
        monkeypatch.setattr(catalogue, "NETWORKS", MappingProxyType({**catalogue.NETWORKS, "lenet": SMALL}))
        monkeypatch.chdir(tmp_path)

    def test_a_network_is_trained_and_read_until_the_budget_is_spent(self, mnist: Path) -> None:
        arguments = ["run", "lenet", "--data", str(mnist), "--platform", "linux-cpu", "--estimate", "10"]
        outcome = call(*arguments, "--epochs", "1", "--budget", "1s", "--and", "latency_ms")
        assert outcome.exit_code == 0, outcome.exception
        assert mentions(outcome.stdout, "20 held-out", "mnist", "60")
        assert mentions(outcome.stdout, "10 W")
        assert (mnist / "lenet.db").exists()
        assert list((mnist / "models").glob("lenet-*.json"))

    def test_without_a_meter_nothing_is_measured(self, mnist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def nothing(self: object) -> None:
            raise MeterError("no meter")

        monkeypatch.setattr(LinuxCpu, "meter", nothing)
        for command, advice in ((["run", "lenet"], True), (["record", "lenet", "--out", "t.csv.gz"], False)):
            outcome = call(*command, "--data", str(mnist), "--platform", "linux-cpu")
            assert mentions(outcome.exception, "no meter")
            assert ("--estimate WATTS" in str(outcome.exception)) == advice
        assert not (mnist / "models").exists()

    def test_a_recording_is_made_in_two_calls(self, mnist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(LinuxCpu, "meter", lambda self: FakeMeter())
        arguments = ["record", "lenet", "--data", str(mnist), "--platform", "linux-cpu", "--out", "lenet-cpu.csv.gz"]
        grid = ["--networks", "2", "--deployments", "2", "--again", "1", "--epochs", "1", "--window", "0.1"]
        first = call(*arguments, *grid, "--time", "0.001s")
        assert first.exit_code == 1
        assert re.search(r"\b[1-9]\d* measurements", first.stdout)
        assert call(*arguments, *grid).exit_code == 0
        table = read_table(mnist / "lenet-cpu.csv.gz")
        assert len(table.rows) == 4
        assert all(row["energy_joules"] > 0 and 0 <= row["error_percent"] <= 100 for row in table.rows)
        assert sum(row["energy_joules_again"] is not None for row in table.rows) == 1
        assert table.heading["settings"]["dataset"] == "mnist"
        assert set(table.heading["versions"]) == {"flexibo", "numpy", "python", "torch"}

    def test_what_the_store_has_is_read_before_more_is_trained(
        self, mnist: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from flexibo.systems.recording import session

        monkeypatch.setattr(LinuxCpu, "meter", lambda self: FakeMeter())
        asked: list[int] = []
        monkeypatch.setattr(
            session, "train_ahead", lambda request, networks, jobs, is_over: asked.append(len(networks))
        )
        arguments = ["record", "lenet", "--data", str(mnist), "--platform", "linux-cpu", "--models", "kept"]
        grid = ["--networks", "2", "--deployments", "1", "--again", "0", "--epochs", "1", "--window", "0.1"]
        narrow = ["--at-most", "filters_1=16"]
        assert call(*arguments, *grid, *narrow, "--out", "a.csv.gz", "--jobs", "2").exit_code == 0
        assert asked == [2]
        again = call(*arguments, *grid, *narrow, "--out", "b.csv.gz", "--jobs", "2")
        assert (again.exit_code, asked) == (0, [2])
        finish = call("record", "lenet", "--out", "b.csv.gz", "--finish")
        assert mentions(finish.stdout, "2 of 2 networks")

    def test_only_wanted_values_are_recorded(self, mnist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(LinuxCpu, "meter", lambda self: FakeMeter())
        arguments = ["record", "lenet", "--data", str(mnist), "--platform", "linux-cpu", "--out", "t.csv.gz"]
        grid = ["--networks", "1", "--deployments", "3", "--again", "0", "--epochs", "1", "--window", "0.1"]
        narrow = ["--only", "filters_1=16"]
        wanted = ["--only", "batch=1,4", "--only", "threads=1", "--only", "precision=fp32"]
        assert call(*arguments, *grid, *narrow, *wanted).exit_code == 0
        rows = read_table(mnist / "t.csv.gz").rows
        assert {row["batch"] for row in rows} == {1, 4}
        assert {(row["filters_1"], row["threads"]) for row in rows} == {(16, 1)}
        unknown = call(*arguments, *grid, "--only", "bach=1")
        assert mentions(unknown.exception, "'bach'", "'batch'")

    def test_a_bare_machine_records_the_same(
        self, mnist: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(LinuxCpu, "meter", lambda self: FakeMeter())
        arguments = ["lenet", "--data", str(mnist), "--platform", "linux-cpu", "--networks", "1", "--deployments", "1"]
        assert record_bare([*arguments, "--out", "t.csv.gz", "--epochs", "1", "--again", "0", "--window", "0.02"]) == 0
        assert "2 of 2: read" in capsys.readouterr().out
        assert record_bare([*arguments, "--out", "t.csv"]) == 2
        assert mentions(capsys.readouterr().err, "t.csv", ".csv.gz")
