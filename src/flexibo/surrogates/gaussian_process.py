"""Gaussian-process surrogates: the library's and the paper's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.surrogates.base import dense_groups, designs, is_constant, location_and_scale, training_data, unfitted
from flexibo.surrogates.kernels import KERNELS
from flexibo.surrogates.likelihood import Loss, hyperparameters, minimum, parameters, starts
from flexibo.surrogates.local import TWO_THOUSAND, LocalPosterior, Reach, local_condition
from flexibo.surrogates.posterior import Hyperparameters, Posterior, condition
from flexibo.surrogates.priors import Independent, Kindred, Parameter, Prior
from flexibo.surrogates.recall import Recall


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianProcess:
    """A Gaussian process with a constant mean, exact up to some number of evaluations and local beyond it.

    Losses are standardised with the mean and deviation they have at `fit`. The hyperparameters maximise the marginal
    likelihood times their priors (see `flexibo.surrogates.priors`); predictions are those of the noise-free loss.

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
        scatter: How far the options' length scales may lie apart: the deviation of their logarithms about a common one,
            which the data decide. None: they have nothing to do with each other.
        restarts: How many searches begin from a drawn place, beside the one from a fixed place.
        max_fit: Hyperparameters are learned from at most this many rows, drawn at random; predictions use every row.
            None: from every row.
        compare_rows: With restarts, the searches are compared on at most this many rows, drawn at random, and only the
            best is continued on the others. None: compared on every row.
        max_exact: A fit to more rows than this is local: each question is answered from `reach` rows, some of them
            spread over the data and some around what is asked about (see `flexibo.surrogates.local`). None: always
            from every row.
        reach: How many rows a local model looks at.
        posterior: What was learned; None before `fit`.
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
    reach: Reach = TWO_THOUSAND
    posterior: Posterior | LocalPosterior | None = field(default=None, repr=False)
    _recall: Recall = field(default_factory=Recall, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.kernel not in KERNELS:
            raise unknown_name("kernel", self.kernel, KERNELS)
        if self.noise != "learned" and not _is_positive(self.noise):
            raise InvalidValueError(f"noise is {self.noise!r}; it must be 'learned' or a positive variance.")
        if self.length_scales not in ("per-option", "shared"):
            raise InvalidValueError(f"length_scales is {self.length_scales!r}; it must be 'per-option' or 'shared'.")
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
    def hyperparameters(self) -> Hyperparameters:
        """What was learned."""
        return self._fitted().hyperparameters

    @property
    def log_marginal_likelihood(self) -> float:
        """The log density of the standardised losses under the hyperparameters, priors left out."""
        return self._fitted().log_marginal_likelihood

    @property
    def log_evidence(self) -> float:
        """The log density of the losses themselves, in their own unit, under the hyperparameters.

        A local process gives that of its anchors: not to be compared with another's, whose anchors are others.
        """
        return self._fitted().log_evidence

    def fit(self, X: FloatArray, y: FloatArray, *, groups: IntArray, rng: np.random.Generator) -> GaussianProcess:
        """This process with hyperparameters learned from, and conditioned on, the losses y (s,) of X (s, d).

        Args:
            X: Encoded designs, shape (s, d), every column within [0, 1].
            y: Their losses, shape (s,).
            groups: The option each encoded column belongs to, shape (d,).
            rng: Draws where searches begin, and the rows they use when there are many.
        """
        X, y = training_data(X, y)
        return self.condition(X, y, groups=groups, hyperparameters=self._learned(X, y, self._groups(X, groups), rng))

    def condition(
        self, X: FloatArray, y: FloatArray, *, groups: IntArray, hyperparameters: Hyperparameters
    ) -> GaussianProcess:
        """This process conditioned on the losses y (s,) of X (s, d) with given hyperparameters."""
        X, y = training_data(X, y)
        dense = self._groups(X, groups)
        count, given = _count(dense), len(hyperparameters.length_scales)
        if given != count:
            raise InvalidValueError(f"The hyperparameters have {given} length scales; the columns of X need {count}.")
        location, scale = location_and_scale(y)
        chosen: Callable[..., Posterior | LocalPosterior] = condition
        if self.max_exact is not None and len(y) > self.max_exact:
            chosen = partial(local_condition, reach=self.reach)
        posterior = chosen(
            X,
            y,
            groups=dense,
            location=location,
            scale=scale,
            kernel=self.kernel,
            hyperparameters=hyperparameters,
        )
        return replace(self, posterior=posterior)

    def extend(self, X: FloatArray, y: FloatArray) -> GaussianProcess:
        """This process with the rows X (k, d), y (k,) appended and its hyperparameters kept.

        An exact one takes O(k s^2), a local one O(s).
        """
        posterior = self._fitted()
        X, y = training_data(X, y)
        return replace(self, posterior=posterior.extend(designs(X, len(posterior.groups)), y))

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean (m,) and the standard deviation (m,) of the noise-free loss at the designs X (m, d)."""
        posterior = self._fitted()
        return self._recall.predicted(designs(X, len(posterior.groups)), posterior.predict)

    def around(self, X: FloatArray) -> GaussianProcess:
        """This process with the rows from which a question about the designs X (m, d) is answered."""
        posterior = self._fitted()
        if isinstance(posterior, Posterior):
            return self
        return replace(self, posterior=posterior.around(designs(X, len(posterior.groups))))

    def draws(self, X: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws (count, m) of the noise-free losses at the designs X (m, d)."""
        posterior = self._fitted()
        return posterior.draws(designs(X, len(posterior.groups)), count, rng)

    def covariance(self, X: FloatArray, others: FloatArray) -> FloatArray:
        """The covariance (m, o) of the noise-free losses at the designs X (m, d) and others (o, d)."""
        posterior = self._fitted()
        columns = len(posterior.groups)
        return posterior.covariance(designs(X, columns), designs(others, columns))

    def _fitted(self) -> Posterior | LocalPosterior:
        if self.posterior is None:
            raise unfitted("GaussianProcess")
        return self.posterior

    def _groups(self, X: FloatArray, groups: IntArray) -> IntArray:
        dense = dense_groups(groups, X.shape[1])
        return np.zeros_like(dense) if self.length_scales == "shared" else dense

    def _learned(self, X: FloatArray, y: FloatArray, groups: IntArray, rng: np.random.Generator) -> Hyperparameters:
        """The most likely hyperparameters of the losses y (s,) of the designs X (s, d)."""
        noise = None if self.noise == "learned" else float(self.noise)
        entries = parameters(_count(groups), noise)
        begin = starts(entries, self.restarts, rng)
        if is_constant(y):  # nothing to learn from: the likelihood would grow without end as the variance shrinks
            return hyperparameters(self._prior(entries, noise).mode(), noise)
        location, scale = location_and_scale(y)
        z = (y - location) / scale
        rows = rng.permutation(len(y))[: self.max_fit]
        if self.restarts and self.compare_rows is not None and self.compare_rows < len(rows):
            some = rows[: self.compare_rows]
            begin = minimum(self._loss(X[some], z[some], groups, noise), begin)[None]
        rows.sort()
        return hyperparameters(minimum(self._loss(X[rows], z[rows], groups, noise), begin), noise)

    def _loss(self, X: FloatArray, z: FloatArray, groups: IntArray, noise: float | None) -> Loss:
        prior = self._prior(parameters(_count(groups), noise), noise) if self.priors else None
        return Loss(X, z, groups=groups, kernel=self.kernel, noise=noise, prior=prior)

    def _prior(self, entries: Sequence[Parameter], noise: float | None) -> Prior:
        """What is thought of the entries of theta before there are data."""
        if self.scatter is None:
            return Independent.of(entries)
        with_noise = noise is None
        return Kindred.of(len(entries) - 1 - with_noise, scatter=self.scatter, with_noise=with_noise)


def _is_positive(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value) and value > 0


def _count(groups: IntArray) -> int:
    """How many groups there are in groups (d,), numbered 0, 1, 2, ..."""
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

Beyond 100 evaluations the restarts are compared on a draw of 100, and the best is followed on all: decoupled runs buy
many hundreds of cheap readings, and nearly all time would go into restarts that end in the same place.

The paper names no length scales; one for all options is what scikit-learn's kernel has unless told otherwise. Where
1e-10 is too little for the Cholesky factorisation the library retries with more, up to 1e-4 of the variance
(`flexibo.surrogates.posterior.JITTERS`); scikit-learn would stop with an error.
"""
