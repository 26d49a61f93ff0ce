"""The protocols of surrogates, and the checks that all of them make on their data."""

from __future__ import annotations

import math
from functools import cache
from typing import Protocol, TypeGuard, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo._internal.consensus import consensus
from flexibo.errors import InvalidTypeError, InvalidValueError

P = TypeVar("P")


def offers(model: object, protocol: type[P]) -> TypeGuard[P]:
    """Whether a model has what a protocol names: `isinstance`, found out once for each type.

    Before Python 3.12 `isinstance` takes as long as a small prediction, and computes every property that it looks for.
    """
    kind: type = type(model)
    wanted: type = protocol
    missing = _missing(kind, wanted)
    return not missing or missing <= getattr(model, "__dict__", {}).keys()


@cache
def _missing(kind: type, protocol: type) -> frozenset[str]:
    """What a protocol names and a type does not have."""
    return frozenset(name for name in vars(protocol) if not name.startswith("_") and not hasattr(kind, name))


class Surrogate(Protocol):
    """A model of one objective: losses as a function of encoded designs.

    An unfitted surrogate is its settings; `fit` and `extend` return new objects and change nothing.
    """

    def fit(self, X: FloatArray, y: FloatArray, *, groups: IntArray, rng: np.random.Generator) -> Surrogate:
        """A surrogate with hyperparameters learned from the losses y (s,) of the designs X (s, d).

        Args:
            X: Encoded designs, shape (s, d), every column within [0, 1].
            y: Their losses, shape (s,).
            groups: The option each encoded column belongs to, shape (d,).
            rng: The source of all randomness.
        """

    def extend(self, X: FloatArray, y: FloatArray) -> Surrogate:
        """A surrogate with the rows X (k, d), y (k,) appended and the same hyperparameters."""

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean (m,) and the standard deviation (m,) of the noise-free loss at the designs X (m, d)."""


@runtime_checkable
class Weighing(Protocol):
    """A surrogate that knows of each loss how uncertain it is by itself, beside the noise that all have in common."""

    @property
    def takes_variances(self) -> bool:
        """Whether it uses them. A surrogate that is built from others does only if they do."""

    def fit(
        self,
        X: FloatArray,
        y: FloatArray,
        *,
        groups: IntArray,
        rng: np.random.Generator,
        variances: FloatArray | None = None,
    ) -> Surrogate:
        """As `Surrogate.fit`, with the variance (s,) of the own noise of each loss; None for 0."""

    def extend(self, X: FloatArray, y: FloatArray, *, variances: FloatArray | None = None) -> Surrogate:
        """As `Surrogate.extend`, with the variance (k,) of the own noise of each loss; None for 0."""


def takes_variances(model: Surrogate) -> TypeGuard[Weighing]:
    """Whether a surrogate uses the variances of the own noise of losses."""
    return offers(model, Weighing) and model.takes_variances


def fitted_to(
    model: Surrogate,
    X: FloatArray,
    y: FloatArray,
    variances: FloatArray | None,
    *,
    groups: IntArray,
    rng: np.random.Generator,
) -> Surrogate:
    """A surrogate fitted to losses with own variances (s,); these are left out where it does not use them."""
    if variances is None or not variances.any() or not takes_variances(model):
        return model.fit(X, y, groups=groups, rng=rng)
    return model.fit(X, y, groups=groups, rng=rng, variances=variances)


def extended_by(model: Surrogate, X: FloatArray, y: FloatArray, variances: FloatArray | None) -> Surrogate:
    """A surrogate with losses with own variances (k,) appended; these are left out where it does not use them."""
    if variances is None or not variances.any() or not takes_variances(model):
        return model.extend(X, y)
    return model.extend(X, y, variances=variances)


def some_of(variances: FloatArray | None, rows: IntArray | slice) -> FloatArray | None:
    """The variances of some rows; None if there are none."""
    return None if variances is None else variances[rows]


@runtime_checkable
class Skewed(Protocol):
    """A surrogate whose predictive distribution is not symmetric."""

    def interval(self, X: FloatArray, half: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The losses (m,) `half` standard deviations below the middle, at it, and above it, at the designs X (m, d)."""

    def below(self, X: FloatArray, limit: float) -> FloatArray:
        """The probability (m,) that the loss at each of the designs X (m, d) is at most a limit."""


def is_skewed(model: Surrogate) -> TypeGuard[Skewed]:
    """Whether a surrogate is `Skewed`."""
    return offers(model, Skewed)


@runtime_checkable
class Mixed(Protocol):
    """A surrogate that consists of several models, any of which may be right."""

    def hull(self, X: FloatArray, half: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The smallest interval (m,) that contains those of all models, with the middle, at the designs X (m, d)."""


@runtime_checkable
class SelfChecking(Protocol):
    """A surrogate with a formula for the prediction of each of its losses by all others."""

    def held_out(self) -> FloatArray:
        """How far each loss is from its prediction by all others, in standard deviations (s,)."""


def held_out(model: Surrogate) -> FloatArray:
    """The residuals (s,) of a surrogate that is `SelfChecking`; an error if it is not."""
    if not offers(model, SelfChecking):
        raise InvalidTypeError(
            f"The surrogate {type(model).__name__} has no held_out(), which certificates need where surrogates are "
            "averaged or warped; use Gaussian processes."
        )
    return model.held_out()


@runtime_checkable
class Joint(Protocol):
    """A surrogate that knows how the losses of different designs are correlated."""

    def draws(self, X: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws (count, m) of the noise-free losses at the designs X (m, d)."""

    def covariance(self, X: FloatArray, others: FloatArray) -> FloatArray:
        """The covariance (m, o) of the noise-free losses at the designs X (m, d) and others (o, d)."""


@runtime_checkable
class Local(Protocol):
    """A surrogate that makes each prediction from some of its rows."""

    def around(self, X: FloatArray) -> Surrogate:
        """The surrogate that predicts from the rows chosen for the designs X (m, d), even for a part of them."""


def around(model: Surrogate, X: FloatArray) -> Surrogate:
    """The surrogate with the rows chosen for the designs X (m, d); itself unless it is `Local`."""
    return model.around(X) if offers(model, Local) else model


@runtime_checkable
class Stepwise(Protocol):
    """A surrogate that says whether the rounding of its predictions depends on how many rows are appended at a time."""

    @property
    def is_stepwise(self) -> bool:
        """Whether it does."""


def is_stepwise(model: Surrogate) -> bool:
    """Whether rows must be appended one by one for the same predictions to the last digit; yes if it is not known."""
    return not offers(model, Stepwise) or model.is_stepwise


@runtime_checkable
class Weighable(Protocol):
    """A surrogate that can be weighted by how well it explains its losses."""

    @property
    def log_evidence(self) -> float:
        """The log density of the losses that it was fitted to, in their own unit."""


def log_evidence(model: Surrogate) -> float:
    """The log density of a surrogate's losses; an error if it has none."""
    if not offers(model, Weighable):
        raise InvalidTypeError(
            f"The surrogate {type(model).__name__} has no log_evidence, which averaging needs; use Gaussian processes."
        )
    return model.log_evidence


def joint(model: Surrogate) -> Joint:
    """The surrogate as one that draws jointly; an error if it cannot."""
    if not offers(model, Joint):
        raise InvalidTypeError(
            f"The surrogate {type(model).__name__} has no draws() and covariance(), which this method needs; "
            "use 'gp' or 'rf', or another method."
        )
    return model


def rescaled(
    covariance: FloatArray, before: Surrogate, after: Surrogate, X: FloatArray, others: FloatArray
) -> FloatArray:
    """A covariance (m, o) of the designs X (m, d) and others (o, d) with the deviations that `after` predicts.

    It was that of `before`; the correlations stay.
    """
    for axis, D in enumerate((X, others)):
        old, new = before.predict(D)[1], after.predict(D)[1]
        ratio = np.divide(new, old, out=np.zeros_like(old), where=old > 0)
        covariance = covariance * (ratio[:, None] if axis == 0 else ratio)
    return covariance


def interval(model: Surrogate, X: FloatArray, half: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The interval (m,) of a prediction: below, middle, above; symmetric unless the surrogate is `Skewed`."""
    if is_skewed(model):
        return model.interval(X, half)
    mean, deviation = model.predict(X)
    return mean - half * deviation, mean, mean + half * deviation


def hull(model: Surrogate, X: FloatArray, half: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """An interval (m,) that a loss leaves no more often than a normal one does; it contains those of all models.

    The tails of a mixture are those of its widest model: if one of weight w is far wider than the others, the loss
    leaves the interval of the mixture's standard deviations with a probability near w.
    """
    return model.hull(X, half) if offers(model, Mixed) else interval(model, X, half)


def below(model: Surrogate, X: FloatArray, limit: float) -> FloatArray:
    """The probability (m,) of a loss of at most a limit; of a normal one unless the surrogate is `Skewed`."""
    if is_skewed(model):
        return model.below(X, limit)
    mean, deviation = model.predict(X)
    return normal_below(mean, deviation, limit)


def normal_below(mean: FloatArray, deviation: FloatArray, limit: float) -> FloatArray:
    """The probability (m,) that normal losses are at most a limit; they are known if their deviation is 0."""
    margin, uncertain = limit - mean, deviation > 0
    with np.errstate(over="ignore"):
        z = np.divide(margin, deviation, out=np.zeros(len(mean)), where=uncertain)
    return np.where(uncertain, ndtr(z), margin >= 0)


def training_data(X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """X (s, d) and y (s,) as finite arrays of at least one row."""
    X, y = finite("X", X, ndim=2), finite("y", y, ndim=1)
    if len(X) != len(y):
        raise InvalidValueError(f"X has {len(X)} rows and y has {len(y)}; give one loss per design.")
    if len(y) == 0:
        raise InvalidValueError("X and y have no rows; a surrogate needs at least one evaluation.")
    return X, y


def own_variances(variances: npt.ArrayLike | None, count: int) -> FloatArray:
    """The variances (count,) of the losses' own noise as finite numbers, none of them negative; 0 for None."""
    if variances is None:
        return np.zeros(count)
    array = finite("variances", variances, ndim=1)
    if len(array) != count:
        raise InvalidValueError(f"There are {len(array)} variances and {count} losses; give one for each loss.")
    if not (array >= 0.0).all():
        raise InvalidValueError(f"A variance is {float(array.min()):g}; it must be zero or more.")
    return array


def designs(X: npt.ArrayLike, columns: int) -> FloatArray:
    """X (m, columns) as a finite array of the width the surrogate was fitted on."""
    X = finite("X", X, ndim=2)
    if X.shape[1] != columns:
        raise InvalidValueError(f"X has {X.shape[1]} columns; this surrogate was fitted on {columns}.")
    return X


def finite(name: str, values: npt.ArrayLike, *, ndim: int) -> FloatArray:
    """The values as a finite array of floats with ndim dimensions."""
    array: FloatArray = np.asarray(values, dtype=np.float64)
    if array.ndim != ndim:
        raise InvalidValueError(f"{name} has {array.ndim} dimensions; it must have {ndim}.")
    if not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(array))[0, 0])
        raise InvalidValueError(f"{name} holds NaN or an infinite value in row {row}; give finite numbers only.")
    return array


def dense_groups(groups: npt.ArrayLike, columns: int) -> IntArray:
    """The groups (d,) renumbered 0, 1, 2, ... in the order of their numbers.

    >>> dense_groups([4, 4, 9, 2], columns=4).tolist()
    [1, 1, 2, 0]
    """
    array = np.asarray(groups)
    if array.shape != (columns,):
        raise InvalidValueError(f"groups has shape {array.shape}; X has {columns} columns, so it must be ({columns},).")
    if columns and not np.issubdtype(array.dtype, np.integer):
        raise InvalidValueError(f"groups holds {array.dtype} values; give the integer number of each column's option.")
    dense: IntArray = np.unique(array, return_inverse=True)[1].reshape(columns).astype(np.int64)
    return dense


def unfitted(name: str) -> InvalidValueError:
    """The error of a surrogate that is used before it was fitted."""
    return InvalidValueError(f"This {name} is not fitted; call fit first and use what it returns.")


LEAST_SHARE = 0.1  # of the variance of losses that is taken for their own, even if their noise explains all of it


def location_and_scale(y: FloatArray, variances: FloatArray | None = None) -> tuple[float, float]:
    """The mean of y (s,) and its standard deviation, never 0.

    If all losses are equal, the scale is the size of the loss itself, so that the result follows a change of unit. If
    losses have variances of their own (s,), they are weighted by them, and the scale is that of the losses without.

    >>> location_and_scale(np.array([1.0, 3.0]))
    (2.0, 1.0)
    >>> location_and_scale(np.array([5.0, 5.0]))
    (5.0, 5.0)
    >>> round(location_and_scale(np.array([1.0, 3.0, 50.0]), np.array([0.0, 0.0, 1e12]))[0], 6)
    2.0
    """
    largest = float(np.abs(y).max())
    if not 1e-100 < largest < 1e100 and largest > 0:  # squares would vanish or overflow
        own = None if variances is None else np.minimum(variances / largest / largest, HUGE_VARIANCE)
        mean, deviation = location_and_scale(y / largest, own)
        return largest * mean, largest * deviation or largest  # the product may vanish
    mean, deviation = float(y.mean()), float(y.std())
    if is_constant(y):
        return mean, abs(mean) or 1.0
    if variances is not None and variances.any():
        mean, common = consensus(y, variances)
        weights = 1.0 / (variances + common)
        scatter = float(weights @ (y - mean) ** 2 / weights.sum())
        return mean, math.sqrt(max(common, LEAST_SHARE * scatter)) or deviation
    return mean, deviation


HUGE_VARIANCE = 1e250
"""A row with a greater variance than this, relative to that of all losses, says as little."""


def standardised_variances(variances: FloatArray, scale: float) -> FloatArray:
    """Variances (s,) in units of the squared scale."""
    with np.errstate(over="ignore"):
        return np.minimum(variances / scale / scale, HUGE_VARIANCE)


def is_constant(y: FloatArray) -> bool:
    """Whether the losses y (s,) differ by no more than rounding."""
    return bool(np.ptp(y) <= 1e-12 * np.abs(y).max())
