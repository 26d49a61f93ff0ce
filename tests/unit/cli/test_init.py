"""``flexibo init``."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import mentions
from typer.testing import CliRunner

from flexibo.cli import app
from flexibo.errors import FlexiBOError
from flexibo.studyfile import Command, Function, read_study_file
from flexibo.studyfile.example import example_files


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


class TestExample:
    def test_it_is_written_with_the_program_that_it_tunes(self, folder: Path) -> None:
        outcome = call("--yes")
        assert outcome.exit_code == 0
        assert names(folder) == {"study.yaml", "compress.py"}
        assert " flexibo run study.yaml\n" in outcome.stdout
        file = read_study_file("study.yaml")
        assert isinstance(file.measures["size_percent"], Command)
        assert isinstance(file.measures["milliseconds"], Function)
        sys.modules.pop("compress", None)

    def test_its_command_and_its_function_give_numbers(self, folder: Path) -> None:
        call("--yes")
        file = read_study_file("study.yaml")
        design = file.space.design({"method": "zlib", "level": 1, "chunk_kib": 64, "threads": 2})
        assert 5 < file.measures["size_percent"](design) < 60
        assert file.measures["milliseconds"](design) > 0
        sys.modules.pop("compress", None)

    def test_its_program_needs_nothing_but_python(self, folder: Path) -> None:
        call("--yes")
        arguments = ["--method", "bz2", "--level", "1", "--chunk-kib", "1024"]
        done = subprocess.run(
            [sys.executable, "-I", "compress.py", *arguments], capture_output=True, text=True, timeout=120, check=True
        )
        assert 5 < float(done.stdout.splitlines()[-1]) < 60

    def test_every_line_of_remarks_stays_within_120_columns(self) -> None:
        assert all(len(line) <= 120 for text in example_files().values() for line in text.splitlines())

    def test_without_a_terminal_it_is_written_and_said(self, folder: Path) -> None:
        outcome = call()
        assert outcome.exit_code == 0
        assert "--yes" in outcome.stdout
        assert (folder / "study.yaml").exists()

    def test_a_folder_is_made_and_a_file_may_have_another_name(self, folder: Path) -> None:
        assert " flexibo run new/one/study.yaml\n" in call("--yes", "new/one").stdout
        assert names(folder / "new" / "one") == {"study.yaml", "compress.py"}
        call("--yes", "other/mine.yml")
        assert names(folder / "other") == {"mine.yml", "compress.py"}
        assert "flexibo run mine.yml" in (folder / "other" / "mine.yml").read_text()

    @pytest.mark.parametrize("there", ["study.yaml", "compress.py"])
    def test_nothing_is_replaced_unless_forced(self, folder: Path, there: str) -> None:
        (folder / there).write_text("mine")
        outcome = call("--yes")
        assert isinstance(outcome.exception, FlexiBOError)
        assert mentions(outcome.exception, there, "--force")
        assert names(folder) == {there}
        assert (folder / there).read_text() == "mine"
        assert call("--yes", "--force").exit_code == 0
        assert (folder / there).read_text() != "mine"

    def test_a_file_where_the_folder_should_be_is_said(self, folder: Path) -> None:
        (folder / "taken").write_text("")
        outcome = call("--yes", "taken")
        assert isinstance(outcome.exception, FlexiBOError)
        assert mentions(outcome.exception, "taken", "folder")


class TestReference:
    def test_it_is_the_page_on_study_files_without_its_links(self) -> None:
        page = (Path(__file__).parents[3] / "docs" / "study-file.md").read_text(encoding="utf-8")
        outcome = call("--reference")
        assert outcome.exit_code == 0
        assert outcome.stdout == re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", page), (
            "src/flexibo/studyfile/example/reference.txt must be a link to docs/study-file.md"
        )
        assert "\n| `options` |" in outcome.stdout

    def test_it_writes_nothing(self, folder: Path) -> None:
        call("--reference")
        assert not names(folder)

    def test_files_that_init_writes_refer_to_it(self, folder: Path) -> None:
        call("--yes")
        assert "flexibo init --reference" in (folder / "study.yaml").read_text()
