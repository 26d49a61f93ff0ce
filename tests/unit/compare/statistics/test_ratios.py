from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from flexibo.compare.statistics.errors import FLOOR
from flexibo.compare.statistics.ratios import Ratio, interval_of_mean, log_ratios, mean_ratio
from flexibo.errors import InvalidValueError


def test_errors_are_compared_seed_by_seed_and_floored() -> None:
    logs = log_ratios({0: 0.1, 1: 0.4, 7: 0.9}, {0: 0.2, 1: 0.1, 8: 0.9})
    assert logs == {0: pytest.approx(math.log(0.5)), 1: pytest.approx(math.log(4.0))}
    assert log_ratios({0: 0.0}, {0: FLOOR / 2}) == {0: 0.0}


def test_on_one_problem_the_interval_is_students() -> None:
    drawn = np.random.default_rng(0).normal(-0.3, 0.5, 10)
    ratio = mean_ratio([dict(enumerate(drawn.tolist()))])
    low, high = stats.t.interval(0.9, 9, loc=drawn.mean(), scale=drawn.std(ddof=1) / math.sqrt(10))
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx(
        (math.exp(drawn.mean()), math.exp(low), math.exp(high))
    )
    assert ratio.seeds == 10


def test_over_problems_the_seeds_are_the_sample() -> None:
    table = np.random.default_rng(1).normal(0.0, 1.0, (5, 8))
    table += 3.0 * np.random.default_rng(2).normal(0.0, 1.0, 8)  # a seed that is lucky on one problem is on all
    mean, half = interval_of_mean([dict(enumerate(row)) for row in table.tolist()], 0.9)
    seeds = table.mean(axis=0)
    assert mean == pytest.approx(seeds.mean())
    assert half == pytest.approx(stats.t.ppf(0.95, 7) * seeds.std(ddof=1) / math.sqrt(8))


def test_the_problem_with_the_fewest_seeds_decides_how_sure_one_is() -> None:
    many, few = dict.fromkeys(range(10), 0.0) | {0: 1.0}, {0: 0.5, 1: -0.5}
    _, wide = interval_of_mean([many, few], 0.9)
    _, narrow = interval_of_mean([many, many], 0.9)
    assert wide > 3 * narrow
    assert mean_ratio([many, few]).seeds == 2


def test_seeds_that_agree_leave_no_doubt() -> None:
    ratio = mean_ratio([dict.fromkeys(range(4), math.log(0.8))])
    assert (ratio.low, ratio.value, ratio.high) == pytest.approx((0.8, 0.8, 0.8))
    assert ratio.standing == "ahead"
    assert mean_ratio([dict.fromkeys(range(5), 0.0)]) == Ratio(1.0, 1.0, 1.0, 5)


def test_one_seed_proves_nothing() -> None:
    ratio = mean_ratio([{3: math.log(9.0)}])
    assert (ratio.low, ratio.high, ratio.standing) == (0.0, math.inf, "undecided")
    assert ratio.value == pytest.approx(9.0)


def test_the_lower_end_may_be_of_other_ratios() -> None:
    logs, lower = {0: 0.4, 1: 0.6, 2: 0.5}, {0: 0.2, 1: 0.4, 2: 0.3}
    both = mean_ratio([logs], lower=[lower])
    assert (both.value, both.high) == (mean_ratio([logs]).value, mean_ratio([logs]).high)
    assert both.low == mean_ratio([lower]).low
    assert mean_ratio([lower], lower=[logs]) == mean_ratio([lower])


@pytest.mark.parametrize("level", [0.0, 1.0, 90])
def test_senseless_levels_are_refused(level: float) -> None:
    with pytest.raises(InvalidValueError):
        mean_ratio([{0: 0.1}], level=level)


@pytest.mark.parametrize(
    ("low", "high", "standing"),
    [(0.8, 0.99, "ahead"), (1.01, 1.06, "behind"), (0.9, 1.5, "undecided"), (1.0, 1.0, "undecided")],
)
def test_words_follow_from_the_interval(low: float, high: float, standing: str) -> None:
    assert Ratio(1.0, low, high, 9).standing == standing


def test_an_interval_of_skewed_ratios_holds_the_truth_as_often_as_it_says() -> None:
    draw = np.random.default_rng(5)
    hits = []
    for _ in range(400):
        logs = draw.exponential(1.0, 10) - 1.0 + draw.normal(0.0, 0.5, 10)
        mean, half = interval_of_mean([dict(enumerate(logs.tolist()))], 0.9)
        hits.append(abs(mean) <= half)
    assert 0.84 <= np.mean(hits) <= 0.94
