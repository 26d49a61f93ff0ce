"""A Gaussian process over designs and levels: how far an evaluation had gone, from an early stop to the last step.

The covariance is the design kernel times a correlation of levels, plus what a reading of an early level has of its own:

    cov[f(x, l), f(x', l')] = variance k(x, x') exp(-sum of gap_k over the k between l and l')
                              + own_l  if x = x' is the same reading and l is not the last level.

The noise of a reading that is known by itself (its error bar) is added to that.

The design kernel is that of `GaussianProcess`, learned from the latest reading of each design as if it were the last
one. Then what belongs to the levels is learned from all readings. Levels are correlated the less the more stops are
between them, and each gap has its own size; `own` is the part of an early loss that says nothing of other designs.
Priors: gaps of about a tenth, and own parts that shrink from level to level. (Bonilla, Chai, Williams: Multi-task
Gaussian Process Prediction, 2007; Swersky, Snoek, Adams: Freeze-Thaw Bayesian Optimization, 2014, for the use.)

Proxies are further levels, before the first stop. Each has a gap of its own to the last step, and is as far from the
other levels as the way there is long: the correlations are those of a tree, with the stops on one branch and each proxy
on one of its own. Priors: a gap of about a half, and an own part of a twentieth.

A level l of L is encoded by the last L - 1 columns of X: the first l of them are 1, the others 0.

Letters: s readings, d columns of the design, L levels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo._internal.interrupts import deferred_interrupts
from flexibo.surrogates._prediction_cache import PredictionCache
from flexibo.surrogates.base import (
    dense_groups,
    location_and_scale,
    own_variances,
    standardised_variances,
    training_data,
    unfitted,
)
from flexibo.surrogates.gaussian_process import GaussianProcess
from flexibo.surrogates.kernels import KERNELS, scaled, squared_distances
from flexibo.surrogates.posterior import factorised

MOST_FIT = 100  # readings that gaps and own parts are learned from, of whole designs
MOST_ROWS = 200  # readings that predictions use: beyond that, those of a design that went further are left out first
GAP = (math.log(0.1), 1.0)  # mean and standard deviation of the logarithm of a gap
OWN = (math.log(0.02), 1.5)  # of the variance of the own part of the last early level; each earlier one is greater
OWN_GROWTH = math.log(2.0)  # by this, in the logarithm
PROXY_GAP = (math.log(0.5), 1.5)  # of a proxy: it may tell nearly all, or nothing
PROXY_OWN = (math.log(0.05), 1.5)
LEAST_NOISE = 1e-6


@dataclass(frozen=True, slots=True)
class LevelHyperparameters:
    """What was learned; variances are those of standardised losses."""

    length_scales: FloatArray  # one per group of columns of the design
    variance: float
    gaps: FloatArray  # (L - 1,)
    own: FloatArray  # (L,): the last is the noise of the last level


def level_parts(theta: FloatArray, levels: int) -> tuple[FloatArray, FloatArray]:
    """The gaps (L - 1,) and own parts (L,) whose logarithms are theta; an exact last level has almost none."""
    values = np.exp(theta)
    own = values[levels - 1 :]
    return values[: levels - 1], own if len(own) == levels else np.append(own, LEAST_NOISE)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Conditioned:
    """The process given its readings."""

    hyperparameters: LevelHyperparameters
    groups: IntArray
    location: float
    scale: float
    X: FloatArray  # (s, d): as they were given
    y: FloatArray
    variances: FloatArray  # (s,): of the own noise of each reading
    kept: IntArray  # the rows that are used
    factor: FloatArray
    whitened: FloatArray
    proxies: int = 0

    def designs(self, X: FloatArray) -> FloatArray:
        return X[:, : len(self.groups)]

    def level(self, X: FloatArray) -> IntArray:
        return np.asarray(np.rint(X[:, len(self.groups) :].sum(axis=1)), dtype=np.int64)

    def prior(self, X: FloatArray, others: FloatArray) -> FloatArray:
        """The covariance (m, o) without what readings have of their own."""
        given = self.hyperparameters
        Z, W = (scaled(self.designs(some), given.length_scales, self.groups) for some in (X, others))
        k = KERNELS["matern52"].correlation(squared_distances(Z, W))
        return np.asarray(given.variance * k * between(self.level(X), self.level(others), given.gaps, self.proxies))

    def solved(self, X: FloatArray) -> FloatArray:
        """L^-1 K (s, m) of the covariance with the readings."""
        found: FloatArray = solve_triangular(
            self.factor, self.prior(X, self.X[self.kept]).T, lower=True, check_finite=False
        )
        return found


@dataclass(frozen=True, slots=True)
class LevelProcess:
    """A Gaussian process over designs and levels; see the module.

    Attributes:
        levels: How many levels there are, with proxies.
        noisy: Whether two readings of the last level differ.
        scatter: How much the length scales of options differ; see `GaussianProcess`.
        proxies: How many levels are proxies, the first ones.
        posterior: The process given its readings; None before `fit`.
    """

    levels: int
    noisy: bool = False
    scatter: float = 1.0
    proxies: int = 0
    posterior: _Conditioned | None = field(default=None, repr=False, compare=False)
    _cache: PredictionCache = field(default_factory=PredictionCache, init=False, repr=False, compare=False)

    @property
    def takes_variances(self) -> bool:
        """Whether it uses the variances of the own noise of losses: it does."""
        return True

    def fit(
        self,
        X: FloatArray,
        y: FloatArray,
        *,
        groups: IntArray,
        rng: np.random.Generator,
        variances: FloatArray | None = None,
    ) -> LevelProcess:
        """This process with hyperparameters learned from, and conditioned on, the losses y (s,) of X (s, d + L - 1).

        `variances` (s,) are those of the losses' own noise.
        """
        X, y = training_data(X, y)
        own = dense_groups(groups, X.shape[1])[: X.shape[1] - self.levels + 1]
        found = self._learned(X, y, own_variances(variances, len(y)), own, rng)
        return self.condition(X, y, groups=own, hyperparameters=found, variances=variances)

    def condition(
        self,
        X: FloatArray,
        y: FloatArray,
        *,
        groups: IntArray,
        hyperparameters: LevelHyperparameters,
        variances: FloatArray | None = None,
    ) -> LevelProcess:
        """This process conditioned on the losses y (s,) of X (s, d + L - 1); `groups` are those of the design."""
        own, latest = own_variances(variances, len(y)), latest_rows(X, len(groups))
        location, scale = location_and_scale(y[latest], own[latest])
        return self._conditioned(X, y, own, groups, hyperparameters, location, scale)

    def extend(self, X: FloatArray, y: FloatArray, *, variances: FloatArray | None = None) -> LevelProcess:
        """This process with the rows X (k, d + L - 1), y (k,) appended."""
        old, own = self._fitted(), own_variances(variances, len(y))
        X, y, own = np.vstack([old.X, X]), np.concatenate([old.y, y]), np.concatenate([old.variances, own])
        return self._conditioned(X, y, own, old.groups, old.hyperparameters, old.location, old.scale)

    @property
    def is_stepwise(self) -> bool:
        """Whether rounding depends on how many rows are appended at a time: it does not."""
        return False

    @property
    def log_evidence(self) -> float:
        """The log density of the losses that are used, in their own unit."""
        posterior = self._fitted()
        count, whitened = len(posterior.whitened), posterior.whitened
        log_determinant = 2.0 * float(np.log(posterior.factor.diagonal()).sum())
        inner = float(whitened @ whitened) + log_determinant + count * math.log(2.0 * math.pi)
        return -0.5 * inner - count * math.log(posterior.scale)

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean (m,) and the standard deviation (m,) of losses; at early levels, of what would be read."""
        return self._cache.predicted(X, self._predicted)

    def _predicted(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        posterior = self._fitted()
        given, V = posterior.hyperparameters, posterior.solved(X)
        own = np.append(given.own[:-1], 0.0)[posterior.level(X)]
        variance = np.maximum(given.variance - np.einsum("sm,sm->m", V, V), 0.0) + own
        mean = posterior.location + posterior.scale * (V.T @ posterior.whitened)
        return mean, np.asarray(posterior.scale * np.sqrt(variance))

    def covariance(self, X: FloatArray, others: FloatArray) -> FloatArray:
        """The covariance (m, o) of the losses at X and others, without what early readings have of their own."""
        posterior = self._fitted()
        rest = posterior.prior(X, others) - posterior.solved(X).T @ posterior.solved(others)
        return np.asarray(posterior.scale**2 * rest)

    def draws(self, X: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws (count, m) of the losses at X."""
        covariance = self.covariance(X, X)
        spread = float(covariance.diagonal().max(initial=0.0)) or 1.0
        factor, _ = factorised(lambda jitter: covariance + max(jitter, 1e-10) * spread * np.eye(len(X)))
        return np.asarray(self.predict(X)[0] + rng.standard_normal((count, len(X))) @ factor.T)

    def _fitted(self) -> _Conditioned:
        if self.posterior is None:
            raise unfitted("LevelProcess")
        return self.posterior

    def _conditioned(
        self,
        X: FloatArray,
        y: FloatArray,
        variances: FloatArray,
        groups: IntArray,
        given: LevelHyperparameters,
        location: float,
        scale: float,
    ) -> LevelProcess:
        kept = used_rows(X, len(groups), MOST_ROWS)
        empty = np.empty(0)
        shell = _Conditioned(
            hyperparameters=given,
            groups=groups,
            location=location,
            scale=scale,
            X=X,
            y=y,
            variances=variances,
            kept=kept,
            factor=empty,
            whitened=empty,
            proxies=self.proxies,
        )
        K = shell.prior(X[kept], X[kept])
        own = given.own[shell.level(X[kept])] + standardised_variances(variances[kept], scale)
        unit = math.sqrt(given.variance) if variances.any() else None
        factor, _ = factorised(lambda jitter: K + np.diag(own + jitter * given.variance), unit=unit)
        z = (y[kept] - location) / scale
        whitened: FloatArray = solve_triangular(factor, z, lower=True, check_finite=False)
        return replace(self, posterior=replace(shell, factor=factor, whitened=whitened))

    def _learned(
        self, X: FloatArray, y: FloatArray, variances: FloatArray, groups: IntArray, rng: np.random.Generator
    ) -> LevelHyperparameters:
        """Those of the designs from their latest readings, as without levels; then those of the levels from all."""
        d, rows = len(groups), latest_rows(X, len(groups))
        is_whole = bool((X[rows, d:] == 1.0).all()) and not self.noisy
        noise: float | Literal["learned"] = LEAST_NOISE if is_whole else "learned"
        process = GaussianProcess(noise=noise, scatter=self.scatter, restarts=0, max_exact=None)
        known = process.fit(X[rows, :d], y[rows], groups=groups, rng=rng, variances=variances[rows]).hyperparameters
        scales = np.array(known.length_scales)
        prior = _LevelPrior.of(self.levels, noisy=self.noisy, proxies=self.proxies)
        some = _whole_designs(X, d, rng)
        location, scale = location_and_scale(y[rows], variances[rows])
        Z = scaled(X[some, :d], scales, groups)
        k = known.variance * KERNELS["matern52"].correlation(squared_distances(Z, Z))
        noise_of_rows = standardised_variances(variances[some], scale)
        loss = _LevelLoss(k, X[some, d:], (y[some] - location) / scale, noise_of_rows, prior, self.proxies)
        with deferred_interrupts():  # an interrupted import would leave a broken module behind
            from scipy.optimize import minimize  # half a second to import

        bounds = list(zip(prior.mean - 7.0, prior.mean + 7.0, strict=True))
        settings = {"ftol": 1e-5, "gtol": 1e-3, "maxiter": 60}
        found = minimize(loss, prior.mean, jac=True, method="L-BFGS-B", bounds=bounds, options=settings)
        return LevelHyperparameters(scales, known.variance, *level_parts(found.x, self.levels))


def between(level: IntArray, other: IntArray, gaps: FloatArray, proxies: int = 0) -> FloatArray:
    """The correlations (m, o) of levels (m,) with others (o,): exp(-the gaps between them).

    The first levels may be proxies, each on a branch of its own that ends at the last level.

    >>> between(np.array([0, 2]), np.array([2]), np.array([math.log(2.0), math.log(4.0)])).round(3).tolist()
    [[0.125], [1.0]]
    >>> between(np.array([0, 1]), np.array([1, 2]), np.array([math.log(2.0), math.log(4.0)]), 2).round(3).tolist()
    [[0.125, 0.5], [1.0, 0.25]]
    """
    place = np.concatenate([[0.0], np.cumsum(gaps[proxies:])])
    place = np.concatenate([np.full(proxies, place[-1]), place])
    branch = np.concatenate([gaps[:proxies], np.zeros(len(place) - proxies)])
    distances = np.abs(place[:, None] - place)
    if proxies:
        distances = distances + np.where(np.eye(len(place), dtype=bool), 0.0, branch[:, None] + branch)
    correlations = np.exp(-distances)
    return np.asarray(correlations[np.ix_(level, other)])


def latest_rows(X: FloatArray, d: int) -> IntArray:
    """The rows of X (s, d + L - 1) that are the reading of a design at its highest level, in order."""
    level = X[:, d:].sum(axis=1)
    _, design = np.unique(X[:, :d], axis=0, return_inverse=True)
    highest = np.full(int(design.max()) + 1, -1.0)
    np.maximum.at(highest, design.reshape(-1), level)
    return np.flatnonzero(level == highest[design.reshape(-1)])


def used_rows(X: FloatArray, d: int, most: int) -> IntArray:
    """The rows of X (s, d + L - 1) that predictions use: at most `most`, without those of designs that went further.

    Of more than that, the readings at the lowest levels are left out.
    """
    if len(X) <= most:
        return np.arange(len(X))
    is_superseded = np.ones(len(X), dtype=bool)
    is_superseded[latest_rows(X, d)] = False
    # The latest reading of each design first, then by level, then the newest.
    order = np.lexsort((-np.arange(len(X)), -X[:, d:].sum(axis=1), is_superseded))
    return np.sort(order[:most])


def _whole_designs(X: FloatArray, d: int, rng: np.random.Generator) -> IntArray:
    """Rows of X of random designs, with all their levels, `MOST_FIT` or a few more; all rows if they are fewer."""
    if len(X) <= MOST_FIT:
        return np.arange(len(X))
    _, design = np.unique(X[:, :d], axis=0, return_inverse=True)
    design = design.reshape(-1)
    order = rng.permutation(int(design.max()) + 1)
    counts = np.bincount(design)[order]
    chosen = order[: int(np.searchsorted(np.cumsum(counts), MOST_FIT)) + 1]
    return np.flatnonzero(np.isin(design, chosen))


@dataclass(frozen=True, slots=True, eq=False)
class _LevelPrior:
    """Normal densities of the logarithms of gaps and own parts."""

    mean: FloatArray
    deviation: FloatArray

    @classmethod
    def of(cls, levels: int, *, noisy: bool, proxies: int = 0) -> _LevelPrior:
        stops = levels - proxies
        own = [PROXY_OWN[0]] * proxies + [OWN[0] + OWN_GROWTH * (stops - 2 - level) for level in range(stops - 1)]
        own += [OWN[0] - OWN_GROWTH] if noisy else []
        gaps = [PROXY_GAP] * proxies + [GAP] * (stops - 1)
        deviations = [gap[1] for gap in gaps] + [PROXY_OWN[1]] * proxies + [OWN[1]] * (len(own) - proxies)
        return cls(np.array([gap[0] for gap in gaps] + own), np.array(deviations))

    def penalised(self, theta: FloatArray, value: float, gradient: FloatArray) -> tuple[float, FloatArray]:
        """A loss at theta and its gradient, with the prior's added."""
        away = (theta - self.mean) / self.deviation
        return value + 0.5 * float(away @ away), gradient + away / self.deviation


class _LevelLoss:
    """The negative log posterior density of theta, and its gradient, given the covariance k (s, s) of the designs."""

    def __init__(
        self,
        k: FloatArray,
        columns: FloatArray,
        z: FloatArray,
        variances: FloatArray,
        prior: _LevelPrior,
        proxies: int = 0,
    ) -> None:
        self._k, self._z, self._prior, self._levels = k, z, prior, columns.shape[1] + 1
        self._variances, self._proxies = variances, proxies
        self._level = np.rint(columns.sum(axis=1)).astype(np.int64)
        # A gap lies between two levels if they are on different sides of it: that of a proxy has itself on one side.
        beyond = [self._level == gap if gap < proxies else self._beyond(gap) for gap in range(self._levels - 1)]
        self._crosses = np.stack([(side[:, None] != side).ravel() for side in beyond]).astype(float)

    def _beyond(self, gap: int) -> BoolArray:
        """Which rows are nearer to the last level than a gap between stops; proxies are."""
        return np.asarray((self._level > gap) | (self._level < self._proxies))

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        gaps, own = level_parts(theta, self._levels)
        smooth = self._k * between(self._level, self._level, gaps, self._proxies)
        spread = float(self._k.diagonal().max())
        noise = own[self._level] + self._variances
        unit = math.sqrt(spread) if self._variances.any() else None
        factor, _ = factorised(lambda jitter: smooth + np.diag(noise + jitter * spread), unit=unit)
        alpha = cho_solve((factor, True), self._z, check_finite=False)
        value = 0.5 * float(self._z @ alpha) + float(np.log(factor.diagonal()).sum())
        value += 0.5 * len(self._z) * math.log(2.0 * math.pi)
        # The gradient is -1/2 sum_ij W_ij dK_ij.
        W = np.outer(alpha, alpha) - cho_solve((factor, True), np.eye(len(self._z)), check_finite=False)
        by_gaps = 0.5 * gaps * (self._crosses @ (W * smooth).ravel())
        by_own = -0.5 * own * np.bincount(self._level, W.diagonal(), minlength=self._levels)
        gradient = np.concatenate([by_gaps, by_own[: len(theta) - len(gaps)]])
        return self._prior.penalised(theta, value, gradient)
