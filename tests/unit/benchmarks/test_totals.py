from __future__ import annotations

import pytest
from benchmarks import totals


def test_totals_tell_more_about_a_stack_of_four_layers_and_nothing_where_there_is_no_family(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(totals, "DRAWS", 1)
    monkeypatch.setattr(totals, "COUNTS", (12,))
    monkeypatch.setenv("COLUMNS", "120")
    assert totals.main(["--problems", "lenet-h200,branin-currin"]) == 0
    rows = {tuple(line.split()[1:4:2]): line.split()[7:10:2] for line in capsys.readouterr().out.splitlines()[4:-1]}
    without, with_totals = map(float, rows["lenet-h200", "error_percent"])
    assert with_totals > without
    functions = [own for (problem, _), own in rows.items() if problem == "branin-currin"]
    assert len(functions) == 2
    assert all(before == after for before, after in functions)
