"""Measuring for a study: its budget, the executor and the objectives."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.command_line import SPACE, begun, good, mentions, offered

from flexibo import Objective, Study
from flexibo.cli import _measure as measuring
from flexibo.cli._measure import (
    ENERGY_SLOTS,
    add_stop_rules,
    chosen_executor,
    is_interrupted,
    leading_objectives,
    opening_budget,
)
from flexibo.cli._options import ExecutionOptions, StudyOptions
from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.optimizer import StopKind
from flexibo.studyfile import ExecutorChoice
from flexibo.systems.base import System

WRITTEN = ExecutorChoice("processes", 3, slots={"joules": 1})


class TestExecutor:
    def test_what_is_typed_replaces_what_is_written(self) -> None:
        assert chosen_executor(ExecutionOptions(), WRITTEN) == WRITTEN
        typed = chosen_executor(ExecutionOptions(workers=2), WRITTEN)
        assert typed == ExecutorChoice("processes", 2, slots={"joules": 1})

    def test_another_executor_keeps_only_what_it_takes(self) -> None:
        assert chosen_executor(ExecutionOptions(executor="inline"), WRITTEN) == ExecutorChoice("inline")
        cluster = ExecutorChoice("dask", 4, "board:8786", resources={"GPU": 1.0}, patience=9.0)
        kept = ExecutorChoice("processes", 4, resources={"GPU": 1.0})
        assert chosen_executor(ExecutionOptions(executor="processes"), cluster) == kept

    def test_an_unknown_one_is_refused(self) -> None:
        with pytest.raises(UnknownNameError, match=r"'proceses'.*'processes'"):
            chosen_executor(ExecutionOptions(executor="proceses"), ExecutorChoice())

    @pytest.mark.parametrize(("typed", "flag"), [({"workers": 2}, "--workers"), ({"address": "a:1"}, "--address")])
    def test_the_inline_one_takes_neither_workers_nor_an_address(self, typed: dict[str, Any], flag: str) -> None:
        with pytest.raises(InvalidValueError, match=f"{flag}.*inline.*--executor processes"):
            chosen_executor(ExecutionOptions(**typed), ExecutorChoice())

    def test_readings_of_energy_never_overlap_unless_a_file_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made: list[dict[str, Any]] = []
        monkeypatch.setattr(measuring, "find_executor", lambda name, **given: made.append(given))
        measured = ["error_percent", "energy_millijoules"]
        measuring._open_executor(ExecutorChoice("processes", 4), measured)
        measuring._open_executor(ExecutorChoice("processes", 4, slots={"energy_millijoules": 2}), measured)
        measuring._open_executor(ExecutorChoice("inline"), measured)
        assert [given["slots"] for given in made] == [{"energy_millijoules": 1}, {"energy_millijoules": 2}, None]
        assert set(ENERGY_SLOTS.values()) == {1}


class TestObjectives:
    OBJECTIVES = (Objective("error"), Objective("joules"), Objective("ms", measured_with="joules"))

    @pytest.mark.parametrize(
        ("only", "leading"),
        [((), ["error", "joules"]), (("ms",), ["joules"]), (("ms", "joules", "error"), ["error", "joules"])],
    )
    def test_what_comes_with_another_is_asked_for_by_the_name_of_that(
        self, only: tuple[str, ...], leading: list[str]
    ) -> None:
        assert leading_objectives(Study(SPACE, self.OBJECTIVES).history, only) == leading

    def test_an_unknown_one_is_refused(self) -> None:
        with pytest.raises(UnknownNameError, match=r"'joule'.*'joules'"):
            leading_objectives(Study(SPACE, self.OBJECTIVES).history, ["joule"])

    def test_a_run_may_leave_objectives_to_others(self, toy: System) -> None:
        storage = ("--storage", "sqlite:///shared.db")
        shown = good(
            "run", "toy", "--recorded", "--method", "random", "--only", "energy_millijoules", "--idle", "0.1s", *storage
        )
        assert mentions(shown, "energy_millijoules", "'toy-table'")
        assert offered(shown, "worker")[-2:] == ["--only", "error_percent"]
        asked_for = {evaluation.objective for evaluation in Study.load("sqlite:///shared.db").history.asked}
        assert asked_for == {"energy_millijoules"}
        good(*offered(shown, "worker"), "--idle", "0.1s")
        history = Study.load("sqlite:///shared.db").history
        assert history.count(0) >= 10
        assert history.count(1) == 10
        good("resume", "--budget", f"{history.spent + 20:g}s", *storage)
        assert Study.load("sqlite:///shared.db").history.count(1) > 10


class TestBudget:
    def test_a_stored_study_is_opened_with_the_larger_budget(self) -> None:
        url = "sqlite:///study.db"
        assert opening_budget(url, "net", 40.0) == 40.0
        begun(budget=80).close()
        begun("free", budget=None, stop={"max_evaluations": 9}).close()
        assert [opening_budget(url, "net", typed) for typed in (40.0, 90.0)] == [80.0, 90.0]
        assert opening_budget(url, "free", 40.0) == opening_budget(url, "other", 40.0) == 40.0

    @pytest.mark.parametrize(
        "command",
        [("resume",), pytest.param(("run", "toy", "--recorded", "--method", "random"), marks=pytest.mark.variant)],
    )
    def test_a_budget_that_is_typed_counts_also_where_it_is_the_smaller_one(
        self, toy: System, command: tuple[str, ...], caplog: pytest.LogCaptureFixture
    ) -> None:
        good("run", "toy", "--recorded", "--method", "random", "--budget", "80s")
        before = Study.load("sqlite:///toy-table.db").spent
        lowered = good(*command, "--budget", "40s")
        assert mentions(lowered, "80 s", "40 s", "spent already", "of 40 s")
        study = Study.load("sqlite:///toy-table.db")
        assert (study.budget, study.spent) == (40.0, before)
        assert "larger budget" not in caplog.text
        raised = good(*command, "--budget", "100s")
        assert "80 s" not in raised
        study = Study.load("sqlite:///toy-table.db")
        assert study.budget == 100
        assert study.spent > before


def test_a_stop_rule_that_is_typed_is_added_to_the_others() -> None:
    with Study(SPACE, ["a", "b"], stop={"max_evaluations": 9, "certified_error": 0.5}) as study:
        add_stop_rules(study, StudyOptions(), quiet=True)
        assert study.stop == {"max_evaluations": 9, "certified_error": 0.5}
        add_stop_rules(study, StudyOptions(certified_error="5%"), quiet=True)
        assert study.stop == {"max_evaluations": 9, "certified_error": 0.05}


def test_only_signals_interrupt() -> None:
    def interrupts(kind: StopKind | None) -> bool:
        study: Any = SimpleNamespace(stop_kind=kind)
        return is_interrupted(study)

    assert [kind for kind in (None, *StopKind) if interrupts(kind)] == [StopKind.INTERRUPTED, StopKind.TERMINATED]
