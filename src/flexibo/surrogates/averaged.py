"""Several models of the same losses, averaged by their evidence.

With ten to forty evaluations no single model is a safe choice: whether losses should be warped, and whether options
matter about equally or some of them hardly, shows only later. So all models are fitted, and each has a weight
exp(log evidence / `TEMPERATURE`). The evidence is the density of the losses under the fitted model, in the unit of the
losses, so that warped and plain models can be compared. Since the hyperparameters are fitted to the same losses, the
evidence is overconfident; the temperature compensates for that.

Predictions are those of the mixture, by the law of total variance on each side of the mean: the models' own variances,
plus that of their means. If bounds of the losses are known, a model's weight at a design is multiplied by the
probability that it gave to a loss within them (Bayes' rule): where a plain model predicts a negative error, a warped
one is believed instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.errors import InvalidValueError
from flexibo.surrogates.base import (
    Surrogate,
    around,
    below,
    extended_by,
    fitted_to,
    held_out,
    hull,
    interval,
    is_stepwise,
    joint,
    log_evidence,
    some_of,
    takes_variances,
    training_data,
    unfitted,
)
from flexibo.surrogates.fit_memory import recalled
from flexibo.surrogates.truncated import chance, untruncated, within

TEMPERATURE = 4.0  # differences of log evidence are divided by this
COMPARE_ROWS = 64  # the most losses that models are compared on; only those with weight learn from more
EVIDENCE_ROWS = 500  # the most losses that the evidence is computed for: more would decide nothing, at a cubic cost
LARGEST = 1e299  # a log evidence beyond it, also an infinite one, decides as much
LEAST_WEIGHT = 0.02  # a model of less weight is left out
REACH = 2.0  # predictions are clipped this many ranges beyond the losses, since a warp extrapolates without bound


@dataclass(frozen=True, slots=True)
class Averaged:
    """A surrogate that averages others, weighted by their evidence at `fit`."""

    models: tuple[Surrogate, ...]  # unfitted
    fitted: tuple[Surrogate, ...] = ()  # those with weight; empty before `fit`
    weights: tuple[float, ...] = ()  # sum to 1
    seen: tuple[float, float] = (math.inf, -math.inf)  # the least and the greatest loss so far
    bounds: tuple[float, float] = (-math.inf, math.inf)  # the least and the greatest loss that is possible

    def __post_init__(self) -> None:
        if not self.models:
            raise InvalidValueError("models is empty; give at least one surrogate to average.")

    @property
    def takes_variances(self) -> bool:
        """Whether it uses the variances of the own noise of losses: if one of its models does."""
        return any(map(takes_variances, self.models))

    def fit(
        self,
        X: FloatArray,
        y: FloatArray,
        *,
        groups: IntArray,
        rng: np.random.Generator,
        variances: FloatArray | None = None,
    ) -> Averaged:
        """This surrogate with its models weighted by, and fitted to, the losses y (s,) of X (s, d).

        If there are many losses, all models are fitted to `COMPARE_ROWS` and weighted by the evidence of at most
        `EVIDENCE_ROWS`; those with weight are then fitted to all. `variances` (s,) are those of the losses' own noise.
        """
        X, y = training_data(X, y)
        some, rest = _split(y, rng)
        own = some_of(variances, some)
        fitted = [fitted_to(model, X[some], y[some], own, groups=groups, rng=rng) for model in self.models]
        weights = evidence_weights(_log_evidence(fitted, X[rest], y[rest], some_of(variances, rest)))
        kept = np.flatnonzero(weights)
        if len(rest):
            fitted = [fitted_to(self.models[i], X, y, variances, groups=groups, rng=rng) for i in kept]
        else:
            fitted = [fitted[i] for i in kept]
        seen = float(y.min()), float(y.max())
        return Averaged(self.models, tuple(fitted), tuple(weights[kept].tolist()), seen).within(*self.bounds)

    def within(self, least: float, most: float) -> Averaged:
        """This surrogate, given that losses are at least `least` and at most `most`."""
        fitted = tuple(within(model, least, most) for model in self._fitted())
        return replace(self, fitted=fitted, bounds=(least, most))

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest loss that is predicted."""
        reach = REACH * self._unit()
        return self.seen[0] - reach, self.seen[1] + reach

    def extend(self, X: FloatArray, y: FloatArray, *, variances: FloatArray | None = None) -> Averaged:
        """This surrogate with rows appended; the weights are kept."""
        fitted = tuple(extended_by(model, X, y, variances) for model in self._fitted())
        seen = min(float(np.min(y)), self.seen[0]), max(float(np.max(y)), self.seen[1])
        return replace(self, fitted=fitted, seen=seen)

    @property
    def is_stepwise(self) -> bool:
        """Whether any of its models is."""
        return any(is_stepwise(model) for model in self._fitted())

    @property
    def log_evidence(self) -> float:
        """The log density of the losses under the best of its models."""
        return max(log_evidence(untruncated(model)) for model in self._fitted())

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean (m,) and standard deviation (m,) of the loss."""
        lower, mean, upper = self.interval(X, 1.0)
        return mean, (upper - lower) / 2.0

    def interval(self, X: FloatArray, half: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The losses (m,) `half` standard deviations below the mean, at it, and above it.

        They stay within the lowest and the highest of all models, as the quantiles of a mixture do.
        """
        boxes = np.array([interval(model, X, half) for model in self._fitted()])
        return self.mixture(boxes, self._weights(X), half)

    def _weights(self, X: FloatArray) -> FloatArray:
        """The weights of the models at the designs X (m, d), given the bounds: (k, m), or (k,) if all are equal."""
        weights = np.array(self.weights)
        if len(weights) == 1 or self.bounds == (-math.inf, math.inf):
            return weights
        chances = np.array([chance(model, X) for model in self._fitted()])
        if (chances == 1.0).all():
            return weights
        given = weights[:, None] * chances
        total = given.sum(axis=0)
        return np.where(total > 0.0, given / np.where(total > 0.0, total, 1.0), weights[:, None])

    def mixture(self, boxes: FloatArray, weights: FloatArray, half: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The interval (m,) that those of the models (k, 3, m) average to, with weights (k, m) or (k,)."""
        # In units of the losses' range: squares of huge or tiny losses would overflow or vanish.
        unit = self._unit()
        lower, middle, upper = np.clip(boxes, *self.limits).transpose(1, 0, 2) / unit
        mean = _average(weights, middle)
        apart = half**2 * _average(weights, (middle - mean) ** 2)
        down = np.sqrt(_average(weights, (middle - lower) ** 2) + apart)
        up = np.sqrt(_average(weights, (upper - middle) ** 2) + apart)
        low, high = np.maximum(mean - down, lower.min(axis=0)), np.minimum(mean + up, upper.max(axis=0))
        low, mean, high = (np.clip(unit * side, *self.bounds) for side in (low, mean, high))
        return low, mean, high

    def hull(self, X: FloatArray, half: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The smallest interval (m,) that contains those of all models with weight, and the mean.

        If any of the models is right, a loss leaves it with at most the probability that a normal one is further than
        `half` standard deviations from its mean. The interval of the mixture, and one clipped at `limits`, do not have
        this property.
        """
        boxes = np.array([hull(model, X, half) for model in self._fitted()])
        return boxes[:, 0].min(axis=0), self.mixture(boxes, self._weights(X), half)[1], boxes[:, 2].max(axis=0)

    def below(self, X: FloatArray, limit: float) -> FloatArray:
        """The probability (m,) that the loss at each of the designs X (m, d) is at most a limit."""
        chances = np.array([below(model, X, limit) for model in self._fitted()])
        return _average(self._weights(X), chances)

    def held_out(self) -> FloatArray:
        """How far each loss is from its prediction by all others (s,): the least of all models, 0 between two of them.

        It is the number of standard deviations with which `hull` just contains the loss.
        """
        residuals = np.array([held_out(model) for model in self._fitted()])
        return np.asarray(np.clip(0.0, residuals.min(axis=0), residuals.max(axis=0)))

    def draws(self, X: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws (count, m) of the loss at the designs X (m, d): each from one model, drawn by weight."""
        fitted = self._fitted()
        which = rng.choice(len(fitted), size=count, p=self.weights)
        drawn = np.empty((count, len(X)))
        for i in np.unique(which):
            rows = which == i
            drawn[rows] = joint(fitted[i]).draws(X, int(rows.sum()), rng)
        return np.clip(drawn, *self.limits)

    def covariance(self, X: FloatArray, others: FloatArray) -> FloatArray:
        """The covariance (m, o): the average of the models' own, plus that of their means."""
        weights = np.array(self.weights)
        both = X if others is X else np.vstack([X, others])
        models = [around(model, both) for model in self._fitted()]
        total = np.zeros((len(X), len(others)))
        for weight, model in zip(weights, models, strict=True):
            total += weight * joint(model).covariance(X, others)
        here, there = (np.array([model.predict(D)[0] for model in models]) for D in (X, others))
        here, there = here - weights @ here, there - weights @ there
        return np.asarray(total + (weights[:, None] * here).T @ there)

    def _unit(self) -> float:
        """The range of the losses so far, or their size if they are all equal."""
        low, high = self.seen
        return (high - low) or abs(low) or 1.0

    def _fitted(self) -> tuple[Surrogate, ...]:
        if not self.fitted:
            raise unfitted("Averaged")
        return self.fitted


def _log_evidence(
    fitted: Sequence[Surrogate], X: FloatArray, y: FloatArray, variances: FloatArray | None
) -> FloatArray:
    """The log evidence (k,) of models after the losses y (r,) of X (r, d); what was found before is not repeated."""
    if not len(y):
        return np.array([log_evidence(model) for model in fitted])
    told = [(log_evidence(model), *model.predict(X)) for model in fitted]  # tells one fit from another
    return recalled(
        ("evidence", X, y, *(part for each in told for part in each), *([] if variances is None else [variances])),
        lambda: np.clip([log_evidence(extended_by(model, X, y, variances)) for model in fitted], -LARGEST, LARGEST),
        rows=COMPARE_ROWS + len(y),
        is_usable=lambda found: found.shape == (len(fitted),),
    )


def _average(weights: FloatArray, table: FloatArray) -> FloatArray:
    """The average (m,) over the rows of a table (k, m), with weights (k, m) or (k,)."""
    return np.asarray(weights @ table if weights.ndim == 1 else np.einsum("km,km->m", weights, table))


def evidence_weights(log_evidence: FloatArray) -> FloatArray:
    """The weights (k,) of models with these log evidences (k,); 0 for models that are left out.

    >>> evidence_weights(np.array([-10.0, -10.0, -90.0])).tolist()
    [0.5, 0.5, 0.0]
    """
    weights = np.exp((log_evidence - log_evidence.max()) / TEMPERATURE)
    weights /= weights.sum()
    weights[weights < min(LEAST_WEIGHT, float(weights.max()))] = 0.0
    return np.asarray(weights / weights.sum())


def _split(y: FloatArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """The rows that models to be compared are fitted to, in order, and the further rows of their evidence.

    The extremes of the losses y (s,) are among the first: a warp must know their signs.
    """
    rows = np.arange(len(y))
    if len(y) <= COMPARE_ROWS:
        return rows, rows[:0]
    extremes = np.array([np.argmin(y), np.argmax(y)])
    drawn = rng.permutation(np.setdiff1d(rows, extremes))
    some = np.concatenate([extremes, drawn[: COMPARE_ROWS - 2]])
    return np.sort(some), np.sort(drawn[COMPARE_ROWS - 2 : EVIDENCE_ROWS - 2])
