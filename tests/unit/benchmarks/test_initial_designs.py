from __future__ import annotations

import pytest
from benchmarks.initial_designs import FULL, SHARES, Result, changes, run, table


def test_both_starts_have_the_same_money(capsys: pytest.CaptureFixture[str]) -> None:
    own, full = (run("lenet-h200", 1000, 14.0, n_initial) for n_initial in (None, FULL))
    assert own.start <= 0.21 < full.start
    assert len(own.errors) == len(full.errors) == len(SHARES)
    assert list(own.errors) == sorted(own.errors, reverse=True)


def test_the_table_shows_geometric_means_of_ratios() -> None:
    results = [
        Result("p", seed, 10.0, n_initial, errors, errors, start)
        for seed, n_initial, errors, start in (
            (0, None, (0.1, 0.2, 0.0), 0.1),
            (0, FULL, (0.4, 0.2, 0.0), 0.5),
            (1, None, (0.1, 0.2, 0.0), 0.2),
            (1, FULL, (0.1, 0.2, 0.0), 0.7),
        )
    ]
    shown = [list(column.cells) for column in table(results).columns]
    assert [cells[0] for cells in shown] == ["p", "10", "0.50", "1.00", "1.00", "15%", "60%"]


def test_a_change_is_judged_seed_by_seed_with_both_references() -> None:
    before = [Result("p", seed, 10.0, None, (0.4, 0.4, 0.4), (0.8, 0.8, 0.8), 0.2) for seed in (0, 1)]
    after = [Result("p", seed, 10.0, None, (0.2, 0.4, 0.8), (0.8, 0.2, 0.8), 0.2) for seed in (0, 1, 2)]
    rows = list(zip(*(column.cells for column in changes(before, after).columns), strict=True))
    assert [cell[:4] for cell in rows[0][3:]] == ["0.50", "1.00", "2.00"]
    assert [row[0] for row in rows] == ["p", "all"] * 2
    assert [cell[:4] for cell in rows[2][3:]] == ["1.00", "0.25", "1.00"]
