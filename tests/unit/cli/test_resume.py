"""``flexibo resume`` of studies from files."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import (
    STUDY_FILE,
    call,
    good,
    mentions,
    offered,
    printed,
    refusal,
)

from flexibo import Study
from flexibo.errors import SettingsDifferError
from flexibo.history.events import Noted
from flexibo.storage import open_storage
from flexibo.storage.base import Content
from flexibo.studyfile import read_study_file

pytestmark = pytest.mark.usefixtures("folder")


def stored(name: str | None = "toy", file: str = "toy.db") -> Study:
    return Study.load(f"sqlite:///{file}", name)


def begin(**settings: Any) -> None:
    """Store the study of the file, of which nothing is measured yet."""
    read_study_file("study.yaml").study(**settings).close()


class TestResume:
    def test_it_goes_on_from_the_file_that_the_study_names(self) -> None:
        printed("run", "study.yaml", "--budget", "30s", "--method", "random-coupled")
        before = len(stored().history.measurements)
        shown = printed("resume", "--budget", "50s")
        assert len(stored().history.measurements) > before
        assert stored().method.name == "random-coupled"
        assert "flexibo resume --storage sqlite:///toy.db --name toy --budget 100s" in shown
        assert json.loads(call("resume", "--json").stdout)["study"] == "toy"

    @pytest.mark.variant
    def test_a_share_that_may_be_missed_is_added_to_the_stored_stop_rules(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(STUDY_FILE + "stop: {max_evaluations: 90}\n")
        printed("run", "study.yaml", "--budget", "40s")
        shown = printed("resume", "--budget", "400s", "--certified-error", "99.9%")
        assert stored().stop == {"max_evaluations": 90, "certified_error": 0.999}
        assert mentions(shown, "certified", "99.9 %")
        assert stored().spent < 400

    def test_a_study_that_has_asked_enough_names_the_option_that_allows_more(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(STUDY_FILE + "stop: {max_evaluations: 6}\n")
        assert mentions(printed("run", "study.yaml"), "max_evaluations", "flexibo run study.yaml --max-evaluations 12")
        shown = printed("resume", "--budget", "100s")
        assert mentions(shown, "6", "max_evaluations", "flexibo resume", "--max-evaluations 12")
        printed("resume", "--budget", "100s", "--max-evaluations", "8")
        assert stored().stop == {"max_evaluations": 8}
        assert len(stored().history.asked) == 8

    def test_a_lower_limit_and_one_that_is_reached_are_said(self, folder: Path) -> None:
        printed("run", "study.yaml", "--max-evaluations", "6")
        for command in (["resume"], ["run", "study.yaml"]):
            shown = printed(*command, "--max-evaluations", "4")
            assert mentions(shown, "6 evaluations")
            assert shown.count("max_evaluations allows") == 1
        assert mentions(printed("resume", "--max-evaluations", "3"), "max_evaluations", "4", "3")
        assert len(stored().history.asked) == 6

    def test_a_stop_rule_that_was_typed_stays_when_the_study_goes_on(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(STUDY_FILE + "stop: {max_evaluations: 90}\n")
        printed("run", "study.yaml", "--budget", "30s", "--certified-error", "1%")
        printed("resume", "--budget", "40s")
        assert stored().stop == {"max_evaluations": 90, "certified_error": 0.01}

    def test_a_file_that_was_named_may_have_changed_and_leaves_a_note(self, folder: Path) -> None:
        begin(budget=30)
        (folder / "study.yaml").write_text(STUDY_FILE + "# a remark\n")
        assert mentions(refusal("resume", "--budget", "50s"), "study.yaml", "has changed", "'toy'", "--file")
        assert stored().budget == 30
        for _ in range(2):
            shown = printed("resume", "--budget", "30s", "--file", "study.yaml")
            assert mentions(shown, "study.yaml", "has changed")
        notes = [event for event in stored().events if isinstance(event, Noted)]
        assert len(notes) == 1
        assert stored().history.measurements

    def test_every_command_that_is_offered_after_the_file_has_changed_can_be_typed(self, folder: Path) -> None:
        begin(budget=40)
        (folder / "study.yaml").write_text(STUDY_FILE + "# a remark\n")
        again = offered(refusal("resume", "--budget", "50s"), "resume")
        assert again == ["resume", "--budget", "50s", "--file", "study.yaml"]
        shown = printed(*again)
        assert mentions(shown, "flexibo resume", "--file study.yaml")
        for command in (["worker", "--idle", "0.01s"], ["confirm", "--name", "toy"]):
            again = offered(refusal(*command), command[0])
            assert again == [*command, "--file", "study.yaml"]
            call(*again)
        assert offered(good("enqueue", "x=7", "kind=plain", "--budget", "100s"), "resume")[1:] == [
            "--file",
            "study.yaml",
        ]

    def test_a_study_of_a_program_has_no_file(self) -> None:
        Study({"x": [1, 2, 3]}, ["error", "joules"], storage="sqlite:///p.db", name="p").close()
        assert mentions(refusal("resume", "--storage", "sqlite:///p.db"), "'p'", "Study.load(", "--functions")

    @pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
    def test_a_file_that_everybody_may_write_is_not_run_unasked(self, folder: Path) -> None:
        begin(budget=30)
        os.chmod(folder / "study.yaml", 0o666)
        assert mentions(refusal("resume", "--budget", "50s"), "study.yaml", "written by others", "--file")
        printed("resume", "--budget", "30s", "--file", "study.yaml")

    def test_a_file_that_is_gone_must_be_named(self, folder: Path) -> None:
        begin(budget=30)
        (folder / "study.yaml").rename(folder / "moved.yaml")
        assert mentions(refusal("resume", "--budget", "50s"), "'toy'", "study.yaml", "not found", "--file")
        printed("resume", "--budget", "30s", "--file", "moved.yaml")

    @pytest.mark.parametrize(
        "command", [("resume",), ("resume", "--quiet"), ("confirm",), ("worker", "--idle", "0.01s")]
    )
    def test_a_copy_in_another_folder_says_whose_commands_run_and_how_to_run_its_own(
        self, folder: Path, command: tuple[str, ...]
    ) -> None:
        (folder / "first").mkdir()
        for name in ("study.yaml", "board.py"):
            (folder / name).rename(folder / "first" / name)
        printed("run", "first/study.yaml", "--seed", "2")
        shutil.copytree("first", "second")
        where = ("--storage", f"sqlite:///{folder}/second/toy.db")
        budget = () if command[0] == "worker" else ("--budget", "70s")
        if not budget:
            with Study.load(where[1]) as study:
                study.budget = 70.0
        outcome = call(*command, *where, *budget)
        assert outcome.exit_code == 0
        file = folder / "first" / "study.yaml"
        assert mentions(outcome.output, folder / "second", file, folder / "first", "--file second/study.yaml")
        sys.modules.pop("board")  # another process would not have it
        again = call("resume", *where, "--budget", "80s", "--file", "second/study.yaml")
        assert again.exit_code == 0
        assert not mentions(again.output, file)

    def test_a_study_beside_its_file_says_nothing_of_folders(self, folder: Path) -> None:
        begin(budget=30)
        assert not mentions(call("resume", "--budget", "50s").stderr, folder)
        printed("backup", "toy.db", "copy.db")
        assert not mentions(call("resume", "--storage", "sqlite:///copy.db", "--budget", "60s").stderr, folder)


class TestTrust:
    """Whoever can write to the database chooses no commands."""

    def changed(self, **origin: Any) -> None:
        """A copy of the study whose first event says something else of its origin."""
        events = [dict(event) for event in open_storage("sqlite:///toy.db", "toy").read()]
        events[0]["origin"] = origin
        for file in Path.cwd().glob("toy.db*"):
            file.unlink()
        contents: list[Content] = list(events)
        open_storage("sqlite:///toy.db", "toy").commit(0, lambda _: contents)

    def test_commands_in_the_database_are_never_run(self, folder: Path) -> None:
        begin()
        evil = {"command": "touch evil; echo 1", "function": "board:joules", "objectives": {"error": "touch evil"}}
        self.changed(**evil, study_file=str(folder / "nowhere.yaml"), sha256="0" * 64)
        assert mentions(refusal("resume", "--budget", "50s"), "nowhere.yaml", "not found", "--file")
        self.changed(**evil)
        assert mentions(refusal("resume", "--budget", "50s"), "'toy'", "Study.load(", "--functions")
        assert not (folder / "evil").exists()

    def test_another_file_of_another_study_is_not_run(self, folder: Path) -> None:
        begin()
        other = folder / "other.yaml"
        other.write_text(STUDY_FILE.replace("to: 1000", "to: 9000").replace("echo {x}", "touch evil; echo {x}"))
        import hashlib

        self.changed(study_file=str(other), sha256=hashlib.sha256(other.read_bytes()).hexdigest())
        outcome = call("resume", "--budget", "50s")
        assert isinstance(outcome.exception, SettingsDifferError)
        assert mentions(outcome.exception.difference, "'toy'", "space", "x")
        assert not (folder / "evil").exists()

    @pytest.mark.parametrize("path", ["study.yaml", "", "\0", "/dev/zero", "/", "x" * 5000])
    def test_a_path_that_is_none_is_not_followed(self, folder: Path, path: str) -> None:
        begin()
        self.changed(study_file=path, sha256="0" * 64)
        assert mentions(refusal("resume", "--budget", "50s"), "'toy'", "not found", "--file")

    @pytest.mark.parametrize("origin", [{"study_file": 3, "sha256": 4}, {"study_file": ["a"]}, {"sha256": "x"}])
    def test_an_origin_of_the_wrong_shape_is_no_file(self, origin: dict[str, Any]) -> None:
        begin()
        self.changed(**origin)
        assert mentions(refusal("resume", "--budget", "50s"), "'toy'", "Study.load(", "--functions")
