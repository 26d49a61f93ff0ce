"""What a worker measures and with which functions, how it waits for its study, and the line of an outcome."""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.command_line import HOSTILE, SPACE, asked, begun, board, call, good, mentions, refusal

from flexibo import Objective, Space, Study
from flexibo.cli._advice import StudyPlace
from flexibo.cli._work import chosen_objectives, imported_functions, measurable_objectives, outcome_line
from flexibo.errors import InvalidValueError
from flexibo.executors import Outcome
from flexibo.history import History
from flexibo.optimizer import StopKind
from flexibo.storage import NoSuchStorageError, StorageError, open_storage


class TestFunctions:
    @pytest.mark.parametrize("name", ["functions", "made", "Bench", "Bench.functions"])
    def test_functions_may_be_a_mapping_or_what_makes_one(self, name: str) -> None:
        board()
        assert set(imported_functions(f"board:{name}")) == {"error", "energy"}

    @pytest.mark.parametrize(
        ("place", "facts"),
        [
            ("board", ["'board'", "module:function"]),
            ("bord:functions", ["no module 'bord'"]),
            ("board:function", ["'board'", "'function'"]),
            ("board:needs", ["board:needs", "arguments", "'argument'"]),
            ("board:number", ["board:number", "3", "mapping"]),
        ],
    )
    def test_functions_that_are_not_there_are_refused(self, place: str, facts: list[str]) -> None:
        board()
        begun().close()
        assert mentions(refusal("worker", "--functions", place), *facts)

    def test_a_function_that_is_missing_is_named(self) -> None:
        board()
        begun(objectives=["error", "weight"]).close()
        assert mentions(refusal("worker", "--functions", "board:made"), "'weight'", "error, energy", "--only")


class TestObjectives:
    def test_what_it_offers_must_suffice_for_all_that_an_objective_needs(self) -> None:
        history = History(Space(SPACE), [Objective("a", resources={"GPU": 1, "jetson": 1}), Objective("b")])
        assert measurable_objectives(history, ["a", "b"], {"GPU": 2.0})[0] == ["b"]
        assert measurable_objectives(history, ["a", "b"], {"GPU": 1.0, "jetson": 1.0}) == (["a", "b"], [])

    def test_what_it_leaves_to_others_is_said_with_the_resources_that_are_lacking(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        objectives = [Objective("a", resources={"GPU": 2, "jetson": 0.5}), Objective("b")]
        with Study(SPACE, objectives, name="net") as study:
            assert chosen_objectives(study, (), {"GPU": 1.0, "jetson": 1.0}, None, StudyPlace()) == ["b"]
            assert mentions(capsys.readouterr().out, "a", "--resources GPU=2.")
            with pytest.raises(InvalidValueError, match=r"'net'.*--only.*--resources"):
                chosen_objectives(study, ["a"], {"GPU": 1.0}, None, StudyPlace())
            assert mentions(capsys.readouterr().out, "a", "--resources GPU=2,jetson=0.5")


class TestOutcomes:
    def test_a_line_has_the_number_the_values_the_cost_and_the_design(self) -> None:
        with begun() as study:
            evaluation = asked(study)
        line = outcome_line(Outcome(evaluation, {"error": 0.123456789, "ms": 1e6}, 12.3456))
        x, k = evaluation.design["x"], evaluation.design["k"]
        assert mentions(line, evaluation.number, "error 0.12346", "ms 1e+06", "cost 12.3", f"x={x:.3g}", f"k={k}")

    def test_a_failure_has_its_reason_in_the_same_harmless_line(self) -> None:
        with begun() as study:
            line = outcome_line(Outcome(asked(study), None, 1.0, reason=f"burnt {HOSTILE}\nand gone"))
        assert mentions(line, 0, "error failed", "burnt red\\x1b[31m and gone", "x=")
        assert "\n" not in line


class TestWaiting:
    def test_it_waits_for_a_study_that_is_not_begun_yet(self, monkeypatch: pytest.MonkeyPatch) -> None:
        board()
        steps = iter(
            [
                lambda: open_storage("sqlite:///late.db", "net"),
                lambda: begun(url="sqlite:///late.db", budget=20, method="random"),
            ]
        )
        clock = SimpleNamespace(sleep=lambda seconds: next(steps)(), monotonic=time.monotonic, strftime=time.strftime)
        monkeypatch.setattr(import_module("flexibo.cli._work"), "time", clock)
        shown = good("worker", "--functions", "board:functions", "--storage", "sqlite:///late.db", "--name", "net")
        assert shown.count("Waiting") == 1
        assert Study.load("sqlite:///late.db").stop_kind is StopKind.BUDGET

    def test_it_waits_for_no_longer_than_it_may_be_idle(self) -> None:
        outcome = call("worker", "--functions", "board:f", "--storage", "sqlite:///none.db", "--idle", "0.1s")
        assert isinstance(outcome.exception, NoSuchStorageError)
        assert mentions(outcome.exception, "none.db")
        assert not Path("none.db").exists()
        Path("foreign.db").write_text("not a database" * 100)
        outcome = call("worker", "--storage", "sqlite:///foreign.db", "--idle", "10m")
        assert isinstance(outcome.exception, StorageError)
        assert mentions(outcome.exception, "foreign.db", "SQLite")
