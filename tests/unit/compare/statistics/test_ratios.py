from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from flexibo.compare.runs import SHARES, Moment, Run
from flexibo.compare.statistics.errors import FLOOR
from flexibo.compare.statistics.ranking import ranking
from flexibo.compare.statistics.ratios import Ratio
from flexibo.errors import InvalidValueError


def run(problem: str, method: str, seed: int, error: float) -> Run:
    """A run whose error is the same at every moment."""
    return Run(problem, method, seed, tuple(Moment(share, share * 100, error, 0.0, (1, 1)) for share in SHARES))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def paired_ratio(
    ours: Mapping[int, float],
    other: Mapping[int, float],
    draw: np.random.Generator,
    *,
    level: float = 0.9,
    draws: int = 2000,
) -> Ratio:
    runs = [
        run("p", method, seed, error)
        for method, own in (("ours", ours), ("other", other))
        for seed, error in own.items()
    ]
    found = ranking(runs, 1.0, draw, ours="ours", level=level, draws=draws).complete
    return next(one.ratio for one in found if one.method == "other")


def test_a_ratio_is_of_means_over_the_seeds_that_both_have() -> None:
    ratio = paired_ratio({0: 0.1, 1: 0.3, 7: 9.0}, {0: 0.2, 1: 0.2, 8: 9.0}, rng())
    assert ratio.value == pytest.approx(1.0)
    assert ratio.seeds == 2
    # One of the two seeds is drawn each time: half or one and a half, 0.866 on geometric average, moved back twice.
    assert ratio.low == pytest.approx(0.5 / 0.75, rel=0.05)
    assert ratio.high == pytest.approx(1.5 / 0.75, rel=0.05)


def test_seeds_are_drawn_in_pairs() -> None:
    hard = {seed: 0.001 * 2**seed for seed in range(10)}
    ratio = paired_ratio({seed: 0.8 * error for seed, error in hard.items() if seed}, hard, rng())
    assert (ratio.low, ratio.value, ratio.high) == pytest.approx((0.8, 0.8, 0.8))
    assert ratio.significantly_better


def test_zero_errors_are_equal_and_nobody_wins() -> None:
    ratio = paired_ratio(dict.fromkeys(range(5), 0.0), dict.fromkeys(range(5), FLOOR / 2), rng())
    assert ratio == Ratio(1.0, 1.0, 1.0, 5)
    assert [
        ratio.significantly_better,
        ratio.significantly_worse,
        ratio.worse_by_margin,
        ratio.significantly_worse_by_margin,
    ] == [False] * 4


def test_one_seed_proves_nothing() -> None:
    ratio = paired_ratio({3: 0.9}, {3: 0.1}, rng())
    assert ratio.value == pytest.approx(9.0)
    assert (ratio.low, ratio.high) == (0.0, np.inf)
    assert ratio.worse_by_margin
    assert [ratio.significantly_better, ratio.significantly_worse, ratio.significantly_worse_by_margin] == [False] * 3


@pytest.mark.parametrize(("level", "draws"), [(0.0, 10), (1.0, 10), (90, 10), (0.9, 0)])
def test_senseless_intervals_are_refused(level: float, draws: int) -> None:
    with pytest.raises(InvalidValueError):
        paired_ratio({0: 0.1}, {0: 0.1}, rng(), level=level, draws=draws)


def test_losing_has_degrees() -> None:
    assert Ratio(1.04, 1.01, 1.06, 9).significantly_worse
    assert not Ratio(1.04, 1.01, 1.06, 9).worse_by_margin
    assert Ratio(1.2, 0.9, 1.5, 9).worse_by_margin
    assert not Ratio(1.2, 0.9, 1.5, 9).significantly_worse
    assert Ratio(1.2, 1.06, 1.5, 9).significantly_worse_by_margin
    assert not Ratio(1.2, 1.04, 1.5, 9).significantly_worse_by_margin
    assert Ratio(0.9, 0.8, 0.99, 9).significantly_better


def covered(sigma: tuple[float, float], problems: int, seeds: int, repeats: int) -> float:
    """How often the interval of a ranking holds the true ratio of log-normal errors with these deviations."""
    draw, true, hits = rng(5), np.exp((sigma[0] ** 2 - sigma[1] ** 2) / 2), 0
    for _ in range(repeats):
        shared = draw.standard_normal((problems, seeds))
        made = [np.exp(-2 + s * (shared + draw.standard_normal(shared.shape)) / np.sqrt(2)) for s in sigma]
        runs = [
            Run(f"p{p}", method, seed, (Moment(1.0, 1.0, float(values[p, seed]), 0.0, (1,)),))
            for method, values in zip("ab", made, strict=True)
            for p in range(problems)
            for seed in range(seeds)
        ]
        ratio = next(s.ratio for s in ranking(runs, 1.0, draw, ours="a", draws=300).complete if s.method == "b")
        hits += ratio.low <= true <= ratio.high
    return hits / repeats


@pytest.mark.parametrize(
    ("sigma", "problems", "seeds", "repeats", "least", "most"),
    [
        ((0.5, 0.5), 1, 10, 200, 0.80, 0.95),
        ((0.5, 0.5), 1, 3, 200, 0.66, 0.85),
        ((1.0, 0.5), 10, 10, 60, 0.76, 0.97),
    ],
)
def test_intervals_hold_the_truth_nearly_as_often_as_they_promise(
    sigma: tuple[float, float], problems: int, seeds: int, repeats: int, least: float, most: float
) -> None:
    assert least <= covered(sigma, problems, seeds, repeats) <= most
