"""What it gives that designs share a training."""

from __future__ import annotations

import pytest
from benchmarks import reuse


def test_studies_with_and_without_shared_trainings_end_at_the_same_budget_with_other_fronts() -> None:
    errors = [reuse.missed(("lenet-h200-curves", 0, 100.0, reuses)) for reuses in (True, False)]
    assert all(0.0 < error < 1.0 for error in errors)
    assert errors[0] != errors[1]


def test_a_table_has_a_row_for_each_system(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(reuse, "BUDGETS", {"lenet": 80, "resnet": 90})
    monkeypatch.setattr("sys.argv", ["reuse", "--seeds", "1", "--jobs", "1"])
    reuse.main()
    shown = capsys.readouterr().out
    assert "lenet" in shown
    assert "resnet" in shown
