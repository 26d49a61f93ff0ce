"""``flexibo demo``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flexibo.cli import app


@pytest.mark.slow
def test_the_demo_prints_its_front_and_saves_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "front.png"
    command = [sys.executable, "-m", "flexibo", "demo", "--budget", "10", "--out", str(picture)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    assert "Pareto front" in result.stdout
    assert picture.stat().st_size > 10_000


def test_the_demo_ends_with_the_status_of_an_interruption(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from flexibo.optimizer import StopKind
    from flexibo.study import Study

    def stop(self: Study, *_: object, **__: object) -> None:
        self.record_stop(StopKind.INTERRUPTED, "Interrupted; what was measured is kept.")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Study, "run", stop)
    outcome = CliRunner().invoke(app, ["demo"], env={"COLUMNS": "200"})
    assert outcome.exit_code == 130, (outcome.output, outcome.exception)
    assert "flexibo resume" not in outcome.stdout
    assert not list(tmp_path.iterdir())
