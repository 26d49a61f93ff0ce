"""Ratio: the mean error of our method over another's, with a paired bootstrap interval.

Below 1, our method is better. Each draw resamples n - 1 of the n seeds, the same ones for both methods: the spread of n
drawn seeds would be too small by that factor. The logarithms of the draws are shifted by twice their bias, because the
logarithm of the mean of a few skewed errors is biased, and a geometric mean over many problems keeps the bias while its
interval shrinks. On simulated log-normal errors a 90 % interval covers 80 to 86 % with 10 seeds and 65 to 75 % with 3.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.compare.statistics.errors import ROUNDING, floored
from flexibo.errors import InvalidValueError

MARGIN = 1.05
"""A loss by more than this factor matters."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """The mean floored error of our method over another's, with a confidence interval; below 1, ours is better.

    The interval is infinite for a single seed. `seeds` is the number of seeds that both have; for a mean over problems,
    the smallest.
    """

    value: float
    low: float
    high: float
    seeds: int

    @property
    def significantly_better(self) -> bool:
        """Whether the whole interval is below 1."""
        return self.high < 1.0 - ROUNDING

    @property
    def significantly_worse(self) -> bool:
        """Whether the whole interval is above 1."""
        return self.low > 1.0 + ROUNDING

    @property
    def worse_by_margin(self) -> bool:
        """Whether the ratio itself, not its interval, is above `MARGIN`."""
        return self.value > MARGIN + ROUNDING

    @property
    def significantly_worse_by_margin(self) -> bool:
        """Whether the whole interval is above `MARGIN`."""
        return self.low > MARGIN + ROUNDING


def paired_ratios(
    pairs: Sequence[tuple[str, Mapping[int, float], Mapping[int, float]]], entropy: int, level: float, draws: int
) -> tuple[Ratio, dict[str, Ratio]]:
    """The geometric mean over problems of our errors over another's, and the ratio of each problem."""
    values, drawns, sizes, ratios = [], [], [], {}
    for problem, ours, other in pairs:
        seeds = sorted(ours.keys() & other.keys())
        picks = drawn_positions(generator(entropy, problem, len(seeds)), len(seeds), draws)
        value, drawn = _paired(floored(ours, seeds), floored(other, seeds), picks)
        ratios[problem] = mean_ratio([value], [drawn], [len(seeds)], level)
        values.append(value)
        drawns.append(drawn)
        sizes.append(len(seeds))
    return mean_ratio(values, drawns, sizes, level), ratios


def _paired(ours: FloatArray, other: FloatArray, picks: IntArray) -> tuple[float, FloatArray]:
    """The logarithm of the ratio of two means, and what it is in each draw (draws,)."""
    drawn = np.log(ours[picks].mean(axis=1) / other[picks].mean(axis=1))
    return float(np.log(ours.mean() / other.mean())), drawn


def mean_ratio(values: Sequence[float], drawns: Sequence[FloatArray], seeds: Sequence[int], level: float) -> Ratio:
    """The geometric mean of ratios, given as logarithms (p) and their draws (p, draws), with its interval."""
    value = float(np.mean(values))
    if min(seeds) < 2:
        return Ratio(float(np.exp(value)), 0.0, float("inf"), min(seeds))
    drawn = np.mean(drawns, axis=0)
    ends = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2]) - 2.0 * (drawn.mean() - value)
    low, high = np.exp(ends).tolist()
    return Ratio(float(np.exp(value)), low, high, min(seeds))


def drawn_positions(rng: np.random.Generator, n: int, draws: int) -> IntArray:
    """Positions (draws, n - 1) of resampled seeds; (draws, 1) of a single seed."""
    return rng.integers(n, size=(draws, max(n - 1, 1)))


def generator(entropy: int, problem: str, n: int) -> np.random.Generator:
    """Resamples a problem in a way that depends on nothing but its name and its number of seeds."""
    return np.random.default_rng((entropy, zlib.crc32(problem.encode(errors="backslashreplace")), n))


def check_bootstrap(level: float, draws: int) -> None:
    """Refuse a confidence level or a number of draws that means nothing."""
    if not 0.0 < level < 1.0:
        raise InvalidValueError(f"The confidence level is {level!r}; it must be between 0 and 1, as in 0.9.")
    if draws < 1:
        raise InvalidValueError(f"The number of draws is {draws!r}; it must be at least 1.")
