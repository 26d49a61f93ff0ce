"""Commands that are printed for users to copy."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from flexibo import Study
from flexibo.cli._advice import StudyPlace, granted_budget

SECRET = "postgresql://ada:secret@host/studies"


def test_a_study_that_needed_no_options_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEXIBO_STORAGE", "sqlite:///study.db")
    assert StudyPlace.typed("sqlite:///study.db", "").command("front") == "flexibo front"


def test_words_are_quoted_and_paths_are_short(tmp_path: Path) -> None:
    place = StudyPlace(f"sqlite:///{tmp_path / 'a b.db'}", "o'clock")
    assert place.command("ask", options={"--only": "a b"}) == (
        "flexibo ask --storage 'sqlite:///a b.db' --name 'o'\"'\"'clock' --only 'a b'"
    )


def test_a_password_is_left_to_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = StudyPlace(SECRET).command("resume")
    assert "secret" not in shown
    assert "FLEXIBO_STORAGE" in shown
    monkeypatch.setenv("FLEXIBO_STORAGE", SECRET)
    assert StudyPlace(SECRET).command("resume") == "flexibo resume"


class TestStudyFile:
    @staticmethod
    def origin(path: Path, content: str = "name: toy\n") -> dict[str, str]:
        return {"study_file": str(path), "sha256": hashlib.sha256(content.encode()).hexdigest()}

    def test_it_is_named_once_it_has_changed(self, tmp_path: Path) -> None:
        path = tmp_path / "my study.yaml"
        path.write_text("name: toy\n")
        place = StudyPlace(origin=self.origin(path))
        assert place.measuring("confirm", "3") == "flexibo confirm 3"
        path.write_text("name: toy\n# a remark\n")
        assert place.measuring("confirm", "3") == "flexibo confirm 3 --file 'my study.yaml'"
        assert place.command("front") == "flexibo front"

    @pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
    def test_a_file_that_others_may_write_is_not_proposed(self, tmp_path: Path) -> None:
        path = tmp_path / "study.yaml"
        path.write_text("name: toy\n# a remark\n")
        os.chmod(path, 0o666)
        assert StudyPlace(origin=self.origin(path)).measuring("resume") == "flexibo resume"

    @pytest.mark.parametrize("path", ["/nowhere/study.yaml", "study.yaml", "\0"])
    def test_a_file_that_is_not_there_is_not_proposed(self, path: str) -> None:
        place = StudyPlace(origin={"study_file": path, "sha256": "0"})
        assert place.measuring("resume") == "flexibo resume"


def test_a_budget_is_proposed_if_what_is_left_does_not_pay() -> None:
    history = Study({"x": [1, 2]}, ["a", "b"], budget=10).history
    assert granted_budget(5.0, history) == {}
    assert granted_budget(20.0, history) == {"--budget": "40"}
    assert granted_budget(20.0, Study({"x": [1, 2]}, ["a", "b"]).history) == {}
