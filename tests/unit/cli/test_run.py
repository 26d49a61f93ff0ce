"""``flexibo run``: which options go with a study file, which with a system, and what is passed on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import call, good, mentions, printed, refusal

from flexibo import Study
from flexibo.cli._detail import Detail, Tries
from flexibo.cli._options import ExecutionOptions, StudyOptions, SystemOptions
from flexibo.systems.base import System

USUAL = {"dry_run": False, "detail": Detail.USUAL, "tries": Tries.FIRST, "yes": False}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What is run, with which options; nothing is measured."""
    found: list[tuple[Any, ...]] = []
    for place in ("_run_file.run_file", "_run_system.run_system"):
        monkeypatch.setattr(f"flexibo.cli.{place}", lambda *given, **more: found.append((*given, more)))
    return found


class TestStudyFiles:
    @pytest.mark.usefixtures("folder")
    def test_a_file_gets_what_was_typed_and_nothing_else(self, calls: list[tuple[Any, ...]]) -> None:
        good("run", "study.yaml", "--seed", "0", "--only", "a,b", "--out", "x.png", "--json")
        given = StudyOptions(seed=0), ExecutionOptions(only=("a", "b"))
        [(path, file, *found, more)] = calls
        assert (path, file.name) == (Path("study.yaml"), "toy")
        assert tuple(found) == given
        assert more == {"out": Path("x.png"), "json": True, "system": {}, **USUAL}

    @pytest.mark.usefixtures("folder")
    @pytest.mark.parametrize(
        "typed",
        [("--data", "."), ("--recorded",), ("--platform", "auto"), ("--models", "models"), ("--longest", "9s")],
    )
    def test_an_option_of_systems_is_refused_even_at_its_default(self, typed: tuple[str, ...]) -> None:
        assert mentions(refusal("run", "study.yaml", *typed), typed[0], "systems", "study.yaml")
        assert not Path("toy.db").exists()

    @pytest.mark.usefixtures("folder")
    def test_a_folder_of_data_that_the_environment_names_does_not_disturb_a_file(
        self, calls: list[tuple[Any, ...]]
    ) -> None:
        good("run", "study.yaml", env={"FLEXIBO_DATA": "."})
        assert calls[0][2:4] == (StudyOptions(), ExecutionOptions())


class TestSystems:
    def test_a_system_gets_what_was_typed(self, calls: list[tuple[Any, ...]]) -> None:
        good("run", "lenet", "--epochs", "2", "--and", "latency_ms", "--knobs", "a b", "--budget", "2h")
        options = SystemOptions(epochs=2, objectives=("latency_ms",), knobs=("a", "b"))
        assert calls == [
            (
                "lenet",
                options,
                StudyOptions(budget="2h"),
                ExecutionOptions(),
                {"out": None, "json": False, "detail": Detail.USUAL},
            )
        ]

    def test_a_dry_run_of_a_system_is_refused(self, calls: list[tuple[Any, ...]]) -> None:
        assert mentions(refusal("run", "lenet", "--dry-run"), "--dry-run", "'lenet'")
        assert calls == []

    @pytest.mark.parametrize(
        "typed", [("--size", "tiny"), ("--limit", "9"), ("--data", "."), ("--estimate", "5"), ("--longest", "9s")]
    )
    def test_what_says_how_to_measure_is_refused_beside_a_recorded_table(
        self, toy: System, typed: tuple[str, str]
    ) -> None:
        assert mentions(refusal("run", "toy", "--recorded", *typed), typed[0], "--recorded")

    def test_all_that_is_refused_beside_a_recorded_table_is_named_at_once(self, toy: System) -> None:
        refused = refusal("run", "toy", "--recorded", "--size", "tiny", "--data", ".", "--augment")
        assert mentions(refused, "--data", "--size", "--augment are", "--recorded", "leave them out")

    def test_a_folder_of_data_that_the_environment_names_does_not_disturb_a_recorded_table(
        self, toy: System, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path))
        good("run", "toy", "--recorded", "--method", "random", "--budget", "80s")
        assert Study.load("sqlite:///toy-table.db").history.measurements


def test_what_to_run_must_be_named() -> None:
    outcome = call("run")
    assert outcome.exit_code == 2
    assert "FILE|SYSTEM" in outcome.stderr


def test_the_help_promises_no_default_that_a_file_may_change() -> None:
    shown = printed("run", "--help", COLUMNS="200")
    for kept in ("0", "flexibo", "inline", "60s"):
        assert f"[default: {kept}]" not in shown
        assert re.search(rf"\[default: \([^)]*\b{kept}\b", shown)
