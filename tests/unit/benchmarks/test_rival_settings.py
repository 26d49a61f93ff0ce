from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import rival_settings
from benchmarks.rival_settings import CHOICES, WITH, WITHOUT, main
from tests.unit.compare.made_runs import made

from flexibo.compare.rivals import RIVALS
from flexibo.compare.runs import Run, Task, read_runs
from flexibo.compare.suites import DEVELOPMENT_PROBLEMS


def test_settings_are_tried_on_development_problems_only() -> None:
    assert CHOICES.keys() <= RIVALS.keys()
    for choice in CHOICES.values():
        assert {*choice.problems} <= {*DEVELOPMENT_PROBLEMS}
        assert {*choice.made} == {WITH, WITHOUT}


def test_the_table_has_errors_with_the_setting_over_those_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fake(task: Task, *, rival: str) -> Run:
        problem, way, seed = task
        return replace(made(problem, way, seed, error=0.2 if way == WITH else 0.8), fronts={})

    monkeypatch.setattr(rival_settings, "made", fake)
    out = tmp_path / "runs.csv"
    command = ["optuna-gp", "--problems", "lenet-h200", "--seeds", "2", "--jobs", "1", "--out", str(out)]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "| the pool is scored | confirmed | lenet-h200 | 2 | 0.25 (0.25 to 0.25) |" in shown
    assert len(read_runs(out)) == 4
    monkeypatch.setattr(rival_settings, "made", dict)  # fails if it is called; all runs are in the file
    assert main(command) == 0
    assert capsys.readouterr().out == shown
