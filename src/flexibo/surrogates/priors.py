"""What is thought of a Gaussian process's hyperparameters before there are data.

Both priors are about theta, the logarithms of the length scales of g groups of columns, of the variance and, unless it
is fixed, of the noise.

`Independent` is the log-normal density of each value:

- length scales: LogNormal(sqrt(2) + log(g) / 2, sqrt(3)), from Hvarfner, Hellsten and Nardi, Vanilla Bayesian
  Optimization Performs Great in High Dimensions (ICML 2024). It grows with sqrt(g), as distances do.
- noise: LogNormal(-4, 1), BoTorch's companion to it: most likely is a deviation of 8 % of the losses' own.
- variance: LogNormal(1, 1): most likely is 1, as the losses are standardised.

`Kindred` is a normal density of theta in which the options are of a kind: their length scales scatter about a common
one that nobody knows, which is integrated out. With few evaluations and many options they stay together, as if there
were a single length scale; each goes its own way as far as the data ask for it.
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
    """How one hyperparameter is searched for.

    Attributes:
        start: Where the first search begins.
        spread: The others begin at most this factor away.
        bounds: The smallest and the largest value.
        prior: Mean and deviation of the logarithm under the log-normal prior.
    """

    start: float
    spread: float
    bounds: tuple[float, float]
    prior: tuple[float, float]


VARIANCE = Parameter(start=1.0, spread=3.0, bounds=(1e-3, 1e3), prior=(1.0, 1.0))
# The search begins with much noise: begun with little, it often ends where length scales explain the noise.
NOISE = Parameter(start=0.2, spread=10.0, bounds=(1e-6, 1.0), prior=(-4.0, 1.0))
COMMON_DEVIATION = 1.5
"""Deviation of the logarithm of the length scale that options have in common; its mean is that of their square root."""
KINDRED_VARIANCE = (0.0, 1.0)
"""Mean and deviation of the logarithm of the variance where options are of a kind."""
KINDRED_NOISE = (-5.0, 1.5)
"""Mean and deviation of the logarithm of the noise where options are of a kind."""


def length_scale(count: int) -> Parameter:
    """How each of so many length scales is searched for.

    The start is twice the typical distance of two random designs. Columns lie in [0, 1]: below the lower bound nothing
    is learned from a neighbour, above the upper one an option has no effect.
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
        """A loss at theta and its gradient, each with that of the negative log density, but for a constant, added."""
        ...

    def mode(self) -> FloatArray:
        """The theta that is most likely before there is any data."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Independent:
    """Log-normal densities of the hyperparameters themselves, each on its own.

    Attributes:
        mean: Means of theta.
        deviation: Deviations of theta.
    """

    mean: FloatArray
    deviation: FloatArray

    @classmethod
    def of(cls, entries: Sequence[Parameter]) -> Independent:
        """The prior of the entries of theta."""
        mean, deviation = np.array([entry.prior for entry in entries]).T
        return cls(mean, deviation)

    def penalised(self, theta: FloatArray, value: float, gradient: FloatArray) -> tuple[float, FloatArray]:
        """A loss at theta and its gradient with what the prior adds."""
        standard = (theta - self.mean) / self.deviation
        return value + float(0.5 * (standard @ standard) + theta.sum()), gradient + standard / self.deviation + 1.0

    def mode(self) -> FloatArray:
        """The theta whose values are the most likely."""
        return np.asarray(self.mean - self.deviation**2)


@dataclass(frozen=True, slots=True, eq=False)
class Kindred:
    """A normal density of theta; the length scales' covariance is scatter^2 I + common^2 11'.

    Attributes:
        mean: Mean of theta.
        precision: Inverse covariance of theta.
    """

    mean: FloatArray
    precision: FloatArray

    @classmethod
    def of(cls, count: int, *, scatter: float, with_noise: bool) -> Kindred:
        """The prior of so many length scales, a variance and perhaps a noise.

        Args:
            count: The number of length scales.
            scatter: The deviation of their logarithms about that of the common one.
            with_noise: Whether the noise is learned.
        """
        others = [KINDRED_VARIANCE, *([KINDRED_NOISE] if with_noise else [])]
        mean = np.array([0.5 * math.log(max(count, 1))] * count + [mean for mean, _ in others])
        precision = np.zeros((len(mean), len(mean)))
        covariance = scatter**2 * np.eye(count) + COMMON_DEVIATION**2
        precision[:count, :count] = np.linalg.inv(covariance)
        for entry, (_, deviation) in enumerate(others, start=count):
            precision[entry, entry] = deviation**-2
        return cls(mean, precision)

    def penalised(self, theta: FloatArray, value: float, gradient: FloatArray) -> tuple[float, FloatArray]:
        """A loss at theta and its gradient with what the prior adds."""
        away = theta - self.mean
        slope = self.precision @ away
        return value + 0.5 * float(away @ slope), gradient + slope

    def mode(self) -> FloatArray:
        """The mean of theta."""
        return self.mean
