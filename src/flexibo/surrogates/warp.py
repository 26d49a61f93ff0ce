"""A monotone warp of losses, so that a heavy tail does not dominate the model.

Positive losses (energy, time, error), and negative ones (a positive quantity that is maximised), are warped by Box and
Cox's power transformation (An Analysis of Transformations, 1964), whose inverse keeps the sign; others by that of Yeo
and Johnson (A New Family of Power Transformations, 2000) after standardising. The power maximises the likelihood of the
warped losses as a normal sample. It is between 0, a logarithm, and 2, where the inverse is defined everywhere.

The own variances of losses are multiplied by the square of the warp's derivative.

The warp is monotone, so a box in warped losses is a box in losses. Predictions are asymmetric about their median, and
the volumes of the Pareto region are still those of the losses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo._internal.consensus import consensus
from flexibo.surrogates.base import (
    HUGE_VARIANCE,
    Surrogate,
    around,
    below,
    extended_by,
    fitted_to,
    held_out,
    hull,
    interval,
    is_constant,
    is_stepwise,
    joint,
    location_and_scale,
    log_evidence,
    rescaled,
    takes_variances,
    training_data,
    unfitted,
)
from flexibo.surrogates.truncated import chance, within

POWERS = np.linspace(0.0, 2.0, 21)
FEWEST = 5  # the fewest losses from which a warp is learned
HUGE = 1e100
GAP = 1e-4  # a loss below this share of the next greater one is as good as zero, which has no logarithm
FEW = 0.1  # at most this share of the losses, or one, is as good as zero
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, slots=True, kw_only=True)
class Warp:
    """A monotone function of losses."""

    sign: int  # 1 if losses are positive, -1 if negative, 0 if they are both
    location: float  # the constant subtracted from losses of both signs
    scale: float  # the constant they are divided by then
    power: float  # 1 is a linear function
    least: float = TINY  # losses of one sign and a smaller size, in units of scale, count as this

    def __call__(self, y: FloatArray) -> FloatArray:
        """The warped losses (s,)."""
        with np.errstate(over="ignore"):
            x = np.clip((y - self.location) / self.scale, -HUGE, HUGE)
        if self.sign:
            return self.sign * _box_cox(np.maximum(self.sign * x, self.least), self.power)
        return _power(np.maximum(x, 0.0), self.power) - _power(np.maximum(-x, 0.0), 2.0 - self.power)

    def inverse(self, z: FloatArray) -> FloatArray:
        """The losses (s,) whose warp is z (s,)."""
        if self.sign:
            x = self.sign * _box_cox_inverse(self.sign * z, self.power)
        else:
            x = _root(np.maximum(z, 0.0), self.power) - _root(np.maximum(-z, 0.0), 2.0 - self.power)
        return np.asarray(self.location + self.scale * x)

    def ends(self, least: float, most: float) -> tuple[float, float]:
        """The warps of two bounds, which may be infinite or, unlike losses, of the other sign or 0."""
        low, high = (self._end(bound) if math.isfinite(bound) else bound for bound in (least, most))
        return low, high

    def _end(self, bound: float) -> float:
        if self.sign and self.sign * bound <= 0:
            return -self.sign * (1.0 / self.power if self.power else math.inf)
        return float(replace(self, least=TINY)(np.array([bound]))[0])

    def log_slope(self, y: FloatArray) -> FloatArray:
        """The logarithm of the warp's derivative at the losses y (s,)."""
        with np.errstate(over="ignore"):
            x = np.clip((y - self.location) / self.scale, -HUGE, HUGE)
        return (self.power - 1.0) * self.bend(x) - math.log(self.scale)

    def variances(self, y: FloatArray, variances: FloatArray | None) -> FloatArray | None:
        """The variances (s,) of the warped losses whose own have these: by the square of the derivative."""
        if variances is None:
            return None
        with np.errstate(over="ignore", divide="ignore"):
            return np.minimum(np.exp(np.log(variances) + 2.0 * self.log_slope(y)), HUGE_VARIANCE)

    def bend(self, x: FloatArray) -> FloatArray:
        """The factor of (power - 1) in the log slope at the scaled losses x (s,)."""
        if self.sign:
            return np.log(np.maximum(np.abs(x), self.least))
        return np.sign(x) * np.log1p(np.abs(x))


def learned_warp(y: FloatArray, variances: FloatArray | None = None) -> Warp:
    """The warp that makes the losses y (s,) look most like a normal sample, with noise of own variances (s,).

    >>> learned_warp(np.exp(np.linspace(-3.0, 3.0, 50))).power
    0.0
    """
    location, scale = location_and_scale(y, variances)
    if len(y) < FEWEST or is_constant(y):
        return Warp(sign=0, location=location, scale=scale, power=1.0)
    sign = int(np.sign(y[0])) if (y > 0).all() or (y < 0).all() else 0
    if sign:
        location, scale = 0.0, float(np.median(np.abs(y)))
    x = (y - location) / scale
    least = smallest_size(np.abs(x)) if sign else TINY
    warps = [Warp(sign=sign, location=location, scale=scale, power=float(p), least=least) for p in POWERS]
    if variances is not None and variances.any():
        return max(warps, key=lambda warp: _log_density(warp, y, variances))
    bend = float(warps[0].bend(x).sum())
    fits = [(w.power - 1.0) * bend - 0.5 * len(y) * float(np.log(w(y).var())) for w in warps]
    return warps[int(np.argmax(fits))]


def _log_density(warp: Warp, y: FloatArray, variances: FloatArray) -> float:
    """The log density of losses y (s,) whose warp is a normal sample, with noise of own variances (s,)."""
    z, own = warp(y), warp.variances(y, variances)
    assert own is not None
    mean, common = consensus(z, own)
    total = own + common
    return float((warp.log_slope(y) - 0.5 * np.log(total) - 0.5 * (z - mean) ** 2 / total).sum())


def smallest_size(sizes: FloatArray) -> float:
    """The size that losses of these sizes (s,) have at least; smaller ones count as it.

    Losses may spread over any number of decades. But a few that are far smaller than all others are rounding errors of
    zero rather than the end of a tail, and their logarithms would decide the warp.

    >>> smallest_size(np.array([1e-8, 1e-6, 1e-3, 1.0, 1e2])), smallest_size(np.array([1e-17, 0.2, 0.5, 1.0, 3.0]))
    (1e-12, 2e-05)
    """
    ordered = np.sort(sizes)
    few = max(1, int(FEW * len(ordered)))
    gaps = np.flatnonzero(ordered[:few] < GAP * ordered[1 : few + 1])
    return max(GAP * float(ordered[gaps[-1] + 1 if len(gaps) else 0]), TINY)


def _box_cox(x: FloatArray, power: float) -> FloatArray:
    """(x^power - 1) / power, and its limit log(x)."""
    return np.log(x) if power < 1e-9 else np.asarray((x**power - 1.0) / power)


def _box_cox_inverse(z: FloatArray, power: float) -> FloatArray:
    """The inverse of `_box_cox`; never below 0."""
    if power < 1e-9:
        return np.exp(np.minimum(z, 200.0))
    return np.asarray(np.maximum(z * power + 1.0, 0.0) ** (1.0 / power))


def _power(x: FloatArray, power: float) -> FloatArray:
    """((x + 1)^power - 1) / power, and its limit log(x + 1)."""
    return np.log1p(x) if power < 1e-9 else np.asarray(((x + 1.0) ** power - 1.0) / power)


def _root(z: FloatArray, power: float) -> FloatArray:
    """The inverse of `_power` for losses that are not negative."""
    if power < 1e-9:
        return np.expm1(np.minimum(z, 200.0))
    return np.asarray((z * power + 1.0) ** (1.0 / power) - 1.0)


@dataclass(frozen=True, slots=True)
class Warped:
    """A surrogate that models warped losses and predicts losses.

    Its mean is the median of the prediction, its deviation half the width of the interval of one standard deviation.
    """

    model: Surrogate  # of the warped losses
    warp: Warp | None = None  # None before `fit`
    log_slope: float = 0.0  # the logarithm of the warp's slope, summed over the losses

    @property
    def takes_variances(self) -> bool:
        """Whether it uses the variances of the own noise of losses: if its model does."""
        return takes_variances(self.model)

    @property
    def log_evidence(self) -> float:
        """The log density of the losses in their own unit."""
        return log_evidence(self.model) + self.log_slope

    def fit(
        self,
        X: FloatArray,
        y: FloatArray,
        *,
        groups: IntArray,
        rng: np.random.Generator,
        variances: FloatArray | None = None,
    ) -> Warped:
        """This surrogate with warp and model learned from the losses y (s,) of X (s, d), with own variances (s,)."""
        X, y = training_data(X, y)
        warp = learned_warp(y, variances)
        model = fitted_to(self.model, X, warp(y), warp.variances(y, variances), groups=groups, rng=rng)
        return Warped(model, warp, float(warp.log_slope(y).sum()))

    def extend(self, X: FloatArray, y: FloatArray, *, variances: FloatArray | None = None) -> Warped:
        """This surrogate with rows appended; the warp is kept."""
        warp = self._fitted()
        X, y = training_data(X, y)
        model = extended_by(self.model, X, warp(y), warp.variances(y, variances))
        return Warped(model, warp, self.log_slope + float(warp.log_slope(y).sum()))

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
        warp = self._fitted()
        lower, median, upper = (warp.inverse(z) for z in interval(self.model, X, half))
        return lower, median, upper

    def hull(self, X: FloatArray, half: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The losses (m,) at the ends of the model's own hull, and the median."""
        warp = self._fitted()
        lower, median, upper = (warp.inverse(z) for z in hull(self.model, X, half))
        return lower, median, upper

    def within(self, least: float, most: float) -> Warped:
        """This surrogate, given that losses are at least `least` and at most `most`."""
        low, high = self._fitted().ends(least, most)
        return replace(self, model=within(self.model, low, high))

    def chance(self, X: FloatArray) -> FloatArray:
        """The probability (m,) that losses at the designs X (m, d) are possible, before that was known."""
        return chance(self.model, X)

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
        return rescaled(joint(self.model).covariance(X, others), self.model, self, X, others)

    def _fitted(self) -> Warp:
        if self.warp is None:
            raise unfitted("Warped")
        return self.warp
