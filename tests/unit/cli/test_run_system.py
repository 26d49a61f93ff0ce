"""``flexibo run SYSTEM`` and ``flexibo resume`` of its study."""

from __future__ import annotations

import dataclasses
import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import call, error, good, refusal

from flexibo import Study
from flexibo.errors import FlexiBOError
from flexibo.systems.base import System


class TestRunAndResume:
    def test_a_run_stores_what_it_is_made_of_and_resume_goes_on(self, toy: System) -> None:
        shown = good(
            "run", "toy", "--recorded", "--method", "random", "--budget", "80s", "--name", "mine", "--lease", "5m"
        )
        assert "is stored in sqlite:///toy-table.db" in shown
        study = Study.load("sqlite:///toy-table.db", "mine")
        assert study.history.origin == {"system": "toy-table", "recorded": True}
        assert 60 < study.spent <= 85
        assert "Made by flexibo run: system toy-table, recorded True." in " ".join(good("status", "--no-front").split())
        again = good("resume", "--budget", "100s")
        assert "What was measured" in again
        study.refresh()
        assert study.budget == 100
        assert 80 < study.spent <= 105
        assert good("resume").count("Stopped: ") == 1
        study.refresh()
        assert study.budget == 100

    def test_run_and_resume_draw_the_same_picture_named_after_the_table(self, toy: System) -> None:
        assert "drawn in toy-table.png" in good("run", "toy", "--recorded", "--method", "random", "--budget", "80s")
        assert "drawn in toy-table.png" in good("resume", "--budget", "90s")

    @pytest.mark.parametrize(
        "typed", [("--and", "latency_ms"), ("--limit", "9"), ("--data", "."), ("--estimate", "5"), ("--longest", "9s")]
    )
    def test_what_says_how_to_measure_is_refused_beside_a_recorded_table(
        self, toy: System, typed: tuple[str, str]
    ) -> None:
        told = refusal("run", "toy", "--recorded", *typed)
        assert told == f"{typed[0]} says how to measure, and --recorded measures nothing; leave one of them out."

    def test_a_folder_of_data_that_the_environment_names_does_not_disturb_a_recorded_table(
        self, toy: System, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path))
        assert "is stored in sqlite:///toy-table.db" in good(
            "run", "toy", "--recorded", "--method", "random", "--budget", "80s"
        )

    def test_a_share_that_may_be_missed_is_taken_by_run_and_by_resume(self, toy: System) -> None:
        good("run", "toy", "--recorded", "--budget", "80s", "--certified-error", "1%")
        assert Study.load("sqlite:///toy-table.db").stop == {"certified_error": 0.01}
        assert "is certified to miss at most 99 %" in good("resume", "--budget", "2000s", "--certified-error", "99%")
        assert Study.load("sqlite:///toy-table.db").stop == {"certified_error": 0.99}

    def test_an_option_that_is_typed_without_its_number_is_refused(self, toy: System) -> None:
        assert "--longest is empty" in refusal("run", "toy", "--recorded", "--longest", "")

    @pytest.mark.parametrize("command", [("run", "toy", "--recorded", "--method", "random"), ("resume",)])
    def test_a_budget_that_is_typed_counts_also_where_it_is_the_smaller_one(
        self, toy: System, command: tuple[str, ...], caplog: pytest.LogCaptureFixture
    ) -> None:
        good("run", "toy", "--recorded", "--method", "random", "--budget", "80s")
        before = Study.load("sqlite:///toy-table.db").spent
        lowered = good(*command, "--budget", "40s")
        assert "The budget was 80 s; it is 40 s now. It is spent already (" in lowered
        assert " of 40 s), so nothing is measured." in lowered
        study = Study.load("sqlite:///toy-table.db")
        assert (study.budget, study.spent) == (40.0, before)
        assert "larger budget" not in caplog.text
        raised = good(*command, "--budget", "100s")
        assert "The budget was" not in raised
        study = Study.load("sqlite:///toy-table.db")
        assert study.budget == 100
        assert study.spent > before

    def test_an_objective_that_always_fails_is_status_1_and_says_what_to_do(
        self, toy: System, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(design: Any) -> float:
            raise OSError("no board")

        failing = dataclasses.replace(toy, functions={**toy.functions, "energy_millijoules": broken})
        monkeypatch.setattr("flexibo.cli._build_system.recorded_system", lambda name: failing)
        for form in ((), ("--json",)):
            outcome = call("run", "toy", "--recorded", "--method", "random", *form)
            assert outcome.exit_code == 1
            assert "Objective 'energy_millijoules' gave no value: all " in outcome.stderr
            assert "run the same command again; flexibo status shows the failures" in outcome.stderr
        assert json.loads(outcome.stdout)["front"] == []
        monkeypatch.setattr("flexibo.cli._build_system.recorded_system", lambda name: toy)
        shown = good("run", "toy", "--recorded", "--method", "random", "--budget", "80s")
        assert "failed attempts" in shown
        shares = [int(found) for found in re.findall(r"(\d+)% │$", shown, re.MULTILINE)]
        assert len(shares) == 3
        assert sum(shares) == 100

    def test_a_run_may_leave_objectives_to_others(self, toy: System) -> None:
        storage = ("--storage", "sqlite:///shared.db")
        shown = good(
            "run", "toy", "--recorded", "--method", "random", "--only", "energy_millijoules", "--idle", "0.1s", *storage
        )
        assert (
            "Measuring energy_millijoules; other processes must measure error_percent of study 'toy-table', with "
            "flexibo worker --only error_percent."
        ) in shown
        asked_for = {evaluation.objective for evaluation in Study.load("sqlite:///shared.db").history.asked}
        assert asked_for == {"energy_millijoules"}
        good("worker", "--only", "error_percent", "--idle", "0.1s", *storage)
        history = Study.load("sqlite:///shared.db").history
        assert history.count(0) >= 10
        assert history.count(1) == 10
        good("resume", "--budget", f"{history.spent + 20:g}s", *storage)
        assert Study.load("sqlite:///shared.db").history.count(1) > 10

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
        ("arguments", "sentence"),
        [
            (["--workers", "2"], "--workers does not apply to the inline executor"),
            (["--address", "board:8786"], "--address does not apply to the inline executor"),
            (["--executor", "procesess"], "did you mean 'processes'?"),
            (["--executor", "processes", "--address", "x:1"], "Executor 'processes' takes no address"),
            (["--only", "eror_percent"], "did you mean 'error_percent'?"),
            (["--lease", "0s"], "The duration is '0s'"),
        ],
    )
    def test_mistakes_are_said_before_anything_is_measured(
        self, toy: System, arguments: list[str], sentence: str
    ) -> None:
        assert sentence in refusal("run", "toy", "--recorded", *arguments)
        studies = Path("toy-table.db")
        assert not studies.exists() or not Study.load("sqlite:///toy-table.db").history.asked

    def test_a_study_of_a_program_is_gone_on_with_there(self, study: Study) -> None:
        assert refusal("resume") == (
            "Study 'net' was made by a program, which has its functions; continue there, with "
            "Study.load('sqlite:///study.db', 'net').run({...}), or with flexibo worker --functions MODULE:NAME."
        )

    def test_sigterm_stops_a_run_as_ctrl_c_does(self, toy: System, monkeypatch: pytest.MonkeyPatch) -> None:
        calls: list[int] = []

        def killed(design: Any) -> tuple[float, float]:
            calls.append(1)
            if len(calls) == 4:
                signal.raise_signal(signal.SIGTERM)
            return error(design)

        stopping = dataclasses.replace(toy, functions={**toy.functions, "error_percent": killed})
        monkeypatch.setattr("flexibo.cli._build_system.recorded_system", lambda name: stopping)
        stopped = call("run", "toy", "--recorded")
        assert stopped.exit_code == 143
        assert "Stopped: Interrupted by SIGTERM; what was measured is kept." in stopped.stdout
        assert re.search(r"^Spent \S+ of 1800 s; measured ", stopped.stdout, re.MULTILINE)
        assert not Study.load("sqlite:///toy-table.db").pending


def test_data_must_be_named_and_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLEXIBO_DATA", raising=False)
    for arguments, sentence in (
        (["run", "lenet"], "give --data FOLDER or set FLEXIBO_DATA, or replay a recorded table with --recorded."),
        (["run", "deepspeech"], "No folder with training data was given; give --data FOLDER or set FLEXIBO_DATA."),
        (["run", "lenet-h200"], "'lenet-h200' is a recorded table; add --recorded"),
        (["run", "lenet", "--data", str(tmp_path / "none")], "does not exist"),
        (["record", "lenet", "--out", "t.csv.gz"], "No folder with training data was given"),
        (["run", "lenet", "--data", str(tmp_path), "--budget", "soon"], "The duration is 'soon'"),
        (["run", "lenet", "--data", str(tmp_path), "--out", "nowhere/x.png"], "in a folder that exists"),
        (["run", "lenet", "--data", str(tmp_path), "--out", "x.foo"], "give a .png"),
        (["run", "digits", "--recorded"], "There is no recorded table of 'digits'"),
    ):
        outcome = call(*arguments)
        assert isinstance(outcome.exception, FlexiBOError)
        assert sentence in str(outcome.exception)
