"""Learning a Gaussian process's hyperparameters: marginal likelihood, gradient and priors.

Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), section 5.4.1. The search runs over theta, the
logarithms of, in this order, the length scales of g groups of columns, the variance and, unless it is fixed, the noise.

The priors are densities of the values themselves, not of their logarithms:

- length scales: LogNormal(sqrt(2) + log(g) / 2, sqrt(3)), from Hvarfner, Hellsten and Nardi, Vanilla Bayesian
  Optimization Performs Great in High Dimensions (ICML 2024). It grows with sqrt(g), as distances do.
- noise: LogNormal(-4, 1), BoTorch's companion to it: most likely is a deviation of 8 % of the losses' own.
- variance: LogNormal(1, 1): most likely is 1, as the losses are standardised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from flexibo.arrays import FloatArray, IntArray
from flexibo.interrupts import deferred_interrupts
from flexibo.surrogates.kernels import KERNELS, grouped_distances
from flexibo.surrogates.posterior import Hyperparameters, factorised


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


def parameters(count: int, noise: float | None) -> list[Parameter]:
    """The entries of theta for so many length scales; a noise that is not None is fixed and no entry."""
    return [length_scale(count)] * count + [VARIANCE] + ([NOISE] if noise is None else [])


def hyperparameters(theta: FloatArray, noise: float | None) -> Hyperparameters:
    """The hyperparameters that theta stands for."""
    *values, last = np.exp(theta).tolist()
    if noise is None:
        return Hyperparameters(length_scales=tuple(values[:-1]), variance=values[-1], noise=last)
    return Hyperparameters(length_scales=tuple(values), variance=last, noise=noise)


class Loss:
    """The negative log marginal likelihood of theta with its gradient, plus the priors' penalties.

    Args:
        X: Encoded designs, shape (s, d).
        z: Standardised losses, shape (s,).
        groups: The length scale each column uses, 0, 1, 2, ..., shape (d,).
        kernel: A name in `KERNELS`.
        noise: The noise variance, or None to learn it.
        priors: Whether to add the penalties.
    """

    def __init__(
        self, X: FloatArray, z: FloatArray, *, groups: IntArray, kernel: str, noise: float | None, priors: bool
    ) -> None:
        # Only the pairs above the diagonal: half the work of every pass.
        rows, columns = np.triu_indices(len(z), 1)
        self._pairs = rows * len(z) + columns
        self._distances = grouped_distances(X, groups, self._pairs)
        self._z = z
        self._kernel = KERNELS[kernel]
        self._noise = noise
        self.parameters = parameters(len(self._distances), noise)
        self._priors = np.array([parameter.prior for parameter in self.parameters]).T if priors else None

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
        if self._priors is None:
            return value, gradient
        mean, deviation = self._priors
        standard = (theta - mean) / deviation
        return value + float(0.5 * (standard @ standard) + theta.sum()), gradient + standard / deviation + 1.0

    def _likelihood(self, k: FloatArray, given: Hyperparameters) -> tuple[float, FloatArray, float]:
        """The negative log likelihood and, of W = alpha alpha' - K^-1, the pairs and the trace."""
        s = len(self._z)

        def covariance(jitter: float) -> FloatArray:
            K = np.zeros((s, s))
            K.ravel()[self._pairs] = given.variance * k
            np.fill_diagonal(K, given.variance * (1.0 + jitter) + given.noise)
            return K

        factor, _ = factorised(covariance)
        alpha, _ = lapack.dpotrs(factor, self._z, lower=1)
        log_determinant = 2.0 * float(np.log(factor.diagonal()).sum())
        value = 0.5 * (float(self._z @ alpha) + log_determinant + s * math.log(2.0 * math.pi))
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        minus_W = blas.dsyr(-1.0, alpha, a=inverse, lower=1, overwrite_a=1).T
        return value, -minus_W.ravel()[self._pairs], -float(minus_W.trace())


def starts(entries: list[Parameter], restarts: int, rng: np.random.Generator) -> FloatArray:
    """Where the searches begin (restarts + 1, entries of theta): the first is fixed, the others are drawn."""
    first = np.log([parameter.start for parameter in entries])
    spread = np.log([parameter.spread for parameter in entries])
    low, high = np.log([parameter.bounds for parameter in entries]).T
    drawn = first + spread * rng.uniform(-1.0, 1.0, size=(restarts, len(entries)))
    return np.vstack([first, np.clip(drawn, low, high)])


def prior_mode(entries: list[Parameter]) -> FloatArray:
    """The theta that is most likely before there is any data."""
    mean, deviation = np.array([parameter.prior for parameter in entries]).T
    return np.asarray(mean - deviation**2)


def minimum(loss: Loss, begin: FloatArray) -> FloatArray:
    """The best theta that L-BFGS-B finds from any row of `begin`."""
    with deferred_interrupts():  # an interrupted import would leave half a module behind
        from scipy.optimize import minimize  # half a second to import

    bounds = np.log([parameter.bounds for parameter in loss.parameters])
    # 1e-5 of the loss and a slope of 1e-3 are differences that no prediction shows.
    options = {"ftol": 1e-5, "gtol": 1e-3, "maxiter": 200}
    found = [minimize(loss, theta, jac=True, method="L-BFGS-B", bounds=bounds, options=options) for theta in begin]
    best: FloatArray = min(found, key=lambda result: float(result.fun)).x
    return best
