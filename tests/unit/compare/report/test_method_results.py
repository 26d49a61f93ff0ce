from __future__ import annotations

import numpy as np
import pytest
from tests.comparisons import run

from flexibo.compare.report._method_results import ordered, results_by_problem, student_band
from flexibo.compare.statistics.errors import FLOOR


def test_a_band_covers_the_geometric_mean_as_often_as_it_promises() -> None:
    errors = np.exp(np.random.default_rng(0).normal(-3.0, 0.5, (12, 4000)))
    mean, low, high = student_band(errors)
    assert 0.88 < np.mean((low <= np.exp(-3.0)) & (high >= np.exp(-3.0))) < 0.92
    assert np.all((low <= mean) & (mean <= high))


def test_errors_are_floored_and_a_band_ends_at_one() -> None:
    mean, low, high = student_band(np.array([[0.0, 0.2], [FLOOR, 1.0]]))
    assert (mean[0], low[0], high[0]) == pytest.approx((FLOOR, FLOOR, FLOOR))
    assert high[1] == 1.0


def test_results_are_means_over_seeds_the_lowest_error_first() -> None:
    runs = [run("a", 0, error=0.4), run("a", 1, error=0.1), run("b", 0, error=0.1)]
    first, second = results_by_problem(runs, ["p"])["p"]
    assert (first.method, second.method) == ("b", "a")
    assert second.curves["confirmed"].at(1.0) == pytest.approx(0.2)
    assert second.seeds == (0, 1)
    assert second.evaluations.tolist() == [20.0, 20.0]
    assert second.overhead_per_evaluation_s == pytest.approx(3 / 40)


def test_a_measure_has_its_own_curve_at_its_own_shares() -> None:
    (only,) = results_by_problem([run("a", 0, error=0.4)], ["p"])["p"]
    assert set(only.curves) == {"confirmed", "model"}
    assert only.curves["model"].shares.tolist() == [0.0, 0.5, 1.0]
    assert only.curves["model"].at(0.75) == pytest.approx(0.2)
    assert {measure: len(front) for measure, front in only.fronts.items()} == {"confirmed": 4, "model": 2}
    assert ordered([only], "reported") == []


def test_a_single_seed_has_no_width() -> None:
    (only,) = results_by_problem([run("a", 0)], ["p"])["p"]
    assert np.array_equal(only.curves["confirmed"].low, only.curves["confirmed"].high)
