"""Commands to copy: what the shell makes of them is what was meant, and unsafe names have none."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from flexibo.dashboard.commands import VARIABLE, copyable_commands

FILE = {"study_file": "/tmp/$(touch pwned).yaml", "sha256": "0"}


@pytest.mark.parametrize("name", ["net", "a b", "$(touch pwned)", "`id`;'\"&|>x", "-rf", "--json", "é\u4e2d"])
def test_the_shell_reads_names_as_they_are(name: str) -> None:
    found = copyable_commands("sqlite:////data/my studies/$HOME.db", name, FILE)
    words = shlex.split(f"{found['begin']['resume']} {found['end']}")
    expected = ["flexibo", "resume", "--storage", "sqlite:////data/my studies/$HOME.db", "--name", name]
    assert words == expected
    assert "pwned).yaml" not in str(found), "nothing of what others stored becomes a part of a command"


@pytest.mark.parametrize("name", ["a\nrm -rf", "\x1b[201~", "\u202egnp", "tab\t", "\x7f"])
def test_names_that_could_harm_a_terminal_have_no_commands(name: str) -> None:
    found = copyable_commands("sqlite:///study.db", name, FILE)
    assert found["begin"] == {}
    assert name not in str(found)
    assert found["said"]


def test_a_relative_file_is_named_by_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"sqlite:///{tmp_path}/study.db" in copyable_commands("sqlite:///study.db", "net", {})["end"]


@pytest.mark.parametrize("path", ["../study.db", "{folder}/inner/../study.db", "link/../study.db"])
def test_a_file_above_is_named_without_dots(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "inner" / "link").symlink_to(tmp_path / "other")
    monkeypatch.chdir(tmp_path / "inner")
    found = copyable_commands(f"sqlite:///{path.format(folder=tmp_path)}", "net", {})["end"]
    assert shlex.split(found)[1] == f"sqlite:///{tmp_path.resolve()}/study.db"


def test_passwords_are_not_part_of_commands() -> None:
    found = copyable_commands("postgresql://ada:secret@board/studies", "net", FILE)
    assert "secret" not in str(found)
    assert "--storage" not in found["end"]
    assert VARIABLE in found["said"]


def test_a_study_of_a_program_is_not_resumed_from_the_shell_but_can_be_confirmed_later() -> None:
    found = copyable_commands("sqlite:///study.db", "net", {"cost_unit": "s"})
    assert found["begin"]["resume"] is None
    assert "--later" in found["begin"]["confirm"]
    assert found["said"]
