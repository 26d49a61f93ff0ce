from __future__ import annotations

import numpy as np
import pytest
from tests.comparisons import run

from flexibo.compare.report._method_results import bootstrap_band, results_by_problem


def test_a_band_covers_the_mean_about_as_often_as_it_promises() -> None:
    errors = np.random.default_rng(0).normal(0.0, 1.0, (12, 4000))
    low, high = bootstrap_band(errors)
    assert 0.82 < np.mean((low <= 0) & (high >= 0)) < 0.92
    assert np.all(low <= errors.mean(axis=0))


def test_results_are_means_over_seeds_the_lowest_error_first() -> None:
    runs = [run("a", 0, error=0.4), run("a", 1, error=0.2), run("b", 0, error=0.1)]
    first, second = results_by_problem(runs, ["p"])["p"]
    assert (first.method, second.method) == ("b", "a")
    assert second.error_at(1.0) == pytest.approx(0.3)
    assert second.seeds == (0, 1)
    assert second.evaluations.tolist() == [20.0, 20.0]
    assert second.overhead_per_evaluation_s == pytest.approx(3 / 40)


def test_a_single_seed_has_no_width() -> None:
    (only,) = results_by_problem([run("a", 0)], ["p"])["p"]
    assert np.array_equal(only.low, only.high)
