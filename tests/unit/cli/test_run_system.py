"""``flexibo run SYSTEM`` and ``flexibo resume`` of its study."""

from __future__ import annotations

import dataclasses
import json
import re
import signal
import sys
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import call, error, good, mentions, refusal

from flexibo import Objective, Space, Study
from flexibo.cli._build_system import recorded_table
from flexibo.compare.problems.recorded_systems import recorded_system
from flexibo.systems.base import System
from flexibo.systems.recording.table import RecordedTable, write_table


def small_table(folder: Path) -> None:
    """A table of three networks in two precisions, with the error in each."""
    sizes, precisions = (6, 12, 24), ("fp32", "bf16")
    rows = [
        {
            "batch_size": size,
            "precision": precision,
            "error_percent": 100.0 / size,
            "training_seconds": 101.0,
            "energy_joules": size / (2 if precision == "bf16" else 1),
            "latency_ms": 1.0,
            "power_watts": 300.0,
            "reading_seconds": 2.0,
            "energy_joules_again": None,
            "deployed_error_percent": 100.0 / size + (precision == "bf16"),
        }
        for size in sizes
        for precision in precisions
    ]
    heading = {
        "system": "small",
        "date": "2026-01-02",
        "meter": "a meter",
        "machine": "a machine",
        "settings": {"dataset": "digits"},
        "network_options": ["batch_size"],
        "deployment_options": ["precision"],
        "values": {"batch_size": list(sizes), "precision": list(precisions)},
        "epoch_errors": [[100.0 / size] for size in sizes],
        "epoch_seconds": [100.0] * 3,
        "test_seconds": [1.0] * 3,
    }
    write_table(folder / "small-h200-curves.csv.gz", RecordedTable(heading, tuple(rows)))


def one_more(function: Any) -> Any:
    """The function with a value that is 1 larger."""

    def measured(design: Any) -> tuple[float, float]:
        value, cost = function(design)
        return value + 1.0, cost

    return measured


def test_a_recorded_table_has_a_third_objective_on_request_and_resume_keeps_it(
    toy: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recorded_system(name: str, *, beside: Collection[str], **how: Any) -> System:
        if not beside:
            return toy
        latency = Objective("latency_ms", unit="ms", measured_with="energy_millijoules")
        read = {
            "energy_millijoules": lambda design: ({"energy_millijoules": 1.0 - design["x"], "latency_ms": 2.0}, 1.0)
        }
        return dataclasses.replace(toy, objectives=(*toy.objectives, latency), functions={**toy.functions, **read})

    monkeypatch.setattr("flexibo.cli._build_system.recorded_system", recorded_system)
    good("run", "toy", "--recorded", "--and", "latency_ms", "--method", "random", "--budget", "20s")
    study = Study.load("sqlite:///toy-table.db")
    assert study.history.origin == {"system": "toy-table", "recorded": True, "and": ["latency_ms"]}
    before = study.history.count(2)
    assert study.history.count(1) == before > 0
    good("resume", "--budget", "40s")
    study.refresh()
    assert study.history.count(2) > before
    assert "latency_ms" in good("front")
    assert mentions(refusal("run", "toy", "--recorded", "--method", "random"), "latency_ms", "another name")


class TestErrorsInPrecision:
    """Replays of tables that have the error in the precision of each deployment."""

    def costs(self) -> dict[object, list[float]]:
        """The costs of errors, by network."""
        study = Study.load("sqlite:///small-h200-curves.db", "mine")
        found: dict[object, list[float]] = {}
        for one in study.history.measurements:
            if "error_percent" in one.values:
                found.setdefault(one.design["batch_size"], []).append(one.cost)
        return found

    @pytest.fixture(autouse=True)
    def table(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        small_table(tmp_path)
        replay = partial(recorded_system, folder=tmp_path)
        monkeypatch.setattr("flexibo.cli._build_system.recorded_system", replay)
        monkeypatch.setattr("flexibo.plots.save", lambda study, out: out.touch())

    @pytest.mark.parametrize("again", [("resume", "--name", "mine"), ("run", "small", "--recorded", "--name", "mine")])
    def test_a_network_that_was_trained_before_is_not_paid_for_again(self, again: tuple[str, ...]) -> None:
        url = ("--storage", "sqlite:///small-h200-curves.db")
        random = () if again[0] == "resume" else ("--method", "random")
        good("run", "small", "--recorded", "--method", "random", "--budget", "120s", "--name", "mine", *url)
        assert Study.load(url[1], "mine").history.origin["error_in_precision"] is True
        before = sum(map(len, self.costs().values()))
        good(*again, *url, *random, "--budget", "1000s")
        costs = self.costs()
        assert sum(map(len, costs.values())) == 6 > before > 0
        assert all(sorted(own) == [1.0, 101.0] for own in costs.values())

    @pytest.mark.parametrize("again", [("resume", "--name", "mine"), ("run", "small", "--recorded", "--name", "mine")])
    def test_a_study_that_was_begun_with_errors_as_trained_keeps_them(self, again: tuple[str, ...]) -> None:
        url = "sqlite:///small-h200-curves.db"
        built = recorded_table("small", as_trained=True)
        random = () if again[0] == "resume" else ("--method", "random")
        system, origin = built.system, built.origin
        with Study(
            system.space,
            system.objectives,
            method="random",
            budget=1.0,
            seed=0,
            storage=url,
            name="mine",
            origin=origin,
        ):
            pass
        good(*again, "--storage", url, *random, "--budget", "1000s")
        assert sorted(map(len, self.costs().values())) == [1, 1, 1]


class TestRunAndResume:
    def test_a_run_stores_what_it_is_made_of_and_resume_goes_on(self, toy: System) -> None:
        shown = good(
            "run", "toy", "--recorded", "--method", "random", "--budget", "80s", "--name", "mine", "--lease", "5m"
        )
        assert mentions(shown, "'mine'", "sqlite:///toy-table.db")
        study = Study.load("sqlite:///toy-table.db", "mine")
        assert study.history.origin == {"system": "toy-table", "recorded": True}
        assert 60 < study.spent <= 85
        assert mentions(good("status", "--no-front"), "flexibo run", "recorded table toy-table")
        good("resume", "--budget", "100s")
        study.refresh()
        assert study.budget == 100
        assert 80 < study.spent <= 105
        assert good("resume").count("Stopped: ") == 1
        study.refresh()
        assert study.budget == 100

    def test_a_replay_needs_no_data_to_go_on(
        self, toy: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path))
        assert "--data" not in good("run", "toy", "--recorded", "--method", "random", "--budget", "80s")
        assert "--data" not in good("resume", "--budget", "90s")

    def test_run_and_resume_draw_the_same_picture_named_after_the_table(self, toy: System) -> None:
        picture = Path("toy-table.png")
        assert picture.name in good("run", "toy", "--recorded", "--method", "random", "--budget", "80s")
        picture.unlink()
        assert picture.name in good("resume", "--budget", "90s")
        assert picture.exists()

    @pytest.mark.parametrize("what", ["values", "options"])
    def test_another_version_of_a_table_does_not_continue_a_study(
        self, toy: System, monkeypatch: pytest.MonkeyPatch, what: str
    ) -> None:
        replay = ("run", "toy", "--recorded", "--method", "random", "--budget")
        good(*replay, "80s")
        changed = {name: one_more(function) for name, function in toy.functions.items()}
        space = Space.from_designs({name: [1, 2] for name in (*toy.space.names, "streams")})
        other = replace(toy, functions=changed) if what == "values" else replace(toy, space=space)
        monkeypatch.setattr("flexibo.cli._build_system.recorded_system", lambda *_, **__: other)
        before = Study.load("sqlite:///toy-table.db").spent
        assert mentions(refusal("resume", "--budget", "90s"), "another version", "toy-table", "another name")
        assert mentions(refusal(*replay, "90s"), "another" if what == "values" else "streams", "another name")
        assert Study.load("sqlite:///toy-table.db").spent == before

    def test_a_study_that_was_begun_before_trainings_were_shared_goes_on(
        self, toy: System, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        replay = ("run", "toy", "--recorded", "--method", "random", "--budget")
        good(*replay, "80s")
        first, *others = toy.objectives
        shared = replace(toy, objectives=(replace(first, reuse=toy.space.names[:1]), *others))
        monkeypatch.setattr("flexibo.cli._build_system.recorded_system", lambda *_, **__: shared)
        good(*replay, "90s")
        assert [objective.reuse for objective in Study.load("sqlite:///toy-table.db").objectives] == [(), ()]

    def test_two_studies_of_a_table_in_one_folder_have_pictures_of_their_own(self, toy: System) -> None:
        replay = ("run", "toy", "--recorded", "--method", "random", "--budget", "80s")
        assert "toy-table.png" in good(*replay)
        for last in ((*replay, "--name", "second try"), ("resume", "--name", "second try", "--budget", "90s")):
            assert mentions(good(*last), "drawn in second-try.png")
            Path("second-try.png").unlink()
        other = sorted(str(path) for path in Path().glob("*.png"))
        assert other == ["toy-table.png"]

    def test_a_share_that_may_be_missed_is_taken_by_run_and_by_resume(self, toy: System) -> None:
        good("run", "toy", "--recorded", "--budget", "80s", "--certified-error", "1%")
        assert Study.load("sqlite:///toy-table.db").stop == {"certified_error": 0.01}
        assert mentions(good("resume", "--budget", "2000s", "--certified-error", "99%"), "certified", "99 %")
        assert Study.load("sqlite:///toy-table.db").stop == {"certified_error": 0.99}

    def test_an_objective_that_always_fails_is_status_1_and_says_what_to_do(
        self, toy: System, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(design: Any) -> float:
            raise OSError("no board")

        failing = dataclasses.replace(toy, functions={**toy.functions, "energy_millijoules": broken})
        monkeypatch.setattr("flexibo.cli._build_system.recorded_system", lambda name, **how: failing)
        for form in ((), ("--json",)):
            outcome = call("run", "toy", "--recorded", "--method", "random", *form)
            assert outcome.exit_code == 1
            assert mentions(outcome.stderr, "flexibo:", "'energy_millijoules'", "flexibo status")
        assert json.loads(outcome.stdout)["front"] == []
        monkeypatch.setattr("flexibo.cli._build_system.recorded_system", lambda name, **how: toy)
        shown = good("run", "toy", "--recorded", "--method", "random", "--budget", "80s")
        assert "failed or lost" in shown
        shares = [int(found) for found in re.findall(r"(\d+)% │$", shown, re.MULTILINE)]
        assert len(shares) == 3
        assert sum(shares) == 100

    def test_worker_processes_measure_too(self, toy: System, monkeypatch: pytest.MonkeyPatch) -> None:
        import cloudpickle

        cloudpickle.register_pickle_by_value(sys.modules[error.__module__])
        try:
            several = ("--executor", "processes", "--workers", "1")
            good("run", "toy", "--recorded", "--method", "random", "--budget", "30s", *several)
        finally:
            cloudpickle.unregister_pickle_by_value(sys.modules[error.__module__])
        assert len(Study.load("sqlite:///toy-table.db").history.measurements) > 3

    @pytest.mark.parametrize(
        ("arguments", "facts"),
        [
            (["--workers", "2"], ["--workers", "inline", "--executor processes"]),
            (["--address", "board:8786"], ["--address", "inline", "--executor processes"]),
            (["--executor", "procesess"], ["'procesess'", "'processes'"]),
            (["--executor", "processes", "--address", "x:1"], ["'processes'", "address"]),
            (["--only", "eror_percent"], ["'eror_percent'", "'error_percent'"]),
            (["--lease", "0s"], ["'0s'"]),
        ],
    )
    def test_mistakes_are_said_before_anything_is_measured(
        self, toy: System, arguments: list[str], facts: list[str]
    ) -> None:
        assert mentions(refusal("run", "toy", "--recorded", *arguments), *facts)
        studies = Path("toy-table.db")
        assert not studies.exists() or not Study.load("sqlite:///toy-table.db").history.asked

    def test_a_study_of_a_program_is_gone_on_with_there(self, study: Study) -> None:
        ways = ("Study.load('sqlite:///study.db', 'net').run({...})", "flexibo worker --functions MODULE:NAME")
        assert mentions(refusal("resume"), "'net'", *ways)

    def test_sigterm_stops_a_run_as_ctrl_c_does(self, toy: System, monkeypatch: pytest.MonkeyPatch) -> None:
        calls: list[int] = []

        def killed(design: Any) -> tuple[float, float]:
            calls.append(1)
            if len(calls) == 4:
                signal.raise_signal(signal.SIGTERM)
            return error(design)

        stopping = dataclasses.replace(toy, functions={**toy.functions, "error_percent": killed})
        monkeypatch.setattr("flexibo.cli._build_system.recorded_system", lambda name, **how: stopping)
        stopped = call("run", "toy", "--recorded")
        assert stopped.exit_code == 143
        assert mentions(stopped.stdout, "SIGTERM", "of 1800 s")
        study = Study.load("sqlite:///toy-table.db")
        assert study.history.measurements
        assert not study.pending


def test_the_error_alone_of_a_study_that_nobody_began_says_where_it_begins(mnist: Path) -> None:
    refused = refusal("run", "lenet", "--data", mnist, "--only", "error_percent")
    assert mentions(refused, "sqlite:///lenet.db", "begins where energy is measured", "--only energy_millijoules")


def test_data_must_be_named_and_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLEXIBO_DATA", raising=False)
    for arguments, facts in (
        (["run", "lenet"], ["--data FOLDER", "FLEXIBO_DATA", "--recorded"]),
        (["run", "lenet-h200"], ["'lenet-h200'", "--recorded"]),
        (["run", "lenet", "--data", tmp_path / "none"], [tmp_path / "none", "--data"]),
        (["record", "lenet", "--out", "t.csv.gz"], ["--data FOLDER", "FLEXIBO_DATA"]),
        (["run", "lenet", "--data", tmp_path, "--budget", "soon"], ["'soon'"]),
        (["run", "lenet", "--data", tmp_path, "--out", "nowhere/x.png"], ["nowhere", "folder"]),
        (["run", "lenet", "--data", tmp_path, "--out", "x.foo"], ["x.foo", ".png"]),
        (["run", "digits", "--recorded"], ["recorded table", "'digits'"]),
    ):
        assert mentions(refusal(*arguments), *facts)
