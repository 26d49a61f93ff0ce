"""The page on study files names every key, and what it shows can be read."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from flexibo.study.stop_rules import RULES
from flexibo.studyfile import read_study_file
from flexibo.studyfile._executor import ARGUMENTS
from flexibo.studyfile._objectives import OBJECTIVE_KEYS
from flexibo.studyfile._options import OPTION_KEYS
from flexibo.studyfile.command import IMPOSSIBLE, NOT_RUN
from flexibo.studyfile.example import example_files
from flexibo.studyfile.file import KEYS

PAGE = (Path(__file__).parents[2] / "docs" / "study-file.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, flags=re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize(
    ("section", "keys"),
    [
        ("The study", KEYS),
        ("The study", RULES),
        ("Options", OPTION_KEYS),
        ("Objectives", OBJECTIVE_KEYS),
        ("Executor", ("name", *ARGUMENTS)),
    ],
)
def test_every_key_is_explained(section: str, keys: tuple[str, ...]) -> None:
    missing = [key for key in keys if not re.search(rf"(`|\b){re.escape(key)}(`|:)", SECTIONS[section])]
    assert not missing


def test_the_tables_explain_no_key_that_is_none() -> None:
    for section, known in (("The study", KEYS), ("Objectives", OBJECTIVE_KEYS)):
        rows = re.findall(r"^\| (`[a-z_`, ]+`) \|", SECTIONS[section], flags=re.MULTILINE)
        named = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
        assert named == set(known)


def test_the_exit_statuses_are_those_of_the_code() -> None:
    rows = dict(re.findall(r"^\| ([\d, ]+) \| (.*) \|$", PAGE, flags=re.MULTILINE))
    assert "impossible" in rows[str(IMPOSSIBLE)]
    assert "shell" in rows[", ".join(map(str, NOT_RUN))]


def test_the_example_of_the_page_is_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    example = next(block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "objectives:" in block)
    (tmp_path / "study.yaml").write_text(example)
    (tmp_path / "compress.py").write_text(example_files()["compress.py"])
    shown = read_study_file(tmp_path / "study.yaml")
    (tmp_path / "study.yaml").write_text(example_files()["study.yaml"])
    written = read_study_file(tmp_path / "study.yaml")
    sys.modules.pop("compress", None)
    assert shown.space == written.space
    assert shown.objectives == written.objectives
