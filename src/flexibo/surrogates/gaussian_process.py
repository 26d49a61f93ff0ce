"""Gaussian-process surrogates: the library's and the paper's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo._internal.checks import checked_flag
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.surrogates._likelihood import (
    HierarchicalPrior,
    IndependentPrior,
    Loss,
    Parameter,
    Prior,
    hyperparameters,
    minimum,
    parameters,
    starts,
)
from flexibo.surrogates._prediction_cache import PredictionCache
from flexibo.surrogates.base import (
    dense_groups,
    designs,
    is_constant,
    location_and_scale,
    own_variances,
    standardised_variances,
    training_data,
    unfitted,
)
from flexibo.surrogates.fit_memory import recalled
from flexibo.surrogates.kernels import KERNELS
from flexibo.surrogates.local import DEFAULT_REACH, LocalPosterior, Reach, local_condition, reach_of
from flexibo.surrogates.posterior import Hyperparameters, Posterior, condition
from flexibo.surrogates.totals import Totals

NO_TOTALS = Totals()


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianProcess:
    """A Gaussian process with a constant mean, exact up to `max_exact` evaluations and local beyond.

    Losses are standardised with their mean and standard deviation at `fit`. The hyperparameters maximise the marginal
    likelihood times their priors (see `flexibo.surrogates._likelihood`); predictions are those of the noise-free loss.
    The noise is common to all losses; the own variances of losses, if there are any, are added to it.

    >>> X, y = np.array([[0.0], [0.5], [1.0]]), np.array([1.0, 0.0, 1.0])
    >>> gp = GaussianProcess(noise=1e-6).fit(X, y, groups=np.array([0]), rng=np.random.default_rng(0))
    >>> mean, deviation = gp.predict(np.array([[0.5], [0.25]]))
    >>> bool(abs(mean[0]) < 0.01), bool(deviation[0] < 0.01 < deviation[1])
    (True, True)

    Attributes:
        kernel: A name in `flexibo.surrogates.kernels.KERNELS`.
        noise: "learned", or the fixed variance of the noise relative to standardised losses.
        length_scales: "per-option" (one per group of columns) or "shared" (one for all).
        priors: Whether unlikely hyperparameters are penalised.
        scatter: The prior standard deviation of the logarithms of the options' length scales about a common one, which
            is learned. None: the length scales are independent.
        restarts: The number of searches from a random start, beside the one from a fixed start.
        max_fit: Hyperparameters are learned from at most this many random rows; predictions use every row. None: from
            every row.
        compare_rows: With restarts, the searches are compared on at most this many random rows, and only the best
            continues on all. None: compared on every row.
        max_exact: A fit to more rows is local: each prediction uses `reach` rows, some spread over the data and some
            near the predicted designs (see `flexibo.surrogates.local`). None: always every row.
        reach: The rows that a local model uses.
        totals: What families of options add up to: more columns of X.
        posterior: The conditioned process; None before `fit`.
    """

    kernel: str = "matern52"
    noise: float | Literal["learned"] = "learned"
    length_scales: Literal["per-option", "shared"] = "per-option"
    priors: bool = True
    scatter: float | None = None
    restarts: int = 1
    max_fit: int | None = 400
    compare_rows: int | None = 64
    max_exact: int | None = 1500
    reach: Reach = DEFAULT_REACH
    totals: Totals = NO_TOTALS
    posterior: Posterior | LocalPosterior | None = field(default=None, repr=False)
    _cache: PredictionCache = field(default_factory=PredictionCache, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.kernel not in KERNELS:
            raise unknown_name("kernel", self.kernel, KERNELS)
        if self.noise != "learned" and not _is_positive(self.noise):
            raise InvalidValueError(f"noise is {self.noise!r}; it must be 'learned' or a positive variance.")
        if self.length_scales not in ("per-option", "shared"):
            raise InvalidValueError(f"length_scales is {self.length_scales!r}; it must be 'per-option' or 'shared'.")
        object.__setattr__(self, "priors", checked_flag("priors", self.priors))
        if self.scatter is not None and not _is_positive(self.scatter):
            raise InvalidValueError(f"scatter is {self.scatter!r}; it must be a positive number, or None.")
        if self.restarts < 0:
            raise InvalidValueError(f"restarts is {self.restarts}; it must be 0 or more.")
        for name, rows in (("max_fit", self.max_fit), ("compare_rows", self.compare_rows)):
            if rows is not None and rows < 2:
                raise InvalidValueError(f"{name} is {rows}; it must be 2 or more, or None for every row.")
        if self.max_exact is not None and self.max_exact < self.reach.anchors:
            raise InvalidValueError(
                f"max_exact is {self.max_exact}; it must be at least the {self.reach.anchors} anchors, or None."
            )

    @property
    def takes_variances(self) -> bool:
        """Whether it uses the variances of the own noise of losses: it does."""
        return True

    @property
    def hyperparameters(self) -> Hyperparameters:
        """The learned hyperparameters."""
        return self._anchored().hyperparameters

    @property
    def log_marginal_likelihood(self) -> float:
        """The log density of the standardised losses under the hyperparameters, without priors."""
        return self._anchored().log_marginal_likelihood

    @property
    def log_evidence(self) -> float:
        """The log density of the losses in their own unit; of a local process that of its anchors.

        Local processes cannot be compared by it, since their anchors differ.
        """
        return self._anchored().log_evidence

    def fit(
        self,
        X: FloatArray,
        y: FloatArray,
        *,
        groups: IntArray,
        rng: np.random.Generator,
        variances: FloatArray | None = None,
    ) -> GaussianProcess:
        """This process with hyperparameters learned from, and conditioned on, the losses y (s,) of X (s, d).

        `rng` draws the starts of the searches, and their rows if there are many; see `Surrogate.fit`. `variances` (s,)
        are those of the losses' own noise.
        """
        X, y = training_data(X, y)
        own = own_variances(variances, len(y))
        found = self._learned(self.totals.appended(X), y, own, self._groups(X, groups), rng)
        return self.condition(X, y, groups=groups, hyperparameters=found, variances=own)

    def condition(
        self,
        X: FloatArray,
        y: FloatArray,
        *,
        groups: IntArray,
        hyperparameters: Hyperparameters,
        variances: FloatArray | None = None,
    ) -> GaussianProcess:
        """This process conditioned on the losses y (s,) of X (s, d) with given hyperparameters and own variances."""
        X, y = training_data(X, y)
        dense = self._groups(X, groups)
        count, given = _count(dense), len(hyperparameters.length_scales)
        if given != count:
            raise InvalidValueError(f"The hyperparameters have {given} length scales; the columns of X need {count}.")
        location, scale = location_and_scale(y, variances)
        chosen: Callable[..., Posterior | LocalPosterior] = condition
        if self.max_exact is not None and len(y) > self.max_exact:
            reach = reach_of(len(y)) if self.reach == DEFAULT_REACH else self.reach
            chosen = partial(local_condition, reach=reach)
        posterior = chosen(
            self.totals.appended(X),
            y,
            groups=dense,
            location=location,
            scale=scale,
            kernel=self.kernel,
            hyperparameters=hyperparameters,
            variances=variances,
        )
        return replace(self, posterior=posterior)

    def extend(self, X: FloatArray, y: FloatArray, *, variances: FloatArray | None = None) -> GaussianProcess:
        """This process with the rows X (k, d), y (k,) appended, in O(k s^2); in O(s) if it is local."""
        posterior = self._fitted()
        X, y = training_data(X, y)
        return replace(self, posterior=posterior.extend(self._designs(X), y, variances))

    @property
    def is_stepwise(self) -> bool:
        """Whether rounding depends on how many rows are appended at a time: it does unless the process is local."""
        return isinstance(self._fitted(), Posterior)

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean (m,) and the standard deviation (m,) of the noise-free loss at the designs X (m, d)."""
        return self._cache.predicted(self._designs(X), self._fitted().predict)

    def held_out(self) -> FloatArray:
        """How far each loss is from its prediction by all others, in standard deviations (s,); anchors if local."""
        return self._anchored().held_out()

    def around(self, X: FloatArray) -> GaussianProcess:
        """This process with the rows that predict the designs X (m, d)."""
        posterior = self._fitted()
        if isinstance(posterior, Posterior):
            return self
        return replace(self, posterior=posterior.around(self._designs(X)))

    def draws(self, X: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws (count, m) of the noise-free losses at the designs X (m, d)."""
        return self._fitted().draws(self._designs(X), count, rng)

    def covariance(self, X: FloatArray, others: FloatArray) -> FloatArray:
        """The covariance (m, o) of the noise-free losses at the designs X (m, d) and others (o, d)."""
        return self._fitted().covariance(self._designs(X), self._designs(others))

    def _fitted(self) -> Posterior | LocalPosterior:
        if self.posterior is None:
            raise unfitted("GaussianProcess")
        return self.posterior

    def _anchored(self) -> Posterior:
        """The posterior; that of the anchors if it is local."""
        posterior = self._fitted()
        return posterior.anchored if isinstance(posterior, LocalPosterior) else posterior

    def _designs(self, X: FloatArray) -> FloatArray:
        return self.totals.appended(designs(X, len(self._anchored().groups) - self.totals.count))

    def _groups(self, X: FloatArray, groups: IntArray) -> IntArray:
        dense = self.totals.groups(dense_groups(groups, X.shape[1]))
        return np.zeros_like(dense) if self.length_scales == "shared" else dense

    def _learned(
        self, X: FloatArray, y: FloatArray, variances: FloatArray, groups: IntArray, rng: np.random.Generator
    ) -> Hyperparameters:
        """The most likely hyperparameters, given the losses y (s,) of the designs X (s, d), with own variances (s,)."""
        noise = None if self.noise == "learned" else float(self.noise)
        entries = parameters(_count(groups), noise)
        begin = starts(entries, self.restarts, rng)
        if is_constant(y):  # the likelihood would grow without bound as the variance shrinks
            return hyperparameters(self._prior(entries, noise).mode(), noise)
        location, scale = location_and_scale(y, variances)
        z, own = (y - location) / scale, standardised_variances(variances, scale)
        rows = rng.permutation(len(y))[: self.max_fit]
        if self.restarts and self.compare_rows is not None and self.compare_rows < len(rows):
            some = rows[: self.compare_rows]
            begin = self._most_likely(X[some], z[some], own[some], groups, noise, begin)[None]
        rows.sort()
        return hyperparameters(self._most_likely(X[rows], z[rows], own[rows], groups, noise, begin), noise)

    def _most_likely(
        self,
        X: FloatArray,
        z: FloatArray,
        own: FloatArray,
        groups: IntArray,
        noise: float | None,
        begin: FloatArray,
    ) -> FloatArray:
        """The best theta from any row of `begin`, or what was found before for the same data."""
        kind = ("theta", self.kernel, noise, self.priors, self.scatter)
        low, high = np.log([parameter.bounds for parameter in parameters(_count(groups), noise)]).T
        return recalled(
            (*kind, X, z, groups, begin, *([own] if own.any() else [])),
            lambda: minimum(self._loss(X, z, own, groups, noise), begin),
            rows=len(z),
            is_usable=lambda theta: theta.shape == low.shape and bool(((low <= theta) & (theta <= high)).all()),
        )

    def _loss(self, X: FloatArray, z: FloatArray, own: FloatArray, groups: IntArray, noise: float | None) -> Loss:
        prior = self._prior(parameters(_count(groups), noise), noise) if self.priors else None
        return Loss(X, z, groups=groups, kernel=self.kernel, noise=noise, prior=prior, own=own)

    def _prior(self, entries: Sequence[Parameter], noise: float | None) -> Prior:
        """The prior of the entries of theta."""
        if self.scatter is None:
            return IndependentPrior.of(entries)
        with_noise = noise is None
        return HierarchicalPrior.of(len(entries) - 1 - with_noise, scatter=self.scatter, with_noise=with_noise)


def _is_positive(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value) and value > 0


def _count(groups: IntArray) -> int:
    """The number of groups in groups (d,), which are 0, 1, 2, ..."""
    return int(groups.max(initial=-1)) + 1


PAPER_GP = GaussianProcess(
    kernel="squared-exponential",
    noise=1e-10,
    length_scales="shared",
    priors=False,
    restarts=20,
    max_fit=None,
    compare_rows=100,
    max_exact=None,
)
"""The paper's Gaussian process (table of hyperparameters): squared-exponential, 20 restarts, alpha 1e-10.

Beyond 100 evaluations the restarts are compared on a random 100, and the best continues on all: decoupled runs make
many hundreds of cheap evaluations, and most time would go into restarts that end in the same place.

The paper does not mention length scales; one for all options is the default of scikit-learn's kernel. If 1e-10 is too
small for the Cholesky factorisation, it is retried with up to 1e-4 of the variance
(`flexibo.surrogates.posterior.JITTERS`); scikit-learn would raise an error.
"""
