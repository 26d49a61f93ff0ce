"""Co-kriging: what is read at a later stop is a multiple of what was read at an earlier one, plus a rest.

Of an objective with steps, a loss at stop l is modelled as

    f_l(x) = slope_l f_(l-1)(x) + rest_l(x),

where f_0 and all rests are Gaussian processes, each with a kernel of its own (Kennedy and O'Hagan: Predicting the
output from a complex computer code when fast approximations are available, 2000). The readings at a stop belong to
designs that were read at the stop below, too, so each process is conditioned on its own stop alone (Le Gratiet and
Garnier: Recursive co-kriging model for design of computer experiments with multiple levels of fidelity, 2014). Where
one of them was not read at the stop below, what is predicted there stands for it, and its variance is noise.

A slope is that of a regression of the readings, drawn to 1 as if `SHRINKAGE` further designs had it. It is negative
where curves cross.

Early readings may tell nothing, or mislead. So the last stop has two models: this chain, and the plain model of the
complete evaluations alone, as without steps. They are averaged by their evidence (`flexibo.surrogates.averaged`): both
are densities of the same last losses, given the early ones. Curves seldom tell nothing, so before any evidence the
chain is believed `PRIOR` times as much: a few complete evaluations are often explained by one option alone, and the
plain model is then as sure of a design whose curve says something else. At a design, their weights are divided by their
variances there: neither spoils what the other knows. Where early readings do not help to predict the last ones, the
plain model has all the weight, and what is predicted is what is predicted without steps.

A stop l of L is encoded by the last L - 1 columns of X: the first l of them are 1, the others 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo.surrogates.averaged import TEMPERATURE, Averaged, evidence_weights
from flexibo.surrogates.base import (
    Surrogate,
    below,
    dense_groups,
    extended_by,
    fitted_to,
    interval,
    joint,
    log_evidence,
    own_variances,
    takes_variances,
    training_data,
    unfitted,
)

SHRINKAGE = 4.0  # a slope counts as if this many further designs had one of 1
FEWEST = 4  # a stop with fewer readings is left out
PRIOR = 5.0  # the odds, without any evidence, that early readings tell something of the last ones
LEAST_VARIANCE = 1e-4  # of the two models at a design, relative to the greater one: neither is ever sure
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, slots=True)
class OnTop:
    """The readings at a stop, given the model of the stop below."""

    earlier: Surrogate  # fitted
    rest: Surrogate
    slope: float = 1.0

    @property
    def takes_variances(self) -> bool:
        """Whether it uses the variances of the own noise of losses: if the rest does."""
        return takes_variances(self.rest)

    def fit(
        self,
        X: FloatArray,
        y: FloatArray,
        *,
        groups: IntArray,
        rng: np.random.Generator,
        variances: FloatArray | None = None,
    ) -> OnTop:
        """This model with a slope and a rest that are learned from the losses y (s,) of X (s, d)."""
        mean, deviation = self.earlier.predict(X)
        found = replace(self, slope=slope_of(mean, y))
        own = own_variances(variances, len(y)) + (found.slope * deviation) ** 2
        return replace(found, rest=fitted_to(self.rest, X, y - found.slope * mean, own, groups=groups, rng=rng))

    def extend(self, X: FloatArray, y: FloatArray, *, variances: FloatArray | None = None) -> OnTop:
        """This model with rows appended."""
        mean, deviation = self.earlier.predict(X)
        own = own_variances(variances, len(y)) + (self.slope * deviation) ** 2
        return replace(self, rest=extended_by(self.rest, X, y - self.slope * mean, own))

    @property
    def log_evidence(self) -> float:
        """The log density of the readings at this stop, given those below."""
        return log_evidence(self.rest)

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean (m,) and the standard deviation (m,) of the loss at this stop."""
        (mean, deviation), (rest, own) = self.earlier.predict(X), self.rest.predict(X)
        return self.slope * mean + rest, np.hypot(self.slope * deviation, own)

    def covariance(self, X: FloatArray, others: FloatArray) -> FloatArray:
        """The covariance (m, o) of the losses at this stop."""
        earlier, rest = joint(self.earlier).covariance(X, others), joint(self.rest).covariance(X, others)
        return np.asarray(self.slope**2 * earlier + rest)

    def draws(self, X: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws (count, m) of the losses at this stop."""
        earlier = joint(self.earlier).draws(X, count, rng)
        return np.asarray(self.slope * earlier + joint(self.rest).draws(X, count, rng))


def slope_of(earlier: FloatArray, y: FloatArray) -> float:
    """The slope of losses y (s,) over earlier ones (s,), drawn to 1 as long as there are few.

    >>> slope_of(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 2.0, 4.0, 6.0]))
    1.5
    """
    centred = earlier - earlier.mean()
    square = float(centred @ centred)
    if square <= 0.0 or not np.isfinite(square):
        return 1.0
    return (len(y) * float(centred @ y) / square + SHRINKAGE) / (len(y) + SHRINKAGE)


def _weight(chain: Surrogate | None, plain: Surrogate) -> float:
    """The weight of the chain beside the plain model, by the prior and their evidence; 0 if there is no chain."""
    if chain is None:
        return 0.0
    ahead = TEMPERATURE * math.log(PRIOR)
    return float(evidence_weights(np.array([log_evidence(plain), log_evidence(chain) + ahead]))[1])


@dataclass(frozen=True, slots=True)
class CoKriging:
    """A model of designs and stops; see the module.

    Attributes:
        levels: How many stops there are.
        plain: The surrogate of complete evaluations alone.
        process: The surrogate of the first stop, and of the rests.
        chain: The models of the stops (L,), each on top of the one before it; None of a stop that has few readings.
        complete: `plain`, fitted; None before `fit`.
        weight: The weight of the chain at the last stop.
        seen: The least and the greatest last loss.
        bounds: The least and the greatest last loss that is possible.
    """

    levels: int
    plain: Surrogate
    process: Surrogate
    chain: tuple[Surrogate | None, ...] = ()
    complete: Surrogate | None = None
    weight: float = 0.0
    seen: tuple[float, float] = (math.inf, -math.inf)
    bounds: tuple[float, float] = (-math.inf, math.inf)

    @property
    def takes_variances(self) -> bool:
        """Whether it uses the variances of the own noise of losses: it does."""
        return True

    @property
    def is_stepwise(self) -> bool:
        """Whether predictions depend on how many rows are appended at a time: where an earlier reading is missing."""
        return True

    def fit(
        self,
        X: FloatArray,
        y: FloatArray,
        *,
        groups: IntArray,
        rng: np.random.Generator,
        variances: FloatArray | None = None,
    ) -> CoKriging:
        """This model fitted to the losses y (s,) of X (s, d + L - 1), whose own noise has `variances` (s,)."""
        X, y = training_data(X, y)
        own, designs, level = own_variances(variances, len(y)), self._designs(X), self._level(X)
        groups = dense_groups(groups, X.shape[1])[: designs.shape[1]]

        def fitted(settings: Surrogate, rows: BoolArray) -> Surrogate:
            return fitted_to(settings, designs[rows], y[rows], own[rows], groups=groups, rng=rng)

        chain: list[Surrogate | None] = []
        earlier: Surrogate | None = None
        for k in range(self.levels):
            is_known = (level == k).sum() >= FEWEST and (k < self.levels - 1 or earlier is not None)
            settings = self.process if earlier is None else OnTop(earlier, self.process)
            chain.append(fitted(settings, level == k) if is_known else None)
            earlier = chain[-1] or earlier
        is_last = level == self.levels - 1
        complete, top = fitted(self.plain, is_last), chain[-1]
        seen = float(y[is_last].min()), float(y[is_last].max())
        return replace(self, chain=tuple(chain), complete=complete, weight=_weight(top, complete), seen=seen)

    def extend(self, X: FloatArray, y: FloatArray, *, variances: FloatArray | None = None) -> CoKriging:
        """This model with the rows X (k, d + L - 1), y (k,) appended; slopes and the weight are kept."""
        own, designs, level = own_variances(variances, len(y)), self._designs(X), self._level(X)

        def extended(model: Surrogate, rows: BoolArray) -> Surrogate:
            return extended_by(model, designs[rows], y[rows], own[rows]) if rows.any() else model

        chain: list[Surrogate | None] = []
        earlier: Surrogate | None = None
        for k, model in enumerate(self.chain):
            if isinstance(model, OnTop) and earlier is not None:
                model = replace(model, earlier=earlier)
            chain.append(None if model is None else extended(model, level == k))
            earlier = chain[-1] or earlier
        last = y[level == self.levels - 1]
        seen = float(np.min(last, initial=self.seen[0])), float(np.max(last, initial=self.seen[1]))
        complete = extended(self._fitted(), level == self.levels - 1)
        return replace(self, chain=tuple(chain), complete=complete, seen=seen)

    @property
    def odds(self) -> float:
        """The odds, by evidence, that early readings tell something of the last ones."""
        return self.weight / (1.0 - self.weight) if self.weight < 1.0 else math.inf

    def within(self, least: float, most: float) -> CoKriging:
        """This model, given that last losses are at least `least` and at most `most`."""
        return replace(self, bounds=(least, most))

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean (m,) and the standard deviation (m,) of the last loss of the designs X (m, d + L - 1)."""
        lower, mean, upper = self.interval(X, 1.0)
        return mean, (upper - lower) / 2.0

    def interval(self, X: FloatArray, half: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The last losses (m,) `half` standard deviations below the middle, at it, and above it."""
        both, X = self._both(), self._designs(X)
        if len(both.fitted) == 1:
            return interval(both.fitted[0], X, half)
        boxes = np.array([interval(model, X, half) for model in both.fitted])
        return both.mixture(boxes, self._weights(both, X), half)

    def below(self, X: FloatArray, limit: float) -> FloatArray:
        """The probability (m,) that the last loss of the designs X (m, d + L - 1) is at most a limit."""
        both, X = self._both(), self._designs(X)
        chances = np.array([below(model, X, limit) for model in both.fitted])
        return np.asarray((self._weights(both, X) * chances).sum(axis=0))

    def covariance(self, X: FloatArray, others: FloatArray) -> FloatArray:
        """The covariance (m, o) of the last losses."""
        return self._both().covariance(self._designs(X), self._designs(others))

    def draws(self, X: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws (count, m) of the last losses."""
        return self._both().draws(self._designs(X), count, rng)

    def correlation(self, X: FloatArray, level: int) -> FloatArray:
        """How much (m,) a reading of the designs X (m, d) at a stop tells of the last loss: its correlation with it.

        The squared correlation is the share of the variance that the reading takes away. Before and after it, that is
        the variance of the plain model or that of the chain divided by its weight, whichever is less. So a reading
        tells nothing where the plain model knows more than the reading would tell.
        """
        model, top = self.chain[level], self.chain[-1]
        if model is None or top is None or not self.weight:
            return np.zeros(len(X))
        plain, before = self._fitted().predict(X)[1] ** 2, top.predict(X)[1] ** 2
        after = np.zeros(len(X))
        for later in self.chain[level + 1 :]:
            if isinstance(later, OnTop):
                after = later.slope**2 * after + later.rest.predict(X)[1] ** 2
        now, then = (np.minimum(plain, own / self.weight) for own in (before, np.minimum(before, after)))
        return np.sqrt(1.0 - np.divide(then, now, out=np.ones(len(X)), where=now > 0.0))

    def _weights(self, both: Averaged, X: FloatArray) -> FloatArray:
        """The weights (k, m) of the models at designs X (m, d): by evidence over variance."""
        variances = np.array([model.predict(X)[1] for model in both.fitted]) ** 2
        least = np.maximum(variances.max(axis=0) * LEAST_VARIANCE, TINY)
        weights = np.array(both.weights)[:, None] * (least / np.maximum(variances, least))
        return np.asarray(weights / weights.sum(axis=0))

    def _both(self) -> Averaged:
        """The plain model and the chain, averaged; the plain one alone if the chain has no weight."""
        complete, top = self._fitted(), self.chain[-1]
        pair = (complete,) if top is None or not self.weight else (complete, top)
        weights = (1.0,) if len(pair) == 1 else (1.0 - self.weight, self.weight)
        return Averaged((self.plain, self.process), pair, weights, self.seen).within(*self.bounds)

    def _designs(self, X: FloatArray) -> FloatArray:
        return X[:, : X.shape[1] - self.levels + 1]

    def _level(self, X: FloatArray) -> IntArray:
        return np.asarray(np.rint(X[:, X.shape[1] - self.levels + 1 :].sum(axis=1)), dtype=np.int64)

    def _fitted(self) -> Surrogate:
        if self.complete is None:
            raise unfitted("CoKriging")
        return self.complete
