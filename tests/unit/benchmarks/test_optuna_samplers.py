from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import optuna_samplers
from benchmarks.optuna_samplers import Result, run, store, stored, table


def test_a_study_has_an_error_and_a_time() -> None:
    result = run(("RandomSampler", "zdt2:finite=true", 1, 3))
    assert 0 < result.error <= 1
    assert result.seconds > 0


def test_results_are_stored_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    assert stored(path) == stored(None) == {}
    rows = [Result("a", "zdt1", 1, 0.25, 0.5), Result("b", "zdt1", 1, 1e-9, 0.125)]
    for row in rows:
        store(path, row)
    assert list(stored(path).values()) == rows


def test_the_table_compares_with_the_first_sampler() -> None:
    rows = [Result(name, "zdt1", seed, error, 0.5) for seed in (1, 2) for name, error in (("a", 0.1), ("b", 0.2))]
    shown = table(rows)
    assert [list(column.cells) for column in shown.columns] == [
        ["a", "b"],
        ["0.1000", "0.2000"],
        ["1", "2.00 (x/ 1.00)"],
        ["0.500", "0.500"],
    ]


def test_the_command_runs_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.csv"
    store(path, Result("RandomSampler", "zdt1", optuna_samplers.FIRST_SEED, 0.5, 0.1))
    arguments = ["--samplers", "RandomSampler", "--problems", "zdt1", "--seeds", "1", "--jobs", "1", "--csv", str(path)]
    optuna_samplers.main(arguments)
    assert "0.5000" in capsys.readouterr().out


def test_a_proposal_that_knows_many_trials_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    optuna_samplers.main(["--samplers", "RandomSampler", "--problems", "zdt1", "--known", "4"])
    assert "4 trials" in capsys.readouterr().out
