"""Ratio: the error of our method over another's, with a Student-t confidence interval; below 1, ours is smaller.

Errors are compared seed by seed, because both methods have the same initial designs with the same seed: the ratio is
the geometric mean over the common seeds of our error over the other's. Its logarithm is the mean of paired differences,
of which Student's interval covers what it says with ten seeds, also where they are skewed, have heavy tails or pile up
at the floor. Bootstrap intervals of the ratio of mean errors cover less than they say with so few seeds.

Over several problems the logarithms are averaged. The same seed may be lucky on several problems (the same space, the
same initial designs), so the deviations of a seed on all problems are added before they are squared. Such an interval
is about these problems; it says nothing about others. ``python -m benchmarks.coverage`` prints what intervals cover.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import stdtrit

from flexibo.compare.statistics.errors import ROUNDING, floored
from flexibo.errors import InvalidValueError

LEVEL = 0.9
"""The confidence level of intervals."""

Standing: TypeAlias = Literal["ahead", "behind", "undecided"]

LogRatios: TypeAlias = Mapping[int, float]
"""On one problem: by seed, the logarithm of our floored error over another's."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Our error over another's with a confidence interval, infinite for a single seed.

    `seeds` is the number of seeds that both have; for a mean over problems, the smallest.
    """

    value: float
    low: float
    high: float
    seeds: int

    @property
    def standing(self) -> Standing:
        """Ahead if the whole interval is below 1, behind if it is above 1, otherwise undecided."""
        if self.high < 1.0 - ROUNDING:
            return "ahead"
        return "behind" if self.low > 1.0 + ROUNDING else "undecided"


def log_ratios(ours: Mapping[int, float], other: Mapping[int, float]) -> dict[int, float]:
    """The logarithms of our floored errors over another's, for the seeds that both have."""
    seeds = sorted(ours.keys() & other.keys())
    return dict(zip(seeds, np.log(floored(ours, seeds) / floored(other, seeds)).tolist(), strict=True))


def mean_ratio(logs: Sequence[LogRatios], *, lower: Sequence[LogRatios] | None = None, level: float = LEVEL) -> Ratio:
    """The geometric mean of ratios over the seeds of each problem and over problems, with its interval.

    The lower end of the interval may come from other ratios.

    >>> mean_ratio([{0: 0.0, 1: math.log(4.0)}]).value
    2.0
    """
    if not 0.0 < level < 1.0:
        raise InvalidValueError(f"The confidence level is {level!r}; it must be between 0 and 1, as in 0.9.")
    mean, half = interval_of_mean(logs, level)
    low = mean - half
    if lower is not None:
        other, other_half = interval_of_mean(lower, level)
        low = min(low, other - other_half)
    return Ratio(math.exp(mean), math.exp(low), math.exp(mean + half), min(map(len, logs)))


def interval_of_mean(logs: Sequence[LogRatios], level: float) -> tuple[float, float]:
    """The mean over problems of the means over seeds, and half the width of its interval.

    With the same seeds everywhere, this is Student's interval of the seeds' means over problems. A problem with fewer
    seeds has larger deviations, and the degrees of freedom are those of the problem with the fewest.
    """
    means = [math.fsum(own.values()) / len(own) for own in logs]
    mean, fewest = math.fsum(means) / len(means), min(map(len, logs))
    if fewest < 2:
        return mean, math.inf
    deviations: dict[int, float] = defaultdict(float)
    for own, middle in zip(logs, means, strict=True):
        scale = len(logs) * math.sqrt(len(own) * (len(own) - 1))
        for seed, value in own.items():
            deviations[seed] += (value - middle) / scale
    error = math.sqrt(math.fsum(deviation**2 for deviation in deviations.values()))
    return mean, float(stdtrit(fewest - 1, 0.5 + level / 2)) * error
