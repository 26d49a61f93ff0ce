"""Priors of a Gaussian process's hyperparameters.

Both are densities of theta, the logarithms of the length scales of g groups of columns, of the variance and, unless it
is fixed, of the noise.

`IndependentPrior` is a log-normal density of each value:

- length scales: LogNormal(sqrt(2) + log(g) / 2, sqrt(3)), from Hvarfner, Hellsten and Nardi, Vanilla Bayesian
  Optimization Performs Great in High Dimensions (ICML 2024). It grows with sqrt(g), as distances do.
- noise: LogNormal(-4, 1), as in BoTorch; its mode is a standard deviation of 8 % of the losses' own.
- variance: LogNormal(1, 1); its mode is 1, as the losses are standardised.

`HierarchicalPrior` is a normal density of theta in which the length scales scatter about an unknown common one, which
is integrated out. With few evaluations and many options they stay together, as if there were a single length scale, and
differ as far as the data require.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from flexibo._internal.arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """The search range and prior of one hyperparameter.

    Attributes:
        start: The start of the first search.
        spread: The other searches start at most this factor away.
        bounds: The smallest and the largest value.
        prior: Mean and standard deviation of the logarithm under the log-normal prior.
    """

    start: float
    spread: float
    bounds: tuple[float, float]
    prior: tuple[float, float]


VARIANCE = Parameter(start=1.0, spread=3.0, bounds=(1e-3, 1e3), prior=(1.0, 1.0))
# The search starts with much noise: from little, it often ends where length scales explain the noise.
NOISE = Parameter(start=0.2, spread=10.0, bounds=(1e-6, 1.0), prior=(-4.0, 1.0))
COMMON_DEVIATION = 1.5
"""Standard deviation of the logarithm of the common length scale, whose mean is log(g) / 2."""
HIERARCHICAL_VARIANCE = (0.0, 1.0)
"""Mean and standard deviation of the logarithm of the variance."""
HIERARCHICAL_NOISE = (-5.0, 1.5)
"""Mean and standard deviation of the logarithm of the noise."""


def length_scale(count: int) -> Parameter:
    """The search range and prior of each of `count` length scales.

    The start is twice the typical distance of two random designs. Columns are in [0, 1]: below the lower bound designs
    are uncorrelated with their neighbours, above the upper one an option has no effect.
    """
    count = max(count, 1)
    return Parameter(
        start=2.0 * math.sqrt(count / 6.0),
        spread=10.0,
        bounds=(1e-2, 1e3),
        prior=(math.sqrt(2.0) + 0.5 * math.log(count), math.sqrt(3.0)),
    )


class Prior(Protocol):
    """A density of theta."""

    def penalised(self, theta: FloatArray, value: float, gradient: FloatArray) -> tuple[float, FloatArray]:
        """A loss at theta and its gradient, plus the negative log density (up to a constant) and its gradient."""
        ...

    def mode(self) -> FloatArray:
        """The most likely theta without data."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class IndependentPrior:
    """Independent log-normal densities of the hyperparameters: means and standard deviations of theta."""

    mean: FloatArray
    deviation: FloatArray

    @classmethod
    def of(cls, entries: Sequence[Parameter]) -> IndependentPrior:
        """The prior of the entries of theta."""
        mean, deviation = np.array([entry.prior for entry in entries]).T
        return cls(mean, deviation)

    def penalised(self, theta: FloatArray, value: float, gradient: FloatArray) -> tuple[float, FloatArray]:
        """A loss at theta and its gradient, with the prior's added."""
        standard = (theta - self.mean) / self.deviation
        return value + float(0.5 * (standard @ standard) + theta.sum()), gradient + standard / self.deviation + 1.0

    def mode(self) -> FloatArray:
        """The theta whose hyperparameters are the most likely."""
        return np.asarray(self.mean - self.deviation**2)


@dataclass(frozen=True, slots=True, eq=False)
class HierarchicalPrior:
    """A normal density of theta; the length scales' covariance is scatter^2 I + common^2 11'."""

    mean: FloatArray
    precision: FloatArray

    @classmethod
    def of(cls, count: int, *, scatter: float, with_noise: bool) -> HierarchicalPrior:
        """The prior of `count` length scales, a variance and, if it is learned, a noise.

        `scatter` is the standard deviation of the logarithms of the length scales about that of the common one.
        """
        others = [HIERARCHICAL_VARIANCE, *([HIERARCHICAL_NOISE] if with_noise else [])]
        mean = np.array([0.5 * math.log(max(count, 1))] * count + [mean for mean, _ in others])
        precision = np.zeros((len(mean), len(mean)))
        covariance = scatter**2 * np.eye(count) + COMMON_DEVIATION**2
        precision[:count, :count] = np.linalg.inv(covariance)
        for entry, (_, deviation) in enumerate(others, start=count):
            precision[entry, entry] = deviation**-2
        return cls(mean, precision)

    def penalised(self, theta: FloatArray, value: float, gradient: FloatArray) -> tuple[float, FloatArray]:
        """A loss at theta and its gradient, with the prior's added."""
        away = theta - self.mean
        slope = self.precision @ away
        return value + 0.5 * float(away @ slope), gradient + slope

    def mode(self) -> FloatArray:
        """The mean of theta."""
        return self.mean
