"""The exact Gaussian-process posterior for given hyperparameters.

Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), Algorithm 2.1, with one change: it keeps L^-1 y
(`whitened`) instead of alpha = K^-1 y. The mean then reuses the solve that the standard deviation needs, and a new row
costs one triangular solve.

Letters: s evaluations, d columns, L the lower Cholesky factor of K = variance * correlation + noise * I + diag(own).
The own part of a row is what its reading is known to be uncertain by, 0 for most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import blas, lapack

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.errors import InvalidValueError
from flexibo.surrogates.base import own_variances, standardised_variances
from flexibo.surrogates.kernels import KERNELS, scaled, squared_distances

JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)  # multiples of the variance for the diagonal, if K is indefinite
CHUNK_ENTRIES = 2**18  # entries of the cross-covariance held at once: 2 MB, which fit into a processor's cache
FEW_DESIGNS = 1500  # at most this many designs are drawn jointly by a Cholesky factor; more by random features
FEATURES = 512
BLOCK_ROWS = 256  # more rows than these are appended a block at a time, and the factor stays in blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyperparameters:
    """The hyperparameters of a Gaussian process; variances are relative to standardised losses.

    Attributes:
        length_scales: One per group of columns, in units of the encoded columns.
        variance: Prior variance of the noise-free loss.
        noise: Variance of the measurement noise.
    """

    length_scales: tuple[float, ...]
    variance: float
    noise: float

    def __post_init__(self) -> None:
        values = (*self.length_scales, self.variance, self.noise)
        if not all(math.isfinite(value) and value > 0 for value in values):
            raise InvalidValueError(f"Hyperparameters must be positive and finite; given {self}.")


@dataclass(frozen=True, slots=True, eq=False)
class BorderedFactor:
    """A lower Cholesky factor (s, s) in blocks: `first` (f, f) and zeros, then `below` (s - f, f) and `corner`.

    The zeros take no memory, and `first` is not copied.
    """

    first: FloatArray | BorderedFactor
    below: FloatArray
    corner: FloatArray

    def diagonal(self) -> FloatArray:
        """The pivots (s,)."""
        return np.concatenate([self.first.diagonal(), self.corner.diagonal()])

    def dense(self) -> FloatArray:
        """The factor as one matrix, in Fortran order."""
        f = self.below.shape[1]
        size = f + len(self.corner)
        factor = np.zeros((size, size), order="F")
        factor[:f, :f] = self.first.dense() if isinstance(self.first, BorderedFactor) else self.first
        factor[f:, :f] = self.below
        factor[f:, f:] = self.corner
        return factor

    def solved(self, B: FloatArray) -> FloatArray:
        """L^-1 B of B (s, m)."""
        V: FloatArray = np.asfortranarray(B.T)  # some of its columns are a block that BLAS overwrites without a copy
        self._solve(V)
        return np.asarray(V.T)

    def _solve(self, V: FloatArray) -> None:
        """Overwrite V (m, s), in Fortran order, by V L^-T."""
        f = self.below.shape[1]
        if isinstance(self.first, BorderedFactor):
            self.first._solve(V[:, :f])
        else:
            blas.dtrsm(1.0, self.first, V[:, :f], side=1, lower=1, trans_a=1, overwrite_b=1)
        blas.dgemm(-1.0, V[:, :f], self.below, beta=1.0, c=V[:, f:], trans_b=1, overwrite_c=1)
        blas.dtrsm(1.0, self.corner, V[:, f:], side=1, lower=1, trans_a=1, overwrite_b=1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Posterior:
    """A Gaussian process conditioned on data."""

    kernel: str  # a name in `KERNELS`
    hyperparameters: Hyperparameters
    groups: IntArray  # (d,): the length scale each column uses
    location: float  # the constant subtracted from the losses
    scale: float  # the constant they were divided by then
    Z: FloatArray  # (s, d): the scaled designs
    z: FloatArray  # (s,): the standardised losses
    factor: FloatArray | BorderedFactor  # (s, s): L, lower triangular and zero above
    whitened: FloatArray  # (s,): L^-1 z
    jitter: float  # the multiple of the variance added to the diagonal
    own: FloatArray  # (s,): the variance of each row's own noise, relative to standardised losses

    @property
    def log_marginal_likelihood(self) -> float:
        """The log density of the standardised losses (Rasmussen and Williams, eq. 2.30)."""
        log_determinant = 2.0 * float(np.log(self.factor.diagonal()).sum())
        fit = float(self.whitened @ self.whitened)
        return -0.5 * (fit + log_determinant + len(self.z) * math.log(2.0 * math.pi))

    @property
    def log_evidence(self) -> float:
        """The log density of the losses in their own unit."""
        return self.log_marginal_likelihood - len(self.z) * math.log(self.scale)

    def extend(self, X: FloatArray, y: FloatArray, variances: FloatArray | None = None) -> Posterior:
        """The posterior with the rows X (k, d), y (k,) appended, in O(k s^2); many rows a block at a time.

        Rows may have noise of their own variances (k,).
        """
        own = standardised_variances(own_variances(variances, len(y)), self.scale)
        if len(y) <= BLOCK_ROWS:
            return self._extended(X, y, own, in_blocks=False)
        posterior = self
        for start in range(0, len(y), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            posterior = posterior._extended(X[block], y[block], own[block], in_blocks=True)
        return posterior

    def _extended(self, X: FloatArray, y: FloatArray, own: FloatArray, *, in_blocks: bool) -> Posterior:
        Z = self._scaled(X)
        z = (y - self.location) / self.scale
        below = np.asfortranarray(_solved(self.factor, self._covariance(Z).T).T)
        rest = _covariance_with_noise(Z, self.kernel, self.hyperparameters, own, self.jitter)
        rest = blas.dsyrk(-1.0, below, beta=1.0, c=rest.T, lower=1, overwrite_c=1)
        corner, info = lapack.dpotrf(rest, lower=1, clean=1, overwrite_a=1)
        all_Z, all_z, all_own = np.vstack([self.Z, Z]), np.concatenate([self.z, z]), np.concatenate([self.own, own])
        unit = pivot_unit(self.hyperparameters, all_own)
        if info or _is_lost_to_rounding(corner, largest=self.factor.diagonal()[0], unit=unit):
            covariance = partial(_covariance_with_noise, all_Z, self.kernel, self.hyperparameters, all_own)
            factor, jitter = factorised(covariance, above=self.jitter, unit=unit)
            whitened = _whitened(factor, all_z)
            return replace(self, Z=all_Z, z=all_z, own=all_own, factor=factor, whitened=whitened, jitter=jitter)
        bordered = BorderedFactor(self.factor, below, corner)
        tail = _whitened(corner, z - below @ self.whitened)
        return replace(
            self,
            Z=all_Z,
            z=all_z,
            own=all_own,
            factor=bordered if in_blocks else bordered.dense(),
            whitened=np.concatenate([self.whitened, tail]),
        )

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean (m,) and standard deviation (m,) of the noise-free loss at X (m, d), a block of rows at a time."""
        mean, deviation = np.empty(len(X)), np.empty(len(X))
        rows = max(1, CHUNK_ENTRIES // len(self.z))
        for start in range(0, len(X), rows):
            block = slice(start, start + rows)
            # Transposed, so that LAPACK reads and overwrites the block without a copy.
            V = _solved(self.factor, self._covariance(self._scaled(X[block])).T).T
            mean[block] = V @ self.whitened
            deviation[block] = np.einsum("ij,ij->i", V, V)
        np.subtract(self.hyperparameters.variance, deviation, out=deviation)
        np.sqrt(np.maximum(deviation, 0.0, out=deviation), out=deviation)
        return self.location + self.scale * mean, self.scale * deviation

    def held_out(self) -> FloatArray:
        """How far each loss is from its prediction by all others, in standard deviations (s,).

        With alpha = K^-1 z, the residual of a row is alpha_i / (K^-1)_ii and its variance, with the noise, 1 /
        (K^-1)_ii (Rasmussen and Williams, eq. 5.12). The hyperparameters have seen the row.
        """
        inverse = _solved(self.factor, np.asfortranarray(np.eye(len(self.z))))
        return np.asarray(inverse.T @ self.whitened / np.sqrt(np.einsum("ij,ij->j", inverse, inverse)))

    def covariance(self, X: FloatArray, others: FloatArray) -> FloatArray:
        """The covariance (m, o) of the noise-free losses at X (m, d) with those at others (o, d)."""
        here, there = self._scaled(X), self._scaled(others)
        V = _solved(self.factor, self._covariance(here).T)
        W = V if others is X else _solved(self.factor, self._covariance(there).T)
        prior = KERNELS[self.kernel].correlation(squared_distances(here, there)) * self.hyperparameters.variance
        return np.asarray(self.scale**2 * (prior - V.T @ W))

    def draws(self, X: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws (count, m) of the noise-free losses at X (m, d).

        Exact for few designs. For many, Matheron's rule: a draw from the prior, made of random features, is corrected
        by the data (Wilson et al., Efficiently Sampling Functions from Gaussian Process Posteriors, 2020). The
        correction is exact, but the prior's correlations are off by about 1 / sqrt(`FEATURES`), so draws are too narrow
        where the data leave little uncertainty.
        """
        if len(X) <= FEW_DESIGNS:
            Z = self._scaled(X)
            V = _solved(self.factor, self._covariance(Z).T)
            rest = KERNELS[self.kernel].correlation(squared_distances(Z, Z)) * self.hyperparameters.variance - V.T @ V
            spread = float(rest.diagonal().max(initial=0.0)) or 1.0
            factor, _ = factorised(lambda jitter: rest + max(jitter, JITTERS[1]) * spread * np.eye(len(X)))
            drawn = V.T @ self.whitened + rng.standard_normal((count, len(X))) @ factor.T
            return np.asarray(self.location + self.scale * drawn)
        omega = KERNELS[self.kernel].frequencies(FEATURES, len(self.groups), rng)
        weights = rng.standard_normal((2 * FEATURES, count)) * math.sqrt(self.hyperparameters.variance / FEATURES)
        error = np.sqrt(self.hyperparameters.noise + self.own)[:, None] * rng.standard_normal((len(self.z), count))
        rest = self.z[:, None] - _waves(self.Z, omega) @ weights - error
        rest = _solved(self.factor, np.asfortranarray(rest))
        drawn = np.empty((count, len(X)))
        rows = max(1, CHUNK_ENTRIES // max(len(self.z), FEATURES))
        for start in range(0, len(X), rows):
            Z = self._scaled(X[start : start + rows])
            V = _solved(self.factor, self._covariance(Z).T)
            drawn[:, start : start + rows] = (_waves(Z, omega) @ weights + V.T @ rest).T
        return self.location + self.scale * drawn

    def _scaled(self, X: FloatArray) -> FloatArray:
        return scaled(X, np.array(self.hyperparameters.length_scales), self.groups)

    def _covariance(self, Z: FloatArray) -> FloatArray:
        """The covariance (m, s) of scaled designs with the data."""
        k = KERNELS[self.kernel].correlation(squared_distances(Z, self.Z))
        k *= self.hyperparameters.variance
        return k


def _waves(Z: FloatArray, omega: FloatArray) -> FloatArray:
    """Random features (m, 2f) of scaled designs Z (m, d) at the frequencies omega (f, d)."""
    angle = Z @ omega.T
    return np.hstack([np.sin(angle), np.cos(angle)])


def condition(
    X: FloatArray,
    y: FloatArray,
    *,
    groups: IntArray,
    location: float,
    scale: float,
    kernel: str,
    hyperparameters: Hyperparameters,
    variances: FloatArray | None = None,
) -> Posterior:
    """The posterior of a Gaussian process given the losses y (s,) of the designs X (s, d), with own variances (s,)."""
    Z = scaled(X, np.array(hyperparameters.length_scales), groups)
    z = (y - location) / scale
    own = standardised_variances(own_variances(variances, len(y)), scale)
    covariance = partial(_covariance_with_noise, Z, kernel, hyperparameters, own)
    factor, jitter = factorised(covariance, unit=pivot_unit(hyperparameters, own))
    return Posterior(
        kernel=kernel,
        hyperparameters=hyperparameters,
        groups=groups,
        location=location,
        scale=scale,
        Z=Z,
        z=z,
        factor=factor,
        whitened=_whitened(factor, z),
        jitter=jitter,
        own=own,
    )


def pivot_unit(hyperparameters: Hyperparameters, own: FloatArray) -> float | None:
    """The greatest pivot without the rows' own noise (s,); None if they have none, as it is the greatest one then."""
    return math.sqrt(hyperparameters.variance + hyperparameters.noise) if own.any() else None


def factorised(
    covariance: Callable[[float], FloatArray], *, above: float = -1.0, unit: float | None = None
) -> tuple[FloatArray, float]:
    """The lower Cholesky factor (s, s) of a covariance and the first sufficient jitter greater than `above`.

    `covariance` gives for a jitter a matrix in C order, of which the upper triangle is read and overwritten. `unit` is
    what pivots are compared with, by default the greatest of them.
    """
    for jitter in JITTERS:
        if jitter <= above:
            continue
        # What is above the diagonal row by row is, to LAPACK, below it column by column: no copy.
        factor, info = lapack.dpotrf(covariance(jitter).T, lower=1, clean=1, overwrite_a=1)
        if info == 0 and not _is_lost_to_rounding(factor, unit=unit):
            return factor, jitter
    raise InvalidValueError("The covariance is not positive definite; are the designs and hyperparameters finite?")


def _covariance_with_noise(
    Z: FloatArray, kernel: str, hyperparameters: Hyperparameters, own: FloatArray, jitter: float
) -> FloatArray:
    """K (s, s) of the scaled designs Z (s, d), whose own noise has the variances (s,)."""
    K = KERNELS[kernel].correlation(squared_distances(Z, Z))
    K *= hyperparameters.variance
    np.fill_diagonal(K, hyperparameters.variance * (1.0 + jitter) + hyperparameters.noise + own)
    return K


def _is_lost_to_rounding(factor: FloatArray, largest: float = 0.0, unit: float | None = None) -> bool:
    """Whether a pivot is so small beside the largest, or a unit, that it is rounding error rather than information."""
    pivots = factor.diagonal()
    return not float(pivots.min()) > 1e-7 * (max(float(pivots.max()), largest) if unit is None else unit)


def _solved(factor: FloatArray | BorderedFactor, B: FloatArray) -> FloatArray:
    """L^-1 B; overwrites B (s, m) where it is in Fortran order."""
    if isinstance(factor, BorderedFactor):
        return factor.solved(B)
    solution: FloatArray = blas.dtrsm(1.0, factor, B, lower=1, overwrite_b=1)
    return solution


def _whitened(factor: FloatArray, z: FloatArray) -> FloatArray:
    """L^-1 z of a vector z (s,)."""
    solution: FloatArray = blas.dtrsv(factor, z, lower=1)
    return solution
