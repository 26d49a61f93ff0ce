from __future__ import annotations

import re
from pathlib import Path

import pytest

from flexibo import Study

ROOT = Path(__file__).parents[2]


def python_blocks(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_every_python_block_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = python_blocks(ROOT / "docs" / "guide.md")
    assert len(blocks) >= 6
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/guide.md", "exec"), names)
    assert "The budget is spent" in capsys.readouterr().out


def test_every_python_block_about_parallel_studies_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = python_blocks(ROOT / "docs" / "parallel.md")
    assert len(blocks) == 4
    names: dict[str, object] = {"__name__": "an_example"}
    for block in blocks:
        exec(compile(block, "docs/parallel.md", "exec"), names)
    out = capsys.readouterr().out
    assert "spent        900 of 900" in out or "spent        8" in out
    assert Study.load("sqlite:///lenet.db", "lenet").budget == 1200


def test_the_ten_lines_of_the_readme_run() -> None:
    ten, by_hand = python_blocks(ROOT / "README.md")
    names: dict[str, object] = {}
    exec(compile(ten, "README.md", "exec"), names)
    study = names["study"]
    assert isinstance(study, Study)
    assert 20 < len(study.trace()) <= 60
    assert study.front()
    fresh = Study(study.space, study.objectives, budget=1200, seed=0)
    exec(compile(by_hand, "README.md", "exec"), names | {"study": fresh, "value": 1.0, "seconds": 50.0})
    assert 500 <= fresh.spent <= 1200


def test_the_paper_map_names_files_that_exist() -> None:
    text = (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")
    for name in re.findall(r"`(tests/[\w/]+\.py)`", text):
        assert (ROOT / name).is_file(), name
    for name in re.findall(r"`([\w/]+\.py)[:`]", text):
        assert any((ROOT / base / name).is_file() for base in ("src/flexibo", ".")), name
