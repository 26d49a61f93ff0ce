"""The questions of ``flexibo init``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import mentions
from typer.testing import CliRunner

from flexibo import Objective
from flexibo.cli import app
from flexibo.studyfile import Command, read_study_file

ANSWERS = ["net", "filters", "16, 32", "kernel", "1x1, no", "rate", "0.001..1 log", "", "error", "min", "%"]
ANSWERS += ["train {filters} --kernel {kernel}", "", "5", "y", "n"]  # depends on what it names, bound, optimised, exact
ANSWERS += ["speed", "max", "", "board:speed", "kernel, filters", "", "y", "", "", "90s", "y"]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.cli.init.is_terminal", lambda: True)


def call(*arguments: str, answers: list[str] | None = None) -> Any:
    return CliRunner().invoke(app, ["init", *arguments], input="".join(f"{a}\n" for a in answers or []))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


@pytest.mark.usefixtures("terminal")
class TestWizard:
    def test_answers_become_a_study_file(self, folder: Path) -> None:
        outcome = call(answers=ANSWERS)
        assert outcome.exit_code == 0, outcome.output
        (folder / "board.py").write_text("def speed(design):\n    return 1.0\n")
        file = read_study_file("study.yaml")
        sys.modules.pop("board", None)
        assert file.name == "net"
        assert file.space.to_dict()["options"] == [
            {"name": "filters", "kind": "ordinal", "values": [16, 32]},
            {"name": "kernel", "kind": "categorical", "values": ["1x1", "no"]},
            {"name": "rate", "kind": "real", "low": 0.001, "high": 1.0, "log": True},
        ]
        assert file.objectives == (
            Objective("error", unit="%", options=["filters", "kernel"], at_most=5, optimise=True),
            Objective("speed", "max", options=["filters", "kernel"], noisy=True),
        )
        assert file.settings["budget"] == 90
        error = file.measures["error"]
        assert isinstance(error, Command)
        assert error.template.text == "train {filters} --kernel {kernel}"
        assert names(folder) - {"__pycache__"} == {"study.yaml", "board.py"}  # and no example program

    @pytest.mark.parametrize(
        ("place", "wrong", "facts"),
        [
            (2, "32..16", ["lower bound"]),
            (2, "a, a", ["'a' twice"]),
            (2, "", ["Give an answer"]),
            (2, "-1..1 log", ["lower bound", "above 0"]),
            (3, "filters", ["option 'filters' already"]),
            (9, "down", ["'down'", "min", "max"]),
            (11, "train '{filters}'", ["{filters}", "single quotes"]),
            (11, "train {filter}", ["{filter}", "'filters'"]),
            (11, "train 'x", ["shell cannot read"]),
            (12, "filters", ["uses {kernel}"]),
            (12, "filters, kernle", ["'kernle'", "'kernel'"]),
            (13, "little", ["'little'", "number"]),
            (16, "error", ["objective 'error' already"]),
            (24, "eror", ["'eror'", "'error'"]),
            (25, "soon", ["'soon'"]),
        ],
    )
    def test_each_answer_is_checked_at_once(self, folder: Path, place: int, wrong: str, facts: list[str]) -> None:
        before = call(answers=ANSWERS).stdout
        outcome = call("--force", answers=[*ANSWERS[:place], wrong, *ANSWERS[place:]])
        assert outcome.exit_code == 0, outcome.output
        assert mentions(outcome.stdout, *facts)
        assert not mentions(before, *facts)
        assert call("--force", answers=ANSWERS).exit_code == 0
        assert (folder / "study.yaml").exists()

    def test_two_objectives_and_an_option_are_the_least(self, folder: Path) -> None:
        answers = [ANSWERS[0], "", *ANSWERS[1:8], "", *ANSWERS[8:16], "", *ANSWERS[16:]]
        outcome = call(answers=answers)
        assert outcome.stdout.count("Give an answer.") == 3
        assert outcome.exit_code == 0

    def test_nothing_is_written_without_consent(self, folder: Path) -> None:
        outcome = call(answers=[*ANSWERS[:-1], "n"])
        assert outcome.exit_code == 1
        assert "Nothing was written." in outcome.stdout
        assert not names(folder)

    @pytest.mark.parametrize("given", range(0, len(ANSWERS), 4))
    def test_ctrl_c_and_the_end_of_input_leave_nothing_behind(self, folder: Path, given: int) -> None:
        outcome = call("deep/new", answers=ANSWERS[:given])
        assert outcome.exit_code != 0
        assert not names(folder)

    def test_a_file_that_is_there_is_refused_before_the_first_question(self, folder: Path) -> None:
        (folder / "study.yaml").write_text("mine")
        outcome = call(answers=ANSWERS)
        assert mentions(outcome.exception, "study.yaml", "--force")
        assert outcome.stdout == ""

    def test_hostile_answers_become_texts(self, folder: Path) -> None:
        answers = list(ANSWERS)
        answers[0], answers[3] = 'a"b: [c]\\n', "# - {k"
        answers[11], answers[20] = "train {filters}", "# - {k, rate"
        assert call(answers=answers).exit_code == 0
        file = read_study_file("study.yaml", imports=False)
        assert file.name == 'a"b: [c]\\n'
        assert file.space.names == ("filters", "# - {k", "rate")
        assert [objective.options for objective in file.objectives] == [("filters",), ("# - {k", "rate")]

    def test_the_options_that_a_command_names_are_what_it_depends_on_unless_told_otherwise(self, folder: Path) -> None:
        answers = list(ANSWERS)
        answers[11] = "train {kernel}"
        shown = call(answers=answers).stdout
        assert mentions(shown, "error", "[kernel]")
        assert read_study_file("study.yaml", imports=False).objectives[0].options == ("kernel",)
        answers[11], answers[12] = "train.sh", "all"
        assert mentions(call("--force", answers=answers).stdout, "error", "[all]")
        assert read_study_file("study.yaml", imports=False).objectives[0].options is None

    def test_an_only_option_is_not_asked_about(self, folder: Path) -> None:
        how = ["min", "", "train {filters}", "", "n"]
        outcome = call(answers=["net", "filters", "16, 32", "", "a", *how, "b", *how, "", "", "90s", "y"])
        assert outcome.exit_code == 0, outcome.output
        assert "Options that" not in outcome.stdout

    def test_what_must_be_kept_is_a_constraint_and_at_least_where_more_is_better(self, folder: Path) -> None:
        answers = list(ANSWERS)
        answers[21:22] = ["30", "n"]
        assert call(answers=answers).exit_code == 0
        error, speed = read_study_file("study.yaml", imports=False).objectives
        assert (error.at_most, error.optimise) == (5, True)
        assert (speed.at_least, speed.optimise) == (30, False)

    def test_an_objective_may_be_measured_by_hand(self, folder: Path) -> None:
        answers = list(ANSWERS)
        answers[19] = "hand"
        assert call(answers=answers).exit_code == 0
        assert read_study_file("study.yaml").by_hand == ("speed",)

    def test_a_command_with_placeholders_of_steps_is_asked_for_them(self, folder: Path) -> None:
        train = "train {filters} {from_step} {to_step} {checkpoint}"
        answers = [train if "--kernel" in answer else answer for answer in ANSWERS]
        place = answers.index(train) + 1
        outcome = call(answers=[*answers[:place], "9, 3", "3, 9", *answers[place:]])
        assert outcome.exit_code == 0, outcome.output
        assert mentions(outcome.output, "'9, 3'", "in steps (3, 9)")
        (folder / "board.py").write_text("def speed(design):\n    return 1.0\n")
        error, speed = read_study_file("study.yaml").objectives
        sys.modules.pop("board", None)
        assert (error.stops, error.options, speed.stops) == ((3, 9), ("filters",), ())

    def test_what_is_cheaper_than_an_objective_becomes_its_proxy(self, folder: Path) -> None:
        proxy = ["error", "", "", "train {filters} {to_step}", "train {filters} --tenth", "filters, rate", "y"]
        second = ["error", "simulated", "max", "sim:error", "all", ""]
        outcome = call(answers=[*ANSWERS[:-3], *proxy, *second, "", *ANSWERS[-2:]])
        assert outcome.exit_code == 0, outcome.output
        assert mentions(outcome.stdout, "leave out", "error_small: less is better; a proxy of error", "no sim.py")
        error, _, small, simulated = read_study_file("study.yaml", imports=False).objectives
        assert error.proxies == ("error_small", "simulated")
        assert small == Objective("error_small", options=["filters", "rate"], noisy=True, optimise=False)
        assert simulated == Objective("simulated", "max", optimise=False)

    @pytest.mark.parametrize("worded", ["1e-3 to 1", "0.001 - 1", "from 0.001 to 1", "[0.001, 1]", "0.001 \u2013 1"])
    def test_a_range_in_other_words_is_offered_as_one(self, folder: Path, worded: str) -> None:
        answers = [*ANSWERS[:6], worded, "", *ANSWERS[7:]]
        outcome = call(answers=answers)
        assert outcome.exit_code == 0, outcome.output
        assert mentions(outcome.stdout, "rate", repr(worded), "did you mean", "0.001 to 1")
        rate = read_study_file("study.yaml", imports=False).space.to_dict()["options"][2]
        assert (rate["kind"], rate["low"], rate["high"]) == ("real", 0.001, 1.0)

    def test_an_option_with_one_value_is_refused(self, folder: Path) -> None:
        answers = [*ANSWERS[:6], "fast", "7", "1e-3 to 1", "n", *ANSWERS[6:]]
        outcome = call(answers=answers)
        assert outcome.exit_code == 0, outcome.output
        assert mentions(outcome.stdout, "rate", "one text, 'fast'", "one value, 7", "one text '1e-3 to 1'", "1..9")

    def test_what_was_understood_is_repeated(self, folder: Path) -> None:
        shown = call(answers=ANSWERS).stdout
        assert mentions(shown, "filters: 2 numbers in order: 16, 32", "kernel: 2 values without an order: 1x1, no")
        assert mentions(shown, "rate: any number from 0.001 to 1, on a log scale")
        assert mentions(shown, "error in %: less is better; kept at most 5 %; measured by train", "filters, kernel")
        assert mentions(shown, "speed: more is better; measured by board:speed", "noisy", "no board.py", "90 seconds")

    @pytest.mark.parametrize("place", range(1, len(ANSWERS)))
    def test_every_answer_can_be_taken_back(self, folder: Path, place: int) -> None:
        call(answers=ANSWERS)
        meant = (folder / "study.yaml").read_text()
        outcome = call("--force", answers=[*ANSWERS[:place], "back", *ANSWERS[place - 1 :]])
        assert outcome.exit_code == 0, outcome.output
        assert "  Back;" in outcome.stdout
        assert (folder / "study.yaml").read_text() == meant

    def test_several_answers_can_be_taken_back_down_to_the_first(self, folder: Path) -> None:
        answers = ["wrong", "filters", "1, 2", *["back"] * 4, *ANSWERS]
        outcome = call(answers=answers)
        assert outcome.exit_code == 0, outcome.output
        assert "first question" in outcome.stdout
        assert read_study_file("study.yaml", imports=False).name == "net"

    def test_the_file_runs(self, folder: Path) -> None:
        for name in ("error", "size"):
            (folder / f"{name}.sh").write_text("echo $1 1\n")
        how = ["min", "", "sh error.sh {x}", "", "n"]
        answers = [
            "net",
            "x",
            "1..9",
            "",
            "error",
            *how,
            "size",
            *how[:2],
            "sh size.sh {x}",
            *how[3:],
            "",
            "",
            "20s",
            "y",
        ]
        assert call(answers=answers).exit_code == 0
        done = CliRunner().invoke(app, ["run", "study.yaml", "--quiet"])
        assert done.exit_code == 0, done.output
        assert "Confirmed front" in done.stdout
