"""A monotone warp of losses, so that a heavy tail does not dominate the model.

Positive losses (energy, time, error), and negative ones (a positive quantity that is maximised), are warped by Box and
Cox's power transformation (An Analysis of Transformations, 1964), whose inverse keeps the sign; others by that of Yeo
and Johnson (A New Family of Power Transformations, 2000) after standardising. The power maximises the likelihood of the
warped losses as a normal sample. It is between 0, a logarithm, and 2, where the inverse is defined everywhere.

The warp is monotone, so a box in warped losses is a box in losses. Predictions are asymmetric about their median, and
the volumes of the Pareto region are still those of the losses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.surrogates.base import (
    Surrogate,
    around,
    below,
    held_out,
    interval,
    is_constant,
    joint,
    location_and_scale,
    log_evidence,
    training_data,
    unfitted,
)

POWERS = np.linspace(0.0, 2.0, 21)
FEWEST = 5  # the fewest losses from which a warp is learned
HUGE = 1e100
LEAST = 1e-4  # a loss of one sign below this share of the median counts as that share, since zero has no logarithm


@dataclass(frozen=True, slots=True, kw_only=True)
class Warp:
    """A monotone function of losses."""

    sign: int  # 1 if losses are positive, -1 if negative, 0 if they are both
    location: float  # the constant subtracted from losses of both signs
    scale: float  # the constant they are divided by then
    power: float  # 1 is a linear function

    def __call__(self, y: FloatArray) -> FloatArray:
        """The warped losses (s,)."""
        with np.errstate(over="ignore"):
            x = np.clip((y - self.location) / self.scale, -HUGE, HUGE)
        if self.sign:
            return self.sign * _power(np.maximum(self.sign * x, LEAST) - 1.0, self.power)
        return _power(np.maximum(x, 0.0), self.power) - _power(np.maximum(-x, 0.0), 2.0 - self.power)

    def inverse(self, z: FloatArray) -> FloatArray:
        """The losses (s,) whose warp is z (s,)."""
        if self.sign:
            x = self.sign * (1.0 + _root(self.sign * z, self.power))
        else:
            x = _root(np.maximum(z, 0.0), self.power) - _root(np.maximum(-z, 0.0), 2.0 - self.power)
        return np.asarray(self.location + self.scale * x)

    def log_slope(self, y: FloatArray) -> FloatArray:
        """The logarithm of the warp's derivative at the losses y (s,)."""
        with np.errstate(over="ignore"):
            x = np.clip((y - self.location) / self.scale, -HUGE, HUGE)
        return (self.power - 1.0) * self.bend(x) - math.log(self.scale)

    def bend(self, x: FloatArray) -> FloatArray:
        """The factor of (power - 1) in the log slope at the scaled losses x (s,)."""
        if self.sign:
            return np.log(np.maximum(np.abs(x), LEAST))
        return np.sign(x) * np.log1p(np.abs(x))


def learned_warp(y: FloatArray) -> Warp:
    """The warp that makes the losses y (s,) look most like a normal sample.

    >>> learned_warp(np.exp(np.linspace(-3.0, 3.0, 50))).power
    0.0
    """
    location, scale = location_and_scale(y)
    if len(y) < FEWEST or is_constant(y):
        return Warp(sign=0, location=location, scale=scale, power=1.0)
    sign = int(np.sign(y[0])) if (y > 0).all() or (y < 0).all() else 0
    if sign:
        location, scale = 0.0, float(np.median(np.abs(y)))
    x = (y - location) / scale
    warps = [Warp(sign=sign, location=location, scale=scale, power=float(p)) for p in POWERS]
    bend = float(warps[0].bend(x).sum())
    fits = [(w.power - 1.0) * bend - 0.5 * len(y) * float(np.log(w(y).var())) for w in warps]
    return warps[int(np.argmax(fits))]


def _power(x: FloatArray, power: float) -> FloatArray:
    """((x + 1)^power - 1) / power, and its limit log(x + 1)."""
    return np.log1p(x) if power < 1e-9 else np.asarray(((x + 1.0) ** power - 1.0) / power)


def _root(z: FloatArray, power: float) -> FloatArray:
    """The inverse of `_power`; never below -1."""
    if power < 1e-9:
        return np.expm1(np.minimum(z, 200.0))
    return np.asarray(np.maximum(z * power + 1.0, 0.0) ** (1.0 / power) - 1.0)


@dataclass(frozen=True, slots=True)
class Warped:
    """A surrogate that models warped losses and predicts losses.

    Its mean is the median of the prediction, its deviation half the width of the interval of one standard deviation.
    """

    model: Surrogate  # of the warped losses
    warp: Warp | None = None  # None before `fit`
    log_slope: float = 0.0  # the logarithm of the warp's slope, summed over the losses

    @property
    def log_evidence(self) -> float:
        """The log density of the losses in their own unit."""
        return log_evidence(self.model) + self.log_slope

    def fit(self, X: FloatArray, y: FloatArray, *, groups: IntArray, rng: np.random.Generator) -> Warped:
        """This surrogate with warp and model learned from the losses y (s,) of X (s, d)."""
        X, y = training_data(X, y)
        warp = learned_warp(y)
        return Warped(self.model.fit(X, warp(y), groups=groups, rng=rng), warp, float(warp.log_slope(y).sum()))

    def extend(self, X: FloatArray, y: FloatArray) -> Warped:
        """This surrogate with rows appended; the warp is kept."""
        warp = self._fitted()
        X, y = training_data(X, y)
        return Warped(self.model.extend(X, warp(y)), warp, self.log_slope + float(warp.log_slope(y).sum()))

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Median (m,) and standard deviation (m,) of the loss."""
        lower, median, upper = self.interval(X, 1.0)
        return median, (upper - lower) / 2.0

    def interval(self, X: FloatArray, half: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The losses (m,) `half` standard deviations below the median, at it, and above it."""
        warp = self._fitted()
        lower, median, upper = (warp.inverse(z) for z in interval(self.model, X, half))
        return lower, median, upper

    def below(self, X: FloatArray, limit: float) -> FloatArray:
        """The probability (m,) that the loss at each of the designs X (m, d) is at most a limit."""
        return below(self.model, X, float(self._fitted()(np.array([limit]))[0]))

    def held_out(self) -> FloatArray:
        """How far each warped loss is from its prediction by all others, in standard deviations (s,)."""
        return held_out(self.model)

    def draws(self, X: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws (count, m) of the loss at the designs X (m, d)."""
        return self._fitted().inverse(joint(self.model).draws(X, count, rng))

    def around(self, X: FloatArray) -> Warped:
        """This surrogate with the rows that predict the designs X (m, d)."""
        return replace(self, model=around(self.model, X))

    def covariance(self, X: FloatArray, others: FloatArray) -> FloatArray:
        """The covariance (m, o): the correlation of the warped losses, times the standard deviations of `predict`."""
        covariance = joint(self.model).covariance(X, others)
        for axis, D in enumerate((X, others)):
            warped, deviation = self.model.predict(D)[1], self.predict(D)[1]
            ratio = np.divide(deviation, warped, out=np.zeros_like(warped), where=warped > 0)
            covariance = covariance * (ratio[:, None] if axis == 0 else ratio)
        return covariance

    def _fitted(self) -> Warp:
        if self.warp is None:
            raise unfitted("Warped")
        return self.warp
