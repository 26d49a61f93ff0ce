"""Surrogates of losses that are known to lie between two bounds.

A Gaussian process knows no bounds: beside small positive errors it predicts negative ones. What is believed of one
design is therefore the surrogate's normal distribution, given that the loss is possible: a truncated normal one. Its
middle is the median, and the interval of `half` standard deviations ends at the same quantiles as that of a normal
loss. So a prediction that is far from the bounds does not change, and no prediction is outside.

The condition is on one design at a time. Joint draws get these distributions by a monotone function for each design,
which keeps their correlations as ranks; it is the identity far from the bounds.

Surrogates of warped losses are truncated where the warp takes the bounds. Averaged ones also learn from the bounds
which of their models to believe: one that thinks a loss is probably impossible loses weight there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri_exp

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo.surrogates.base import (
    Surrogate,
    around,
    below,
    extended_by,
    fitted_to,
    held_out,
    hull,
    is_skewed,
    is_stepwise,
    joint,
    offers,
    rescaled,
    takes_variances,
)

_SIDES = np.array([[-1.0], [0.0], [1.0]])
FAR = 5.0  # bounds that are further away than this many standard deviations change nothing


@runtime_checkable
class Boundable(Protocol):
    """A surrogate that has its own way of keeping its predictions within bounds."""

    def within(self, least: float, most: float) -> Surrogate:
        """This surrogate, given that losses are at least `least` and at most `most`."""


@runtime_checkable
class Conditioned(Protocol):
    """A surrogate that knows how probable it was that losses are possible."""

    def chance(self, X: FloatArray) -> FloatArray:
        """The probability (m,) that losses at the designs X (m, d) are possible, before that was known."""


def within(model: Surrogate, least: float, most: float) -> Surrogate:
    """A fitted surrogate, given that losses are at least `least` and at most `most`; itself without bounds."""
    if least == -math.inf and most == math.inf:
        return model
    return model.within(least, most) if offers(model, Boundable) else Truncated(model, least, most)


def chance(model: Surrogate, X: FloatArray) -> FloatArray:
    """The probability (m,) that losses at X (m, d) are possible, before that was known; 1 without bounds."""
    return model.chance(X) if offers(model, Conditioned) else np.ones(len(X))


def untruncated(model: Surrogate) -> Surrogate:
    """A surrogate without the bounds that `within` gave it; itself if it is not `Truncated`."""
    return model.model if isinstance(model, Truncated) else model


@dataclass(frozen=True, slots=True)
class Truncated:
    """A surrogate whose normal predictions are truncated at two bounds; either may be infinite."""

    model: Surrogate
    least: float
    most: float

    @property
    def takes_variances(self) -> bool:
        """Whether it uses the variances of the own noise of losses: if its model does."""
        return takes_variances(self.model)

    def fit(
        self,
        X: FloatArray,
        y: FloatArray,
        *,
        groups: IntArray,
        rng: np.random.Generator,
        variances: FloatArray | None = None,
    ) -> Truncated:
        """This surrogate fitted to the losses y (s,) of X (s, d)."""
        return replace(self, model=fitted_to(self.model, X, y, variances, groups=groups, rng=rng))

    def extend(self, X: FloatArray, y: FloatArray, *, variances: FloatArray | None = None) -> Truncated:
        """This surrogate with rows appended."""
        return replace(self, model=extended_by(self.model, X, y, variances))

    @property
    def is_stepwise(self) -> bool:
        """Whether its model is."""
        return is_stepwise(self.model)

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Median (m,) and standard deviation (m,) of the loss."""
        lower, median, upper = self.interval(X, 1.0)
        return median, (upper - lower) / 2.0

    def interval(self, X: FloatArray, half: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The losses (m,) `half` standard deviations below the median, at it, and above it."""
        mean, deviation = self.model.predict(X)
        raw = self.model.interval(X, half) if is_skewed(self.model) else mean + half * _SIDES * deviation
        box = np.clip(raw, self.least, self.most)
        near = self._near(mean, deviation)
        if near.any():
            box[:, near] = self._quantile(mean[near], deviation[near], half * _SIDES)
        lower, middle, upper = box
        return lower, middle, upper

    def hull(self, X: FloatArray, half: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The smallest interval (m,) that contains that of the surrogate as far as it is possible, and `interval`."""
        lower, middle, upper = self.interval(X, half)
        raw_lower, _, raw_upper = (np.clip(side, self.least, self.most) for side in hull(self.model, X, half))
        return np.minimum(lower, raw_lower), middle, np.maximum(upper, raw_upper)

    def below(self, X: FloatArray, limit: float) -> FloatArray:
        """The probability (m,) that the loss at each of the designs X (m, d) is at most a limit."""
        if not self.least <= limit < self.most:
            return np.full(len(X), float(limit >= self.most))
        probability = np.array(below(self.model, X, limit))
        mean, deviation = self.model.predict(X)
        near = self._near(mean, deviation)
        if near.any():
            low, end, high = ((side - mean[near]) / deviation[near] for side in (self.least, limit, self.most))
            all_of_it = _mass(low, high)
            middle = np.clip(mean[near], self.least, self.most)
            step = (middle <= limit).astype(float)  # where rounding leaves nothing to divide by
            probability[near] = np.divide(_mass(low, end), all_of_it, out=step, where=all_of_it > 0.0)
        return probability

    def chance(self, X: FloatArray) -> FloatArray:
        """The probability (m,) that losses at the designs X (m, d) are possible, before that was known."""
        mean, deviation = self.model.predict(X)
        probability = ((mean >= self.least) & (mean <= self.most)).astype(float)
        near = self._near(mean, deviation)
        low, high = ((side - mean[near]) / deviation[near] for side in (self.least, self.most))
        probability[near] = _mass(low, high)
        return probability

    def held_out(self) -> FloatArray:
        """How far each loss is from its prediction by all others without bounds, in standard deviations (s,)."""
        return held_out(self.model)

    def draws(self, X: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws (count, m) of the loss at the designs X (m, d)."""
        drawn = joint(self.model).draws(X, count, rng)
        mean, deviation = self.model.predict(X)
        near = self._near(mean, deviation)
        if near.any():
            score = (drawn[:, near] - mean[near]) / deviation[near]
            drawn[:, near] = self._quantile(mean[near], deviation[near], score)
        return np.clip(drawn, self.least, self.most)

    def around(self, X: FloatArray) -> Truncated:
        """This surrogate with the rows that predict the designs X (m, d)."""
        return replace(self, model=around(self.model, X))

    def covariance(self, X: FloatArray, others: FloatArray) -> FloatArray:
        """The covariance (m, o): the correlation without bounds, times the standard deviations of `predict`."""
        return rescaled(joint(self.model).covariance(X, others), self.model, self, X, others)

    def _near(self, mean: FloatArray, deviation: FloatArray) -> BoolArray:
        """Where (m,) a bound changes the prediction."""
        reach = FAR * deviation
        return np.asarray((deviation > 0.0) & ((mean - reach < self.least) | (mean + reach > self.most)))

    def _quantile(self, mean: FloatArray, deviation: FloatArray, score: FloatArray) -> FloatArray:
        """The losses that are as far into the truncated distribution as a normal score is into the standard one."""
        z = truncated_score(score, (self.least - mean) / deviation, (self.most - mean) / deviation)
        moved = mean + deviation * np.where(np.isfinite(z), z, 0.0)  # bounds may be too far away to compute with
        return np.asarray(np.clip(moved, self.least, self.most))


def truncated_score(score: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """The standard normal variable between low and high with the same cumulative probability as a score without.

    Logarithms of probabilities keep it accurate far from 0; the tail is always that on the left, by symmetry.

    >>> truncated_score(np.array([0.0, 1.0]), np.array([0.0, -np.inf]), np.array([np.inf, np.inf])).round(4).tolist()
    [0.6745, 1.0]
    """
    if (low == -np.inf).all():
        return np.asarray(ndtri_exp(log_ndtr(score) + log_ndtr(high)))
    if (high == np.inf).all():
        return np.asarray(-ndtri_exp(log_ndtr(-score) + log_ndtr(-low)))
    flipped = low > -high
    left, right = np.where(flipped, -high, low), np.where(flipped, -low, high)
    score = np.where(flipped, -score, score)
    z = ndtri_exp(np.logaddexp(log_ndtr(-score) + log_ndtr(left), log_ndtr(score) + log_ndtr(right)))
    return np.asarray(np.where(flipped, -z, z))


def _mass(low: FloatArray, high: FloatArray) -> FloatArray:
    """The probability that a standard normal variable is between low and high, accurate in both tails."""
    flipped = low > -high
    left, right = np.where(flipped, -high, low), np.where(flipped, -low, high)
    return np.asarray(np.maximum(ndtr(right) - ndtr(left), 0.0))
