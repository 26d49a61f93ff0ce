"""``flexibo run FILE``, ``resume`` and ``worker`` of studies from files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flexibo import Study
from flexibo.cli import app
from flexibo.errors import FlexiBOError
from flexibo.history.events import Noted
from flexibo.storage import open_storage
from flexibo.storage.base import Content

STUDY = """
name: toy
method: random
budget: 60
seed: 1
n_initial: 3
candidates: 40
options:
  x: {from: 0, to: 1000}
  kind: [plain, "$(touch pwned)"]
objectives:
  error: {command: "echo {x} {kind} > last; echo {x} 8"}
  joules: {function: "board:joules", unit: J}
"""
BOARD = """
def joules(design):
    return 1000 - design["x"] + (design["kind"] == "plain"), 3.0
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder with a study file, as the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLEXIBO_STORAGE", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr("flexibo.cli._show.save_picture", _drawn)
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "board.py").write_text(BOARD)
    yield tmp_path
    sys.modules.pop("board", None)


OURS = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\x11tEXtSoftware\0flexibo 9" + b"\0" * 4
"""The beginning of a picture that flexibo drew."""


def _drawn(study: Study, out: Path, console: object) -> None:
    """Instead of a picture, which takes long to draw."""
    out.write_bytes(OURS + f"{len(study.front())} designs".encode())


def call(*arguments: str, **variables: str) -> Any:
    return CliRunner().invoke(app, list(arguments), env=variables)


def good(*arguments: str, **variables: str) -> str:
    outcome = call(*arguments, **variables)
    assert outcome.exit_code == 0, (outcome.exception, outcome.output)
    return " ".join(str(outcome.stdout).split())


def refusal(*arguments: str, **variables: str) -> str:
    outcome = call(*arguments, **variables)
    assert isinstance(outcome.exception, FlexiBOError), outcome.output
    return str(outcome.exception)


def stored(name: str | None = "toy", file: str = "toy.db") -> Study:
    return Study.load(f"sqlite:///{file}", name)


class TestRun:
    def test_a_file_is_run_until_its_budget_is_spent(self, folder: Path) -> None:
        shown = good("run", "study.yaml")
        study = stored()
        assert 50 < study.spent <= 65
        assert study.history.count(0)
        assert study.history.count(1)
        assert study.history.origin["study_file"] == str(folder / "study.yaml")
        assert set(study.history.origin) == {"study_file", "sha256"}  # and no command
        assert "toy (study.yaml): 2 options, 2,002 designs; objectives error, joules; budget 60 s." in shown
        assert "The study 'toy' is kept in sqlite:///toy.db." in shown
        assert "Go on with a larger budget: flexibo run study.yaml --budget 2m" in shown
        assert (folder / "toy.png").exists()
        assert not (folder / "study.png").exists()
        assert not (folder / "pwned").exists()
        assert (folder / "last").read_text().endswith(("plain\n", "$(touch pwned)\n"))

    def test_a_finished_study_says_so_and_a_larger_budget_goes_on(self) -> None:
        good("run", "study.yaml")
        before = len(stored().history.measurements)
        shown = good("run", "study.yaml")
        assert "Nothing was measured: the study had ended before. The budget is spent" in shown
        assert f"Going on after {before} measurements" in shown
        assert len(stored().history.measurements) == before
        good("run", "study.yaml", "--budget", "90s")
        assert stored().budget == 90
        assert len(stored().history.measurements) > before

    def test_a_share_that_may_be_missed_is_added_to_the_stop_rules_of_the_file(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(STUDY + "stop: {max_evaluations: 90}\n")
        shown = good("run", "study.yaml", "--certified-error", "99.9%")
        assert stored().history.stop == {"max_evaluations": 90, "certified_error": 0.999}
        assert "The front is certified to miss at most 99.9 %. With a probability of 95 %" in shown
        assert stored().spent < 50
        assert "The share is '5'; give one below 100 %" in refusal("run", "study.yaml", "--certified-error", "5")

    @pytest.mark.parametrize("blank", ["", " "])
    @pytest.mark.parametrize("flag", ["--budget", "--certified-error", "--lease", "--idle"])
    @pytest.mark.parametrize("command", [("run", "study.yaml"), ("resume",)])
    def test_an_option_that_is_typed_without_its_number_is_refused(
        self, folder: Path, command: tuple[str, ...], flag: str, blank: str
    ) -> None:
        assert refusal(*command, flag, blank) == f"{flag} is empty; give it a value, or leave it out."
        assert not (folder / "toy.db").exists()

    def test_what_is_typed_replaces_what_the_file_says(self, folder: Path) -> None:
        typed = [
            "--budget",
            "40s",
            "--method",
            "flexibo",
            "--seed",
            "5",
            "--name",
            "mine",
            "--storage",
            "sqlite:///o.db",
        ]
        shown = good("run", "study.yaml", *typed, "--out", "front.svg")
        study = stored("mine", "o.db")
        assert (study.budget, study.method.name, study.settings.seed) == (40, "flexibo", 5)
        assert (folder / "front.svg").exists()
        assert not (folder / "toy.db").exists()
        again = "flexibo run study.yaml --budget 80s --method flexibo --seed 5 --storage sqlite:///o.db --name mine"
        assert again in shown

    def test_a_storage_of_the_environment_holds_where_the_file_names_none(self, folder: Path) -> None:
        good("run", "study.yaml", "--budget", "30s", FLEXIBO_STORAGE="sqlite:///env.db")
        assert (folder / "env.db").exists()
        (folder / "study.yaml").write_text(f"storage: sqlite:///mine.db\n{STUDY}")
        good("run", "study.yaml", "--budget", "30s", FLEXIBO_STORAGE="sqlite:///env.db")
        assert (folder / "mine.db").exists()

    def test_the_outcome_may_be_json_and_nothing_else(self) -> None:
        outcome = call("run", "study.yaml", "--json")
        assert outcome.exit_code == 0
        facts = json.loads(outcome.stdout)
        assert facts["study"] == "toy"
        assert facts["stopped"].startswith("The budget is spent")
        assert not facts["interrupted"]
        assert facts["spent"] == stored().spent
        assert set(facts["evaluations"]) == {"error", "joules"}
        assert {"design", "values", "measured", "deviations"} == set(facts["front"][0])
        assert facts["go_on"] == "flexibo run study.yaml"

    def test_a_dry_run_shows_all_and_leaves_nothing(self, folder: Path) -> None:
        shown = good("run", "study.yaml", "--dry-run")
        for part in (
            "sqlite:///toy.db (new)",
            "whole numbers 0 to 1000",
            "plain, $(touch pwned) (unordered)",
            "function: board:joules",
            "Asked first",
            "Nothing was measured or stored.",
        ):
            assert part in shown
        assert {path.name for path in folder.iterdir()} - {"__pycache__"} == {"study.yaml", "board.py"}

    def test_a_dry_run_as_json_has_the_first_commands_with_values_in_quotes(self) -> None:
        plan = json.loads(call("run", "study.yaml", "--dry-run", "--json").stdout)
        assert plan["options"]["x"] == {"kind": "integer", "low": 0, "high": 1000, "log": False}
        assert plan["budget"] == 60
        first = plan["first"][0]
        assert first["objective"] == "error"
        kind = "plain" if first["design"]["kind"] == "plain" else "'$(touch pwned)'"
        assert first["command"] == f"echo {first['design']['x']} {kind} > last; echo {first['design']['x']} 8"

    def test_a_dry_run_of_a_stored_study_shows_what_comes_next_and_changes_nothing(self) -> None:
        good("run", "study.yaml")
        events = stored().events
        assert f"({len(stored().history.measurements)} measurements)" in good("run", "study.yaml", "--dry-run")
        plan = json.loads(call("run", "study.yaml", "--dry-run", "--json", "--budget", "90s").stdout)
        assert plan["begun"]
        assert len(plan["first"]) == 3
        assert stored().events == events
        assert stored().budget == 60

    def test_without_a_seed_a_dry_run_does_not_guess_what_is_asked_first(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(STUDY.replace("seed: 1\n", ""))
        shown = good("run", "study.yaml", "--dry-run")
        assert "Asked first: not known yet, for the seed is drawn when the study begins" in shown
        assert "1. " not in shown
        plan = json.loads(call("run", "study.yaml", "--dry-run", "--json").stdout)
        assert (plan["seed"], plan["first"]) == (None, None)
        plan = json.loads(call("run", "study.yaml", "--dry-run", "--json", "--seed", "7").stdout)
        assert (plan["seed"], len(plan["first"])) == (7, 3)
        good("run", "study.yaml", "--budget", "30s", "--seed", "7")
        first = stored().history.asked[0]
        assert plan["first"][0]["design"] == dict(first.design)

    def test_the_help_promises_no_default_that_a_file_may_change(self) -> None:
        shown = good("run", "--help", COLUMNS="200")
        for kept in ("[default: 0]", "[default: flexibo]", "[default: inline]", "[default: 60s]"):
            assert kept not in shown
        assert "the file's, or inline" in shown

    def test_a_command_that_names_few_options_gets_advice_while_it_can_be_followed(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(STUDY.replace("{kind} >", ">"))
        advice = (
            "Advice: error uses {x} only; if it does not read the others from its environment, set options: "
            "[x] and it is measured less often."
        )
        assert advice in good("run", "study.yaml", "--dry-run")
        assert advice in good("run", "study.yaml", "--budget", "30s")
        assert "Advice" not in good("run", "study.yaml", "--budget", "60s")

    def test_several_processes_measure_with_functions_and_commands(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(f"{STUDY}executor: {{name: processes, workers: 2, slots: {{joules: 1}}}}\n")
        good("run", "study.yaml", "--budget", "45s")
        assert stored().history.count(0)
        assert stored().history.count(1)

    def test_an_executor_that_is_typed_takes_the_place_of_the_files(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(f"{STUDY}executor: {{name: processes, workers: 2, slots: {{joules: 1}}}}\n")
        good("run", "study.yaml", "--budget", "30s", "--executor", "inline")
        assert stored().history.count(0)

    def test_a_failing_command_is_a_failed_evaluation_with_its_words(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(STUDY.replace("echo {x} 8", "echo no board >&2; exit 4"))
        outcome = call("run", "study.yaml")
        assert outcome.exit_code == 1
        assert "Stopped: " in outcome.stdout
        facts = json.loads(call("status", "--json", "--no-front").stdout)
        assert facts["failures"][0]["reason"] == "The command of 'error' ended with exit status 4: no board"

    def test_a_command_that_is_not_there_stops_the_study_with_a_sentence(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(STUDY.replace("echo {x} 8", "no-such-program"))
        told = refusal("run", "study.yaml")
        assert "ended with exit status 127" in told
        assert "not found. The shell could not run it" in told
        (folder / "study.yaml").write_text(STUDY)
        good("run", "study.yaml")
        assert not any(stored().summary().failures.values())

    def test_a_file_may_lie_elsewhere(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "away").mkdir()
        monkeypatch.chdir(folder / "away")
        good("run", "../study.yaml", "--budget", "30s")
        assert (folder / "toy.db").exists()
        assert (folder / "last").exists()
        assert not list((folder / "away").iterdir())


class TestPicture:
    """The picture is named after the study, and nothing that others made is replaced."""

    def test_a_file_that_flexibo_did_not_draw_is_left_as_it_is(self, folder: Path) -> None:
        (folder / "toy.png").write_bytes(b"\x89PNG\r\n\x1a\n mine")
        shown = good("run", "study.yaml", "--budget", "30s")
        assert "No picture: toy.png is there, and flexibo did not draw it." in shown
        assert (folder / "toy.png").read_bytes().endswith(b" mine")

    def test_its_own_is_drawn_again_by_run_and_resume(self, folder: Path) -> None:
        good("run", "study.yaml", "--budget", "30s")
        (folder / "toy.png").write_bytes(OURS + b"old")
        good("resume", "--budget", "50s")
        assert not (folder / "toy.png").read_bytes().endswith(b"old")
        (folder / "toy.png").unlink()
        good("run", "study.yaml", "--budget", "60s")
        assert (folder / "toy.png").exists()

    def test_one_that_is_typed_replaces_what_is_there(self, folder: Path) -> None:
        (folder / "mine.png").write_text("old")
        good("run", "study.yaml", "--budget", "30s", "--out", "mine.png")
        assert (folder / "mine.png").read_bytes().startswith(OURS)
        assert not (folder / "toy.png").exists()

    def test_another_name_is_another_picture(self, folder: Path) -> None:
        good("run", "study.yaml", "--budget", "30s", "--name", "second: try/2")
        assert (folder / "second-try-2.png").exists()

    def test_a_folder_of_that_name_costs_only_the_picture(self, folder: Path) -> None:
        (folder / "toy.png").mkdir()
        assert "No picture: toy.png is there" in good("run", "study.yaml", "--budget", "30s")


class TestByHand:
    """Objectives that no function and no command measures."""

    HAND = """
name: tea
seed: 0
n_initial: 2
options: {grams: [1, 2, 3], kind: [green, black]}
objectives:
  taste: {direction: max, measured_by: hand}
  bitterness: {measured_by: hand}
"""

    def told(self, number: int, value: float) -> str:
        return good("tell", str(number), str(value), "--cost", "1", "--storage", "sqlite:///tea.db")

    def test_a_study_is_begun_asked_and_told_without_a_program(self, folder: Path) -> None:
        (folder / "tea.yaml").write_text(self.HAND)
        shown = good("run", "tea.yaml")
        assert "kept in sqlite:///tea.db; by hand: taste, bitterness." in shown
        assert "Ask what to measure: flexibo ask --storage sqlite:///tea.db --name tea Answer:" in shown
        assert "flexibo tell NUMBER VALUE --cost COST --storage sqlite:///tea.db --name tea" in shown
        for number in range(6):
            asked = json.loads(call("ask", "--json", "--storage", "sqlite:///tea.db", "--name", "tea").stdout)
            (evaluation,) = asked["evaluations"]
            assert evaluation["number"] == number
            self.told(number, float(number))
        study = stored("tea", "tea.db")
        assert study.spent == 6
        assert study.front()
        assert "Going on after 6 measurements" in good("run", "tea.yaml")
        assert (folder / "tea.png").exists()
        assert json.loads(call("run", "tea.yaml", "--json").stdout)["by_hand"] == ["taste", "bitterness"]
        assert "hand: flexibo ask, flexibo tell" in good("run", "tea.yaml", "--dry-run")

    def test_a_run_measures_what_it_can_and_leaves_the_rest_without_waiting(self, folder: Path) -> None:
        text = self.HAND.replace("bitterness: {measured_by: hand}", "price: {command: 'echo {grams} 1'}")
        (folder / "tea.yaml").write_text(f"{text}budget: 12\n")
        shown = good("run", "tea.yaml")
        assert "Stopped: What is left is measured by hand: taste." in shown
        assert "flexibo ask --storage sqlite:///tea.db --name tea --only taste" in shown
        assert "Then go on here with: flexibo run tea.yaml" in shown
        assert "others must measure" not in shown
        assert stored("tea", "tea.db").history.count(1) == 2
        for value in (3.0, 4.0):
            asked = json.loads(call("ask", "--json", "--only", "taste", "--storage", "sqlite:///tea.db").stdout)
            self.told(asked["evaluations"][0]["number"], value)
        assert "Measuring price" in good("worker", "--storage", "sqlite:///tea.db", "--idle", "0.01s")
        good("resume", "--storage", "sqlite:///tea.db")
        study = stored("tea", "tea.db")
        assert (study.history.count(0), study.history.count(1) > 2) == (2, True)

    def test_a_worker_is_told_that_there_is_nothing_for_it(self, folder: Path) -> None:
        (folder / "tea.yaml").write_text(self.HAND)
        good("run", "tea.yaml")
        told = refusal("worker", "--storage", "sqlite:///tea.db", "--idle", "0.01s")
        assert "There is nothing of study 'tea' to measure here" in told

    def test_what_is_kept_elsewhere_is_named_without_its_secret(self) -> None:
        from flexibo.cli._manual import sentences_by_hand

        study = Study({"x": [1, 2, 3]}, ["a", "b"], name="tea")
        found = sentences_by_hand(study, "postgresql://ada:secret@host/studies", ["a", "b"], "")
        assert not any("secret" in sentence for sentence in found)
        assert "Set FLEXIBO_STORAGE to the storage for these commands." in found


class TestMistakes:
    def test_a_file_with_mistakes_runs_nothing(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(STUDY.replace("budget", "budgte").replace("{kind}", "{knid}"))
        told = refusal("run", "study.yaml")
        assert "study.yaml:4:1: There is no key 'budgte' in a study file; did you mean 'budget'?" in told
        assert "{knid} names no option; did you mean 'kind'?" in told
        assert not (folder / "toy.db").exists()

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["run", "studdy.yaml"], "There is no study file studdy.yaml; did you mean 'study.yaml'?"),
            (["run", "studdy"], "'studdy' is neither a study file nor a system; did you mean 'study.yaml'?"),
            (["run", "lennet"], "did you mean 'lenet'? Systems: xception"),
            (["run", "qqqq"], "study files here: study.yaml"),
            (["run", "study.yaml", "--data", "."], "--data is for systems, and study.yaml is a study file"),
            (["run", "study.yaml", "--recorded"], "--recorded is for systems"),
            (["run", "study.yaml", "--budget", "soon"], "The duration is 'soon'"),
            (["run", "study.yaml", "--executor", "proceses"], "did you mean 'processes'?"),
            (["run", "study.yaml", "--workers", "2"], "--workers is for another executor than inline"),
            (["run", "study.yaml", "--only", "eror"], "did you mean 'error'?"),
            (["run", "study.yaml", "--out", "x.foo"], "give a .png"),
            (["run", "lenet", "--dry-run"], "--dry-run is for study files"),
            (["resume", "--file", "study.yaml"], "toy.db; check the path of the storage"),
            (["worker", "--file", "study.yaml", "--system", "lenet"], "Both --system and --file are given"),
        ],
    )
    def test_each_is_answered_with_a_sentence_and_nothing_is_measured(
        self, folder: Path, arguments: list[str], words: str
    ) -> None:
        assert words in refusal(*arguments)
        assert not (folder / "last").exists()

    def test_a_folder_without_study_files_is_told_of_init(self, folder: Path) -> None:
        (folder / "study.yaml").unlink()
        assert "flexibo init writes one" in refusal("run", "nothing")

    def test_other_options_in_the_file_are_another_study(self, folder: Path) -> None:
        good("run", "study.yaml", "--budget", "30s")
        (folder / "study.yaml").write_text(STUDY.replace("to: 1000", "to: 2000"))
        text = refusal("run", "study.yaml")
        assert all(fact in text for fact in ("'toy'", "x differ", "study.yaml", "--name"))
        assert "Open it with" not in text
        good("run", "study.yaml", "--name", "wider", "--budget", "30s")


class TestResume:
    def test_it_goes_on_from_the_file_that_the_study_names(self) -> None:
        good("run", "study.yaml", "--budget", "30s", "--method", "sobol")
        before = len(stored().history.measurements)
        shown = good("resume", "--budget", "50s")
        assert len(stored().history.measurements) > before
        assert stored().method.name == "sobol"
        assert "flexibo resume --storage sqlite:///toy.db --name toy --budget 100s" in shown
        assert json.loads(call("resume", "--json").stdout)["study"] == "toy"

    def test_a_share_that_may_be_missed_is_added_to_the_stored_stop_rules(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(STUDY + "stop: {max_evaluations: 90}\n")
        good("run", "study.yaml", "--budget", "40s")
        shown = good("resume", "--budget", "400s", "--certified-error", "99.9%")
        assert stored().stop == {"max_evaluations": 90, "certified_error": 0.999}
        assert "The front is certified to miss at most 99.9 %" in shown
        assert stored().spent < 100

    def test_a_stop_rule_that_was_typed_stays_when_the_study_goes_on(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(STUDY + "stop: {max_evaluations: 90}\n")
        good("run", "study.yaml", "--budget", "30s", "--certified-error", "1%")
        good("resume", "--budget", "40s")
        assert stored().stop == {"max_evaluations": 90, "certified_error": 0.01}

    def test_a_file_that_was_named_may_have_changed_and_leaves_a_note(self, folder: Path) -> None:
        good("run", "study.yaml", "--budget", "30s")
        (folder / "study.yaml").write_text(STUDY + "# a remark\n")
        assert "has changed since study 'toy' was created from it" in refusal("resume", "--budget", "50s")
        assert stored().budget == 30
        for _ in range(2):
            assert "has changed since the study was begun" in good("resume", "--budget", "50s", "--file", "study.yaml")
        notes = [event for event in stored().events if isinstance(event, Noted)]
        assert len(notes) == 1
        assert stored().budget == 50

    def test_a_study_of_a_program_has_no_file(self) -> None:
        Study({"x": [1, 2, 3]}, ["error", "joules"], storage="sqlite:///p.db", name="p").close()
        assert "was made by a program" in refusal("resume", "--storage", "sqlite:///p.db")

    @pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
    def test_a_file_that_everybody_may_write_is_not_run_unasked(self, folder: Path) -> None:
        good("run", "study.yaml", "--budget", "30s")
        os.chmod(folder / "study.yaml", 0o666)
        assert "may be written by others" in refusal("resume", "--budget", "50s")
        good("resume", "--budget", "50s", "--file", "study.yaml")

    def test_a_file_that_is_gone_must_be_named(self, folder: Path) -> None:
        good("run", "study.yaml", "--budget", "30s")
        (folder / "study.yaml").rename(folder / "moved.yaml")
        assert "which was not found here; name the file with --file" in refusal("resume", "--budget", "50s")
        good("resume", "--budget", "50s", "--file", "moved.yaml")


class TestTrust:
    """Whoever can write to the database chooses no commands."""

    def changed(self, **origin: Any) -> None:
        """A copy of the study whose first event says something else of its origin."""
        events = [dict(event) for event in open_storage("sqlite:///toy.db", "toy").read()]
        events[0]["origin"] = origin
        (Path.cwd() / "toy.db").unlink()
        contents: list[Content] = list(events)
        open_storage("sqlite:///toy.db", "toy").commit(0, lambda _: contents)

    def test_commands_in_the_database_are_never_run(self, folder: Path) -> None:
        good("run", "study.yaml", "--budget", "30s")
        evil = {"command": "touch evil; echo 1", "function": "board:joules", "objectives": {"error": "touch evil"}}
        self.changed(**evil, study_file=str(folder / "nowhere.yaml"), sha256="0" * 64)
        assert "was not found here" in refusal("resume", "--budget", "50s")
        self.changed(**evil)
        assert "was made by a program" in refusal("resume", "--budget", "50s")
        assert not (folder / "evil").exists()

    def test_another_file_of_another_study_is_not_run(self, folder: Path) -> None:
        good("run", "study.yaml", "--budget", "30s")
        other = folder / "other.yaml"
        other.write_text(STUDY.replace("to: 1000", "to: 9000").replace("echo {x}", "touch evil; echo {x}"))
        import hashlib

        self.changed(study_file=str(other), sha256=hashlib.sha256(other.read_bytes()).hexdigest())
        assert "was created with another space" in refusal("resume", "--budget", "50s")
        assert not (folder / "evil").exists()

    @pytest.mark.parametrize("path", ["study.yaml", "", "\0", "/dev/zero", "/", "x" * 5000])
    def test_a_path_that_is_none_is_not_followed(self, folder: Path, path: str) -> None:
        good("run", "study.yaml", "--budget", "30s")
        self.changed(study_file=path, sha256="0" * 64)
        assert "was not found here" in refusal("resume", "--budget", "50s")

    @pytest.mark.parametrize("origin", [{"study_file": 3, "sha256": 4}, {"study_file": ["a"]}, {"sha256": "x"}])
    def test_an_origin_of_the_wrong_shape_is_no_file(self, origin: dict[str, Any]) -> None:
        good("run", "study.yaml", "--budget", "30s")
        self.changed(**origin)
        assert "was made by a program" in refusal("resume", "--budget", "50s")


class TestWorker:
    def test_it_measures_its_part_from_the_file_of_the_study(self) -> None:
        good("run", "study.yaml", "--only", "joules", "--idle", "0.01s")
        assert stored().history.count(0) == 0
        shown = good("worker", "--only", "error", "--idle", "0.01s")
        assert "Measuring error for study 'toy'" in shown
        assert stored().history.count(0)

    def test_a_file_may_be_named_and_says_where_the_study_is(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(f"storage: sqlite:///mine.db\n{STUDY}")
        good("run", "study.yaml", "--only", "joules", "--idle", "0.01s")
        good("worker", "--file", "study.yaml", "--only", "error", "--idle", "0.01s")
        assert stored("toy", "mine.db").history.count(0)

    def test_it_does_not_run_a_file_that_has_changed_unasked(self, folder: Path) -> None:
        good("run", "study.yaml", "--only", "joules", "--idle", "0.01s")
        (folder / "study.yaml").write_text(STUDY.replace("echo {x} 8", "touch evil; echo {x} 8"))
        assert "has changed since study 'toy' was created" in refusal("worker", "--only", "error", "--idle", "0.01s")
        assert not (folder / "evil").exists()

    def test_functions_of_the_command_line_may_take_the_place_of_the_file(self, folder: Path) -> None:
        good("run", "study.yaml", "--only", "joules", "--idle", "0.01s")
        (folder / "board.py").write_text(BOARD + "\nfunctions = {'error': lambda design: (0.5, 8.0)}\n")
        sys.modules.pop("board", None)
        good("worker", "--only", "error", "--functions", "board:functions", "--idle", "0.01s")
        assert stored().history.count(0)
        assert not (folder / "last").exists()
