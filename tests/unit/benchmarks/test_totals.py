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
    layers, functions = (
        rows["lenet-h200", "error_percent"],
        [own for key, own in rows.items() if key[0] != "lenet-h200"],
    )
    assert float(layers[1]) > float(layers[0])
    assert all(before == after for before, after in functions)
