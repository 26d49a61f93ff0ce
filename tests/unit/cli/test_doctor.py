"""``flexibo doctor``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests import command_line
from tests.command_line import HOSTILE

from flexibo.cli import _doctor_checks as checks
from flexibo.cli._doctor_findings import Finding
from flexibo.cli.doctor import _failed, _lines
from flexibo.errors import UnknownNameError


def call(*arguments: object) -> Any:
    """The outcome of a doctor that is patient, as on a crowded machine."""
    return command_line.call("doctor", "--limit", "300s", *arguments)


@pytest.fixture(autouse=True)
def _quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No session left settings, and what takes seconds on a real machine is quick."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(checks, "_TORCH", "print('torch sees no GPU')")


class TestReport:
    def test_everything_is_looked_at_and_nothing_that_is_missing_is_a_failure(self) -> None:
        outcome = call()
        assert outcome.exit_code == 0, (outcome.output, outcome.exception)
        headings = [line for line in outcome.stdout.splitlines() if re.fullmatch(r"[A-Z]\w+", line)]
        assert headings == [
            *("Python", "Packages", "Extras", "Meters", "GPUs", "Databases", "Clusters", "Browser", "Data", "Knobs")
        ]
        assert max(map(len, outcome.stdout.splitlines())) <= 80
        assert re.search(r"✓ numpy +\d", outcome.stdout)

    def test_a_program_reads_the_same(self) -> None:
        outcome = call("--json")
        assert (outcome.exit_code, outcome.stderr) == (0, "")
        report = json.loads(outcome.stdout)
        assert (report["good"], report["failed"]) == (True, [])
        names = [one["name"] for one in report["findings"]]
        assert {"python", "numpy", "plot", "rapl-meter", "gpu", "sqlite", "storage", "browser", "knobs"} <= set(names)
        assert len(names) == len(set(names))
        assert {one["state"] for one in report["findings"]} <= {"good", "absent", "wrong"}

    def test_what_is_needed_decides_the_status(self) -> None:
        present = [Finding("Extras", "plot", "good", ""), Finding("Meters", "rapl-meter", "absent", "")]
        assert _failed(present, {"plot"}) == []
        assert _failed(present, {"plot", "rapl-meter"}) == ["rapl-meter"]
        assert _failed([Finding("Packages", "numpy", "wrong", "")], set()) == ["numpy"]
        assert call("--need", "sqlite").exit_code == 0
        outcome = call("--need", "sqlite,data")
        assert outcome.exit_code == 1
        assert outcome.stdout.splitlines()[-1].endswith(": data.")
        assert json.loads(call("--need", "sqlite,data", "--json").stdout)["failed"] == ["data"]

    def test_an_unknown_need_is_a_mistake(self) -> None:
        outcome = call("--need", "plott")
        assert isinstance(outcome.exception, UnknownNameError)
        assert command_line.mentions(outcome.exception, "'plott'", "'plot'")

    def test_what_others_wrote_is_only_text(self) -> None:
        finding = Finding("Data", "data", "wrong", f"{HOSTILE} is no folder", f"mkdir {HOSTILE}")
        assert all("\x1b" not in line for line in _lines([finding], [], 80))
