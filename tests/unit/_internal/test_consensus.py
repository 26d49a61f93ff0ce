"""The mean and the common variance of values with error bars."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo._internal.consensus import consensus


@pytest.mark.parametrize("unbiased", [False, True])
def test_the_common_part_maximises_the_likelihood(unbiased: bool) -> None:
    rng = np.random.default_rng(0)
    own = np.exp(rng.normal(-1.0, 1.0, 30))
    y = 2.0 + rng.standard_normal(30) * np.sqrt(0.5 + own)
    mean, common = consensus(y, own, unbiased=unbiased)

    def loss(variance: float) -> float:
        weights = 1.0 / (own + variance)
        middle = weights @ y / weights.sum()
        restricted = 0.5 * np.log(weights.sum()) if unbiased else 0.0
        return float(0.5 * (weights @ (y - middle) ** 2 - np.log(weights).sum()) + restricted)

    assert loss(common) <= min(loss(common * 1.01), loss(common * 0.99))
    assert mean == pytest.approx(np.average(y, weights=1.0 / (own + common)), rel=1e-9)


def test_values_that_agree_within_their_error_bars_are_weighted_by_these_alone() -> None:
    y, own = np.array([1.0, 1.1, 0.9]), np.array([1.0, 4.0, 0.25])
    assert consensus(y, own, unbiased=True) == (pytest.approx(np.average(y, weights=1.0 / own)), 0.0)


def test_values_that_differ_far_more_than_their_error_bars_count_alike() -> None:
    assert consensus(np.array([0.0, 10.0]), np.array([1e-6, 1e-2]), unbiased=True)[0] == pytest.approx(5.0, abs=1e-3)


def test_a_value_with_an_endless_error_bar_changes_nothing() -> None:
    y, own = np.array([1.0, 2.0, 4.0]), np.array([0.1, 0.2, 0.1])
    far = consensus(np.append(y, 50.0), np.append(own, 1e30))
    assert far == pytest.approx(consensus(y, own), rel=1e-9)


def test_an_exact_value_decides_alone_if_the_others_agree_with_it() -> None:
    assert consensus(np.array([3.0, 3.5]), np.array([0.0, 1.0]))[0] == pytest.approx(3.0, abs=1e-6)
