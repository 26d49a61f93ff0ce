"""Learning a Gaussian process's hyperparameters: marginal likelihood, gradient and priors.

Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), section 5.4.1. The search runs over theta, the
logarithms of, in this order, the length scales of g groups of columns, the variance and, unless it is fixed, the noise.

Priors are densities of theta. `IndependentPrior` is a log-normal density of each value:

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
from scipy.linalg import blas, lapack

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo._internal.interrupts import deferred_interrupts
from flexibo.surrogates.kernels import KERNELS, grouped_distances
from flexibo.surrogates.posterior import Hyperparameters, factorised, pivot_unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """The search range and prior of one hyperparameter."""

    start: float  # of the first search
    spread: float  # the other searches start at most this factor away
    bounds: tuple[float, float]
    prior: tuple[float, float]  # mean and standard deviation of the logarithm


VARIANCE = Parameter(start=1.0, spread=3.0, bounds=(1e-3, 1e3), prior=(1.0, 1.0))
# The search starts with much noise: from little, it often ends where length scales explain the noise.
NOISE = Parameter(start=0.2, spread=10.0, bounds=(1e-6, 1.0), prior=(-4.0, 1.0))
COMMON_DEVIATION = 1.5  # standard deviation of the logarithm of the common length scale, whose mean is log(g) / 2
# Mean and standard deviation of the logarithm of the variance. It is wide: a smooth function on few designs looks
# nearly linear, and such a function has long length scales and a variance far above that of its losses.
HIERARCHICAL_VARIANCE = (0.0, 3.0)
HIERARCHICAL_NOISE = (-5.0, 1.5)  # mean and standard deviation of the logarithm of the noise


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

    def mode(self) -> FloatArray:
        """The most likely theta without data."""


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


def parameters(count: int, noise: float | None) -> list[Parameter]:
    """The entries of theta for `count` length scales; a noise that is not None is fixed and not an entry."""
    return [length_scale(count)] * count + [VARIANCE] + ([NOISE] if noise is None else [])


def hyperparameters(theta: FloatArray, noise: float | None) -> Hyperparameters:
    """The hyperparameters that theta encodes."""
    *values, last = np.exp(theta).tolist()
    if noise is None:
        return Hyperparameters(length_scales=tuple(values[:-1]), variance=values[-1], noise=last)
    return Hyperparameters(length_scales=tuple(values), variance=last, noise=noise)


class Loss:
    """The negative log marginal likelihood of theta with its gradient, plus the penalty of the prior, if there is one.

    Standardised losses z (s,) of encoded designs X (s, d); `groups` (d,) is the length scale that each column uses. The
    noise variance is learned if it is None; the variances `own` (s,) of the rows' own noise are added to it.
    """

    def __init__(
        self,
        X: FloatArray,
        z: FloatArray,
        *,
        groups: IntArray,
        kernel: str,
        noise: float | None,
        prior: Prior | None,
        own: FloatArray | None = None,
    ) -> None:
        # Only the pairs above the diagonal: half the work of every pass.
        rows, columns = np.triu_indices(len(z), 1)
        self._pairs = rows * len(z) + columns
        self._distances = grouped_distances(X, groups, self._pairs)
        self._z = z
        self._own = np.zeros(len(z)) if own is None else own
        self._kernel = KERNELS[kernel]
        self._noise = noise
        self.parameters = parameters(len(self._distances), noise)
        self._prior = prior

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """The loss and its gradient by theta (eq. 5.9)."""
        given = hyperparameters(theta, self._noise)
        weights = np.exp(-2.0 * theta[: len(self._distances)])
        k, slope = self._kernel.with_slope(weights @ self._distances)
        value, pairs, trace = self._likelihood(k, given)
        # The gradient is -1/2 sum_ij W_ij dK_ij with W = alpha alpha' - K^-1; a pair stands for ij and for ji.
        by_variance = -given.variance * (float(pairs @ k) + 0.5 * trace)
        pairs *= slope
        by_scales = 2.0 * given.variance * weights * (self._distances @ pairs)
        by_noise = [-0.5 * given.noise * trace] if self._noise is None else []
        gradient = np.concatenate([by_scales, [by_variance], by_noise])
        return (value, gradient) if self._prior is None else self._prior.penalised(theta, value, gradient)

    def _likelihood(self, k: FloatArray, given: Hyperparameters) -> tuple[float, FloatArray, float]:
        """The negative log likelihood and, of W = alpha alpha' - K^-1, the pairs and the trace."""
        s = len(self._z)

        def covariance(jitter: float) -> FloatArray:
            K = np.zeros((s, s))
            K.ravel()[self._pairs] = given.variance * k
            np.fill_diagonal(K, given.variance * (1.0 + jitter) + given.noise + self._own)
            return K

        factor, _ = factorised(covariance, unit=pivot_unit(given, self._own))
        alpha, _ = lapack.dpotrs(factor, self._z, lower=1)
        log_determinant = 2.0 * float(np.log(factor.diagonal()).sum())
        value = 0.5 * (float(self._z @ alpha) + log_determinant + s * math.log(2.0 * math.pi))
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        minus_W = blas.dsyr(-1.0, alpha, a=inverse, lower=1, overwrite_a=1).T
        return value, -minus_W.ravel()[self._pairs], -float(minus_W.trace())


def starts(entries: Sequence[Parameter], restarts: int, rng: np.random.Generator) -> FloatArray:
    """The starts of the searches (restarts + 1, entries of theta): the first is fixed, the others are drawn."""
    first = np.log([parameter.start for parameter in entries])
    spread = np.log([parameter.spread for parameter in entries])
    low, high = np.log([parameter.bounds for parameter in entries]).T
    drawn = first + spread * rng.uniform(-1.0, 1.0, size=(restarts, len(entries)))
    return np.vstack([first, np.clip(drawn, low, high)])


def minimum(loss: Loss, begin: FloatArray) -> FloatArray:
    """The best theta that L-BFGS-B finds from any row of `begin`."""
    with deferred_interrupts():  # an interrupted import would leave a broken module behind
        from scipy.optimize import minimize  # half a second to import

    bounds = np.log([parameter.bounds for parameter in loss.parameters])
    # Smaller differences of the loss and of its slope do not show in predictions.
    options = {"ftol": 1e-5, "gtol": 1e-3, "maxiter": 200}
    found = [minimize(loss, theta, jac=True, method="L-BFGS-B", bounds=bounds, options=options) for theta in begin]
    best: FloatArray = min(found, key=lambda result: float(result.fun)).x
    return best
