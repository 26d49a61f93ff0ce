"""``flexibo run FILE``."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.command_line import (
    STUDY_FILE,
    call,
    mentions,
    printed,
    refusal,
)

from flexibo import Study
from flexibo.cli._outcome import PictureFile, Report, report
from flexibo.errors import InvalidValueError
from flexibo.optimizer import StopKind

pytestmark = pytest.mark.usefixtures("folder")


def stored(name: str | None = "toy", file: str = "toy.db") -> Study:
    return Study.load(f"sqlite:///{file}", name)


class TestRun:
    def test_a_file_is_run_until_its_budget_is_spent(self, folder: Path) -> None:
        shown = printed("run", "study.yaml")
        study = stored()
        assert 50 < study.spent <= 65
        assert study.history.count(0)
        assert study.history.count(1)
        assert study.history.origin["study_file"] == str(folder / "study.yaml")
        assert set(study.history.origin) == {"study_file", "sha256"}  # and no command
        assert mentions(shown, "toy (study.yaml)", "2 options", "2,002 designs", "error, joules", "60 s")
        assert mentions(shown, "'toy'", "sqlite:///toy.db", "flexibo run study.yaml --budget 2m")
        assert (folder / "toy.png").exists()
        assert not (folder / "study.png").exists()
        assert not (folder / "pwned").exists()
        assert (folder / "last").read_text().endswith(("plain\n", "$(touch pwned)\n"))

    def test_a_finished_study_says_so_and_a_larger_budget_goes_on(self) -> None:
        printed("run", "study.yaml")
        before = len(stored().history.measurements)
        shown = printed("run", "study.yaml")
        assert mentions(shown, f"{before} measurements")
        assert len(stored().history.measurements) == before
        printed("run", "study.yaml", "--budget", "90s")
        assert stored().budget == 90
        assert len(stored().history.measurements) > before

    @pytest.mark.parametrize("budget", ["2s", "9s"])
    def test_the_budget_that_is_suggested_pays_for_a_start_that_the_first_one_could_not(self, budget: str) -> None:
        shown = printed("run", "study.yaml", "--budget", budget)
        assert "cannot pay for the initial designs" in shown
        (command,) = re.findall(r"Resume with a larger budget: flexibo (.*)$", shown, re.MULTILINE)
        assert "cannot pay for the initial designs" not in printed(*shlex.split(command))
        assert stored().history.chosen

    @pytest.mark.variant
    def test_a_share_that_may_be_missed_is_added_to_the_stop_rules_of_the_file(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(STUDY_FILE + "stop: {max_evaluations: 90}\n")
        shown = printed("run", "study.yaml", "--budget", "400s", "--certified-error", "99.9%")
        assert stored().history.stop == {"max_evaluations": 90, "certified_error": 0.999}
        assert mentions(shown, "certified", "99.9 %", "95 %")
        assert stored().spent < 400
        assert mentions(refusal("run", "study.yaml", "--certified-error", "5"), "'5'", "100 %")

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
        shown = printed("run", "study.yaml", *typed, "--out", "front.svg")
        study = stored("mine", "o.db")
        assert (study.budget, study.method.name, study.settings.seed) == (40, "flexibo", 5)
        assert (folder / "front.svg").exists()
        assert not (folder / "toy.db").exists()
        words = shlex.split(shown.partition("budget: flexibo ")[2])
        assert words[:2] == ["run", "study.yaml"]
        expected = {**dict(zip(typed[::2], typed[1::2], strict=True)), "--budget": "80s"}
        assert dict(zip(words[2::2], words[3::2], strict=True)) == expected

    def test_a_storage_of_the_environment_holds_where_the_file_names_none(self, folder: Path) -> None:
        printed("run", "study.yaml", "--budget", "30s", FLEXIBO_STORAGE="sqlite:///env.db")
        assert (folder / "env.db").exists()
        (folder / "study.yaml").write_text(f"storage: sqlite:///mine.db\n{STUDY_FILE}")
        printed("run", "study.yaml", "--budget", "30s", FLEXIBO_STORAGE="sqlite:///env.db")
        assert (folder / "mine.db").exists()

    def test_the_outcome_may_be_json_and_nothing_else(self) -> None:
        outcome = call("run", "study.yaml", "--json")
        assert outcome.exit_code == 0
        facts = json.loads(outcome.stdout)
        assert facts["study"] == "toy"
        assert facts["stop_kind"] == StopKind.BUDGET
        assert not facts["interrupted"]
        assert facts["spent"] == stored().spent
        assert set(facts["evaluations"]) == {"error", "joules"}
        assert set(facts["front"][0]) > {"design", "values", "readings", "spreads", "estimates", "best", "knee"}
        assert all(one["missing"] for one in facts["promising"])
        assert facts["go_on"] == "flexibo run study.yaml"

    def test_a_command_that_names_few_options_gets_advice_while_it_can_be_followed(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(STUDY_FILE.replace("{kind} >", ">"))
        advice = ("Advice", "error", "{x}", "options: [x]")
        assert mentions(printed("run", "study.yaml", "--dry-run"), *advice)
        assert mentions(printed("run", "study.yaml", "--budget", "30s"), *advice)
        assert "Advice" not in printed("run", "study.yaml", "--budget", "60s")

    @pytest.mark.slow
    def test_several_processes_measure_with_functions_and_commands(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(
            f"{STUDY_FILE}executor: {{name: processes, workers: 2, slots: {{joules: 1}}}}\n"
        )
        printed("run", "study.yaml", "--budget", "45s")
        assert stored().history.count(0)
        assert stored().history.count(1)

    def test_an_executor_that_is_typed_takes_the_place_of_the_files(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(
            f"{STUDY_FILE}executor: {{name: processes, workers: 2, slots: {{joules: 1}}}}\n"
        )
        printed("run", "study.yaml", "--budget", "30s", "--executor", "inline")
        assert stored().history.count(0)

    def test_a_failing_command_is_a_failed_evaluation_with_its_words(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(STUDY_FILE.replace("echo {x} 8", "echo no board >&2; exit 4"))
        outcome = call("run", "study.yaml", "--no-try")
        assert outcome.exit_code == 1
        assert "Stopped: " in outcome.stdout
        facts = json.loads(call("status", "--json", "--no-front").stdout)
        assert mentions(facts["failures"][0]["reason"], "'error'", "4", "no board")

    def test_a_command_that_is_not_there_stops_the_study_with_a_sentence(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(STUDY_FILE.replace("echo {x} 8", "no-such-program"))
        told = refusal("run", "study.yaml")
        assert mentions(told, "'error'", "127", "no-such-program")
        (folder / "study.yaml").write_text(STUDY_FILE)
        printed("run", "study.yaml")
        assert not any(stored().summary().failures.values())

    def test_a_file_may_lie_elsewhere(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "away").mkdir()
        monkeypatch.chdir(folder / "away")
        printed("run", "../study.yaml", "--budget", "30s")
        assert (folder / "toy.db").exists()
        assert (folder / "last").exists()
        assert not list((folder / "away").iterdir())


class TestManualObjectives:
    """Objectives that no function and no command measures."""

    HAND = """
name: tea
method: random
seed: 0
n_initial: 2
options: {grams: [1, 2, 3], kind: [green, black]}
objectives:
  taste: {direction: max, measured_by: hand}
  bitterness: {measured_by: hand}
"""

    def told(self, name: str, value: float) -> str:
        return printed("tell", name, str(value), "--cost", "1", "--storage", "sqlite:///tea.db")

    def test_a_study_is_begun_asked_and_told_without_a_program(self, folder: Path) -> None:
        (folder / "tea.yaml").write_text(self.HAND)
        shown = printed("run", "tea.yaml")
        assert mentions(shown, "sqlite:///tea.db", "by hand", "taste, bitterness")
        where = "--storage sqlite:///tea.db --name tea"
        assert mentions(shown, f"flexibo ask {where}", f"flexibo tell NAME VALUE --cost COST {where}")
        for number in range(6):
            asked = json.loads(call("ask", "--json", "--storage", "sqlite:///tea.db", "--name", "tea").stdout)
            (evaluation,) = asked["evaluations"]
            assert evaluation["number"] == number
            self.told(evaluation["name"], float(number))
        study = stored("tea", "tea.db")
        assert study.spent == 6
        assert mentions(printed("status", "--storage", "sqlite:///tea.db"), "Spent 6, without")  # not seconds
        assert study.front()
        assert mentions(printed("run", "tea.yaml"), "6 measurements")
        assert (folder / "tea.png").exists()
        assert json.loads(call("run", "tea.yaml", "--json").stdout)["by_hand"] == ["taste", "bitterness"]
        assert mentions(printed("run", "tea.yaml", "--dry-run"), "taste", "flexibo ask", "flexibo tell")

    def test_a_run_measures_what_it_can_and_leaves_the_rest_without_waiting(self, folder: Path) -> None:
        text = self.HAND.replace("bitterness: {measured_by: hand}", "price: {command: 'echo {grams} 1'}")
        (folder / "tea.yaml").write_text(f"{text}budget: 12\n")
        shown = printed("run", "tea.yaml")
        assert mentions(shown, "by hand", "taste", "flexibo ask --storage sqlite:///tea.db --name tea --only taste")
        assert mentions(shown, "flexibo run tea.yaml")
        assert "flexibo worker" not in shown
        assert json.loads(call("run", "tea.yaml", "--json").stdout)["stop_kind"] == StopKind.MANUAL
        assert stored("tea", "tea.db").history.count(1) == 2
        for value in (3.0, 4.0):
            asked = json.loads(call("ask", "--json", "--only", "taste", "--storage", "sqlite:///tea.db").stdout)
            self.told(asked["evaluations"][0]["name"], value)
        assert mentions(printed("worker", "--storage", "sqlite:///tea.db", "--idle", "0.01s"), "price", "'tea'")
        printed("resume", "--storage", "sqlite:///tea.db")
        study = stored("tea", "tea.db")
        assert (study.history.count(0), study.history.count(1) > 2) == (2, True)

    @pytest.mark.parametrize(
        ("budget", "shown"), [("100", "budget 100."), ("100s", "budget 100 s."), ("", "no budget")]
    )
    def test_costs_that_people_report_are_seconds_if_the_budget_is(self, folder: Path, budget: str, shown: str) -> None:
        (folder / "tea.yaml").write_text(f"{self.HAND}budget: {budget}\n" if budget else self.HAND)
        assert shown in printed("run", "tea.yaml")

    def test_a_worker_is_told_that_there_is_nothing_for_it(self, folder: Path) -> None:
        (folder / "tea.yaml").write_text(self.HAND)
        printed("run", "tea.yaml")
        told = refusal("worker", "--storage", "sqlite:///tea.db", "--idle", "0.01s")
        assert mentions(told, "'tea'", "--only", "--resources")

    def test_what_is_kept_elsewhere_is_named_without_its_secret(self, capsys: pytest.CaptureFixture[str]) -> None:
        study = Study({"x": [1, 2, 3]}, ["a", "b"], name="tea")
        url = "postgresql://ada:secret@host/studies"
        about = Report(url, "", str, PictureFile(Path("tea.png")), 0, manual=["a", "b"])
        report(study, about, ran=False)
        printed = capsys.readouterr().out
        assert "secret" not in printed
        assert "FLEXIBO_STORAGE" in printed


class TestMistakes:
    def test_a_file_with_mistakes_runs_nothing(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(STUDY_FILE.replace("budget", "budgte").replace("{kind}", "{knid}"))
        told = refusal("run", "study.yaml")
        assert mentions(told, "study.yaml:4:1:", "'budgte'", "'budget'")
        assert mentions(told, "{knid}", "'kind'")
        assert not (folder / "toy.db").exists()

    @pytest.mark.parametrize(
        ("arguments", "facts"),
        [
            (["run", "studdy.yaml"], ["studdy.yaml", "'study.yaml'"]),
            (["run", "studdy"], ["'studdy'", "'study.yaml'"]),
            (["run", "lennet"], ["'lennet'", "'lenet'", "xception"]),
            (["run", "qqqq"], ["'qqqq'", "study.yaml"]),
            (["run", "study.yaml", "--budget", "soon"], ["'soon'"]),
            (["run", "study.yaml", "--executor", "proceses"], ["'proceses'", "'processes'"]),
            (["run", "study.yaml", "--workers", "2"], ["--workers", "inline", "--executor processes"]),
            (["run", "study.yaml", "--only", "eror"], ["'eror'", "'error'"]),
            (["run", "study.yaml", "--out", "x.foo"], ["x.foo", ".png"]),
            (["resume", "--file", "study.yaml"], ["toy.db", "storage"]),
            (["worker", "--file", "study.yaml", "--system", "lenet"], ["--system", "--file"]),
        ],
    )
    def test_each_is_answered_with_a_sentence_and_nothing_is_measured(
        self, folder: Path, arguments: list[str], facts: list[str]
    ) -> None:
        assert mentions(refusal(*arguments), *facts)
        assert not (folder / "last").exists()

    def test_a_folder_without_study_files_is_told_of_init(self, folder: Path) -> None:
        (folder / "study.yaml").unlink()
        assert mentions(refusal("run", "nothing"), "'nothing'", "flexibo init")

    def test_other_options_in_the_file_are_another_study(self, folder: Path) -> None:
        printed("run", "study.yaml", "--budget", "30s")
        (folder / "study.yaml").write_text(STUDY_FILE.replace("to: 1000", "to: 2000"))
        outcome = call("run", "study.yaml")
        assert isinstance(outcome.exception, InvalidValueError)
        assert mentions(outcome.exception, "study.yaml", "x", "1000", "2000", "--yes")
        printed("run", "study.yaml", "--name", "wider", "--budget", "30s")
