"""Study files that name a system: run, tried, shown, resumed, measured for and changed as other study files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from tests.command_line import FakeMeter, call, good, mentions, refusal, write_mnist

from flexibo import Objective, Study
from flexibo.hardware import MeterError
from flexibo.storage import stored_studies
from flexibo.systems import catalogue
from flexibo.systems.base import System
from flexibo.systems.platforms import LinuxCpu

FILE = Path("lenet.yaml")
REPLAYED = "system: lenet\nrecorded: true\nmethod: random\nbudget: 80s\n"


@pytest.mark.usefixtures("toy")
class TestReplays:
    def test_a_replay_is_run_shown_and_resumed_with_its_file(self) -> None:
        FILE.write_text(REPLAYED)
        plan = json.loads(good("run", FILE, "--dry-run", "--json"))
        assert {one["measured_by"] for one in plan["objectives"]} == {"recorded table toy-table"}
        assert (plan["budget"], plan["seed"], plan["method"], bool(plan["first"])) == (80.0, 0, "random", True)
        assert not Path("lenet.db").exists()
        assert mentions(good("run", FILE, "--try"), "error_percent", "energy_millijoules", f"flexibo run {FILE}")
        shown = good("run", FILE)
        assert mentions(shown, "lenet (lenet.yaml)", "lenet.png", f"flexibo run {FILE} --budget")
        origin = Study.load("sqlite:///lenet.db", "lenet").history.origin
        assert (origin["system"], origin["recorded"], origin["study_file"]) == ("toy-table", True, str(FILE.absolute()))
        assert mentions(good("status"), "Made by flexibo run", "lenet.yaml", "recorded table toy-table")
        good("resume", "--budget", "100s")
        good("worker", "--file", FILE, "--idle", "0.1s")
        good("confirm", "--later", "--file", FILE, "--budget", "50s")
        study = Study.load("sqlite:///lenet.db")
        assert study.budget is not None
        assert study.budget >= 100
        assert study.spent > 80
        assert good("front")

    @pytest.mark.parametrize(
        ("line", "named"),
        [
            ("delta: -1", ["delta is -1"]),
            ("initial_designs: [{x: 5000}]", ["initial_designs of lenet.yaml"]),
            ("known: none.csv", ["none.csv"]),
            ("reference: {error_percent: 1}", ["reference", "energy_millijoules"]),
        ],
    )
    def test_what_is_wrong_is_said_before_anything_is_stored(self, line: str, named: list[str]) -> None:
        FILE.write_text(f"{REPLAYED}{line}\n")
        assert mentions(refusal("run", FILE), *named)
        assert not Path("lenet.db").exists()

    def test_other_objectives_than_those_of_the_study_are_refused_with_the_key_to_write(
        self, toy: System, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def table(name: str, *, beside: Sequence[str] = (), **how: object) -> System:
            more = [Objective(one, measured_with="energy_millijoules") for one in beside]
            return replace(toy, objectives=(*toy.objectives, *more))

        monkeypatch.setattr("flexibo.cli._build_system.recorded_system", table)
        FILE.write_text(REPLAYED)
        good("run", FILE)
        FILE.write_text(f"{REPLAYED}and: [latency_ms]\n")
        assert mentions(refusal("run", FILE), "would measure", "latency_ms", "Leave and out")

    def test_a_replay_goes_on_when_its_file_is_gone(self) -> None:
        FILE.write_text(REPLAYED)
        good("run", FILE)
        FILE.unlink()
        good("resume", "--budget", "100s")
        assert Study.load("sqlite:///lenet.db").spent > 80

    def test_what_a_replay_has_trained_is_known_when_it_goes_on(
        self, toy: System, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told = []
        monkeypatch.setattr(
            "flexibo.cli._build_system.recorded_system",
            lambda name, **how: told.append([*how.get("trained", ())]) or toy,
        )
        FILE.write_text(REPLAYED)
        good("run", FILE)
        assert told[-1] == [], "nothing was trained before"
        good("resume", "--budget", "100s")
        assert told[-1]

    def test_a_file_may_give_a_larger_budget_but_no_other_table(
        self, toy: System, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import dataclasses

        FILE.write_text(REPLAYED)
        good("run", FILE)
        FILE.write_text(REPLAYED.replace("80s", "100s"))
        good("run", FILE)
        assert Study.load("sqlite:///lenet.db").budget == 100
        other = dataclasses.replace(toy, name="another-table")
        monkeypatch.setattr("flexibo.cli._build_system.recorded_system", lambda name, **how: other)
        assert mentions(refusal("run", FILE, "--yes"), "toy-table", "another-table", "another name")

    def test_what_is_typed_beside_a_replay_is_refused_at_once(self) -> None:
        FILE.write_text(REPLAYED)
        refused = refusal("run", FILE, "--size", "tiny", "--limit", "9")
        assert mentions(refused, "--limit, --size are", "recorded: true", "leave them out")
        assert not Path("lenet.db").exists()


@pytest.mark.torch
class TestTrainings:
    @pytest.fixture
    def write(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
        """Writes a study file of a tiny LeNet, whose energy is read from a fake meter."""
        pytest.importorskip("torch")
        small = {name: (1,) if "size" in name else (16,) for name in catalogue.NETWORKS["lenet"]} | {
            "filters_1": (16, 32)
        }
        monkeypatch.setattr(catalogue, "NETWORKS", MappingProxyType({**catalogue.NETWORKS, "lenet": small}))
        running = {"threads": (1,), "precision": ("fp32",), "batch": (1, 2)}
        monkeypatch.setattr(LinuxCpu, "options", lambda self, traits: running)
        monkeypatch.setattr("flexibo.systems._expected_time.work_of", lambda task, design: None)
        monkeypatch.setattr(LinuxCpu, "meter", lambda self: FakeMeter())
        monkeypatch.setattr("flexibo.plots.save", lambda study, out: None)
        (tmp_path / "data").mkdir()
        write_mnist(tmp_path / "data")

        def file(more: str = "") -> None:
            FILE.write_text(f"system: lenet\nsize: tiny\ndata: data\nplatform: linux-cpu\nbudget: 20s\n{more}")

        return file

    def test_a_tiny_lenet_is_tried_run_and_resumed_from_another_folder(
        self, write: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write()
        assert mentions(good("run", FILE, "--dry-run"), "filters_1", "system lenet", "Nothing was measured")
        good("run", FILE, "--max-evaluations", "3")
        found = Study.load("sqlite:///lenet.db").history
        assert (found.origin["size"], found.origin["system"], found.count(0) + found.count(1)) == ("tiny", "lenet", 3)
        assert list(Path("models").glob("lenet-*.json"))
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        url = f"sqlite:///{tmp_path}/lenet.db"
        good("resume", "--storage", url, "--max-evaluations", "4")
        good("worker", "--storage", url, "--only", "error_percent", "--idle", "0.1s")
        assert Study.load(url).history.count(0) + Study.load(url).history.count(1) >= 4
        assert not Path("models").exists()

    def test_a_file_with_other_networks_or_data_needs_another_name(self, write: Callable[..., None]) -> None:
        write()
        good("run", FILE, "--max-evaluations", "2")
        write("limit: 30\n")
        assert mentions(refusal("run", FILE, "--yes"), "training", "limit", "augment in lenet.yaml", "another name")
        assert mentions(refusal("resume"), "lenet.yaml has changed", "--file lenet.yaml")
        good("resume", "--data", "data", "--max-evaluations", "3")  # as it was begun
        good("run", FILE, "--max-evaluations", "2", "--name", "fewer")
        assert {study.name for study in stored_studies("sqlite:///lenet.db")} == {"lenet", "fewer"}

    def test_what_was_typed_when_it_began_need_not_be_typed_to_resume(self, write: Callable[..., None]) -> None:
        write("seed: 2\n")
        assert mentions(
            good("run", FILE, "--limit", "30", "--max-evaluations", "2"), f"flexibo run {FILE}", "--limit 30"
        )
        good("resume", "--max-evaluations", "3")
        assert Study.load("sqlite:///lenet.db").history.origin["seed"] == 2

    def test_the_error_alone_waits_for_the_machine_that_measures_energy(self, write: Callable[..., None]) -> None:
        write()
        refused = refusal("run", FILE, "--only", "error_percent")
        assert mentions(refused, "begins where energy is measured", "flexibo run lenet.yaml --only energy_millijoules")
        good("run", FILE, "--only", "energy_millijoules", "--idle", "0.1s")
        FILE.write_text(FILE.read_text().replace("linux-cpu", "nvidia-gpu"))  # trained on whatever there is
        good("run", FILE, "--only", "error_percent", "--idle", "0.1s", "--yes")
        study = Study.load("sqlite:///lenet.db")
        assert min(study.history.count(0), study.history.count(1)) > 0

    def test_gpu_knobs_and_unknown_ones_are_refused_with_those_that_there_are(self, write: Callable[..., None]) -> None:
        write("knobs: [power_limit]\n")
        assert mentions(
            refusal("run", FILE), "'power_limit'", "NVIDIA", "allow_gpu: true in", "linux-cpu", "swappiness"
        )
        write("knobs: [swapiness]\n")
        assert mentions(refusal("run", FILE), "'swapiness'", "'swappiness'")

    def test_advice_without_a_meter_names_the_key_of_the_file(
        self, write: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def no_meter(platform: LinuxCpu) -> FakeMeter:
            raise MeterError("There is no meter.")

        monkeypatch.setattr(LinuxCpu, "meter", no_meter)
        write()
        assert mentions(refusal("run", FILE), "estimate: WATTS in lenet.yaml", "--only error_percent")
        assert mentions(refusal("run", "lenet", "--data", "data", "--platform", "linux-cpu"), "--estimate WATTS")

    def test_a_missing_folder_of_data_is_a_sentence(self, write: Callable[..., None]) -> None:
        write()
        FILE.write_text("system: lenet\nsize: tiny\n")
        assert mentions(
            refusal("run", FILE), "data: FOLDER in lenet.yaml", "FLEXIBO_DATA", "recorded: true in lenet.yaml"
        )
        assert call("run", FILE, "--data", "nowhere").exit_code != 0
