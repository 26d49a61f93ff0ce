from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.coverage import PROBLEMS, Tally, coverage, main, resampled, runs_of, simulated
from tests.comparisons import run

from flexibo.compare.runs import write_runs
from flexibo.compare.statistics.ratios import Ratio


def test_an_interval_is_counted_as_holding_the_truth_or_on_one_side_of_it() -> None:
    tally = Tally()
    for ratio, truth in ((Ratio(1, 0.5, 2, 3), 0.0), (Ratio(1, 0.5, 0.9, 3), 0.0), (Ratio(3, 2.0, 4.0, 3), 0.0)):
        tally.add(ratio, truth)
    assert (tally.held, tally.below, tally.above) == (1, 1, 1)


def test_a_certain_ratio_is_held_and_the_best_other_is_the_truly_best() -> None:
    logs = np.broadcast_to(np.log([[[0.2]], [[0.4]], [[0.1]]]), (3, 2, 5))
    fixed, best = coverage(iter([(logs, logs.mean(axis=2))]))
    assert (fixed.held, best.held) == (1, 1)


def test_slow_others_have_three_seeds() -> None:
    runs = runs_of(np.zeros((4, 2, 5)), few=1)
    seeds = {
        method: [run.seed for run in runs if (run.method, run.problem) == (method, "p01")]
        for method in ("ours", "m02", "m03")
    }
    assert seeds == {"ours": [0, 1, 2, 3, 4], "m02": [0, 1, 2, 3, 4], "m03": [0, 1, 2]}


def test_simulated_errors_are_errors() -> None:
    rng = np.random.default_rng(0)
    errors = np.exp(simulated("one in four perfect", PROBLEMS, rng)(6, rng))
    assert errors.shape == (13, PROBLEMS, 6)
    assert errors.min() >= 1e-3 * (1 - 1e-9)
    assert errors.max() <= 1.0


def test_seeds_are_drawn_from_a_table_of_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [run(method, seed, name) for method in ("flexibo", "a", "b") for seed in range(4) for name in ("p", "q")]
    write_runs(tmp_path / "results.csv", tmp_path / "fronts.csv", runs)
    table, problems = resampled([tmp_path / "results.csv"], "flexibo")
    assert table.shape == (3, 2, 4)
    assert problems == ["p", "q"]
    assert main([str(tmp_path / "results.csv"), "--repeats", "4"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
