"""The Gaussian-process posterior of very many evaluations: anchors, and the rows near the predicted designs.

An exact posterior of s rows costs O(s^2) for each prediction and each new row, and O(s^3) for each fit. Here a set of
designs that are predicted together uses only some rows: g anchors, which are spread over the data and represent its
trend, and the other rows that are nearest to any of the designs, which represent the detail. Given these rows the
prediction is exact, so a standard deviation is never below that of all rows.

Only rows are stored, so a new row costs almost nothing, and predictions do not depend on how the rows were added. They
depend a little on which designs are predicted together, since these share the nearest rows. If there are very many
designs, measured ones are predicted in groups that depend on the data alone, once for all questions.

Anchors: the greedy rows of an incomplete Cholesky factorisation with pivoting (Fine and Scheinberg, Efficient SVM
Training Using Low-Rank Kernel Representations, 2001). Rows around a question: Gramacy and Apley, Local Gaussian Process
Approximation for Large Computer Experiments (2015), who choose them for each design. Both together: Snelson and
Ghahramani, Local and Global Sparse Gaussian Process Approximations (2007).

Letters: s evaluations, of which g are anchors and r = s - g others; d columns; m designs.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.errors import InvalidValueError
from flexibo.surrogates.base import own_variances, standardised_variances
from flexibo.surrogates.fit_memory import recalled
from flexibo.surrogates.kernels import KERNELS, rounded_distances, scaled, squared_distances
from flexibo.surrogates.posterior import CHUNK_ENTRIES, Hyperparameters, Posterior, condition

MOST_DESIGNS = 1500  # more designs are predicted in several parts
# Of more designs, measured ones are predicted in groups of neighbours: together, all rows would be near. The rows used
# beside the anchors are this many times a group; a group of k designs is predicted from 1.5 k of them.
GROUP_PART = 5
ROWS_PER_ANCHOR = 4  # each anchor is chosen from about this many rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The number of rows that a prediction uses.

    Attributes:
        rows: The most rows.
        anchors: The number of these that are the same for every prediction.
        nearest: The most other rows per predicted design.
    """

    rows: int
    anchors: int
    nearest: int

    def __post_init__(self) -> None:
        if not 1 <= self.anchors < self.rows or self.nearest < 1:
            raise InvalidValueError(
                f"{self} cannot be used; anchors and nearest must be 1 or more, and rows more than anchors."
            )


DEFAULT_REACH = Reach(rows=2000, anchors=600, nearest=64)
"""Keeps a question at 5,000 evaluations below two seconds (`docs/results/scale.md` shows alternatives)."""
SMALL_REACH = Reach(rows=800, anchors=350, nearest=48)
"""The same in half the time and memory, where no reach is a large share of the evaluations."""
MANY = 10_000


def reach_of(count: int) -> Reach:
    """The rows that a prediction uses by default: beyond `MANY` evaluations a question must not take too long."""
    return DEFAULT_REACH if count <= MANY else SMALL_REACH


class _Rows:
    """Rows with room for more: a posterior, and what extends it, share them as far as they agree."""

    __slots__ = ("_X", "_variances", "_y", "count")

    def __init__(self, X: FloatArray, y: FloatArray, variances: FloatArray, *, more: int) -> None:
        self.count = len(y)
        size = len(y) + len(y) // 4 + more
        self._X, self._y, self._variances = np.empty((size, X.shape[1])), np.empty(size), np.empty(size)
        self._X[: self.count], self._y[: self.count], self._variances[: self.count] = X, y, variances

    def has_room(self, count: int, more: int) -> bool:
        """Whether these are `count` rows, and more fit in."""
        return self.count == count and count + more <= len(self._y)

    def extended(
        self, X: FloatArray, y: FloatArray, variances: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """All rows (s, d), (s,), (s,) after these were appended; what was returned before stays as it is."""
        new = slice(self.count, self.count + len(y))
        self._X[new], self._y[new], self._variances[new] = X, y, variances
        self.count = end = new.stop
        return self._X[:end], self._y[:end], self._variances[:end]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalPosterior:
    """A Gaussian process conditioned, for each prediction, on the anchors and the other rows nearest to its designs.

    `anchored` is the exact posterior given the anchors (g, d) alone; X (r, d) and y (r,) are the other rows, whose own
    noise has the variances (r,).
    """

    anchored: Posterior
    anchors: FloatArray
    X: FloatArray
    y: FloatArray
    variances: FloatArray
    reach: Reach
    room: _Rows | None = field(default=None, repr=False)
    _measured: list[tuple[FloatArray, FloatArray]] = field(default_factory=list, init=False, repr=False)
    _whole: list[Posterior] = field(default_factory=list, init=False, repr=False)

    def extend(self, X: FloatArray, y: FloatArray, variances: FloatArray | None = None) -> LocalPosterior:
        """The posterior with the rows X (k, d), y (k,), with own variances (k,), appended; the anchors stay."""
        room = self.room
        if room is None or not room.has_room(len(self.y), len(y)):
            room = _Rows(self.X, self.y, self.variances, more=len(y))
        all_X, all_y, all_variances = room.extended(X, y, own_variances(variances, len(y)))
        return replace(self, X=all_X, y=all_y, variances=all_variances, room=room)

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean (m,) and standard deviation (m,) of the noise-free loss at X (m, d); many designs, a part at a time."""
        if len(X) <= MOST_DESIGNS:
            return self.around(X).predict(X)
        mean, deviation = np.empty(len(X)), np.empty(len(X))
        known = {row.tobytes(): place for place, row in enumerate((*self.anchors, *self.X))}
        places = np.array([known.get(row.tobytes(), -1) for row in X])
        new = np.flatnonzero(places < 0)
        for start in range(0, len(new), MOST_DESIGNS):
            part = new[start : start + MOST_DESIGNS]
            mean[part], deviation[part] = self.around(X[part]).predict(X[part])
        if len(new) < len(X):
            again = places >= 0
            mean[again], deviation[again] = (side[places[again]] for side in self.predict_measured())
        return mean, deviation

    def predict_measured(self) -> tuple[FloatArray, FloatArray]:
        """Mean (s,) and standard deviation (s,) of the noise-free loss at all rows, anchors first; computed once."""
        if not self._measured:
            X = np.vstack([self.anchors, self.X])
            mean, deviation = np.empty(len(X)), np.empty(len(X))
            most = max(2, (self.reach.rows - self.reach.anchors) // GROUP_PART)
            for rows in neighbourhoods(self._scaled(X), most):
                part = X[rows]
                mean[rows], deviation[rows] = self.around(part, len(part) + len(part) // 2).predict(part)
            self._measured.append((mean, deviation))
        return self._measured[0]

    def covariance(self, X: FloatArray, others: FloatArray) -> FloatArray:
        """The covariance (m, o) of the noise-free losses at X (m, d) with those at others (o, d)."""
        return self.around(X if others is X else np.vstack([X, others])).covariance(X, others)

    def draws(self, X: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws (count, m) of the noise-free losses at X (m, d)."""
        return self.around(X).draws(X, count, rng)

    def around(self, X: FloatArray, most: int | None = None) -> Posterior:
        """The exact posterior given the anchors and the (at most `most`) other rows nearest to any of X (m, d)."""
        count = min(self.reach.rows - self.reach.anchors, self.reach.nearest * len(X), len(self.y))
        count = count if most is None else min(count, most)
        if not count:
            return self.anchored
        if count == len(self.y):
            return self._given_all()
        near = nearest_rows(self._scaled(X), self._scaled(self.X), count)
        return self.anchored.extend(self.X[near], self.y[near], self.variances[near])

    def _given_all(self) -> Posterior:
        """The exact posterior given all rows; kept for the second of the two predictions of a question, and no longer.

        That takes half the time of a question, and no more memory than one of the two.
        """
        with suppress(IndexError):
            return self._whole.pop()
        self._whole.append(self.anchored.extend(self.X, self.y, self.variances))
        return self._whole[0]

    def _scaled(self, X: FloatArray) -> FloatArray:
        return scaled(X, np.array(self.anchored.hyperparameters.length_scales), self.anchored.groups)


def local_condition(
    X: FloatArray,
    y: FloatArray,
    *,
    groups: IntArray,
    location: float,
    scale: float,
    kernel: str,
    hyperparameters: Hyperparameters,
    reach: Reach,
    variances: FloatArray | None = None,
) -> LocalPosterior:
    """The local posterior given the losses y (s,) of the designs X (s, d), with own variances (s,).

    s exceeds the number of anchors.
    """
    own = own_variances(variances, len(y))
    # Evenly spaced rows are a fair sample, as rows are in the order of time; the choice then costs the same for any s.
    some = np.linspace(0, len(y) - 1, min(len(y), ROWS_PER_ANCHOR * reach.anchors)).astype(np.int64)
    Z = scaled(X[some], np.array(hyperparameters.length_scales), groups)
    noise = hyperparameters.noise + standardised_variances(own[some], scale)
    places = recalled(
        ("anchors", kernel, hyperparameters, reach.anchors, Z, *([noise] if own.any() else [])),
        lambda: spread_rows(Z, noise, kernel=kernel, variance=hyperparameters.variance, count=reach.anchors).astype(
            np.float64
        ),
        rows=len(Z),
        is_usable=lambda found: _are_places(found, len(Z), reach.anchors),
    )
    chosen = some[places.astype(np.int64)]
    anchored = condition(
        X[chosen],
        y[chosen],
        groups=groups,
        location=location,
        scale=scale,
        kernel=kernel,
        hyperparameters=hyperparameters,
        variances=own[chosen],
    )
    others = np.delete(np.arange(len(y)), chosen)
    return LocalPosterior(
        anchored=anchored, anchors=X[chosen], X=X[others], y=y[others], variances=own[others], reach=reach
    )


def spread_rows(Z: FloatArray, noise: FloatArray, *, kernel: str, variance: float, count: int) -> IntArray:
    """The most informative rows (count,) of Z (s, d): one by one, that with the greatest variance given the others.

    A row with much noise (s,) tells little of its neighbours, so one of them is chosen soon.
    """
    factor = np.empty((count, len(Z)))
    unknown = np.full(len(Z), variance)
    chosen = np.empty(count, dtype=np.int64)
    for step in range(count):
        row = int(np.argmax(unknown))
        covariance = KERNELS[kernel].correlation(squared_distances(Z[row : row + 1], Z)[0]) * variance
        covariance -= factor[:step, row] @ factor[:step]
        covariance /= math.sqrt(max(float(unknown[row]), 0.0) + float(noise[row]))
        factor[step] = covariance
        unknown -= covariance**2
        unknown[chosen[:step]] = -np.inf
        unknown[row] = -np.inf
        chosen[step] = row
    return np.sort(chosen)


def _are_places(found: FloatArray, size: int, count: int) -> bool:
    """Whether these are `count` rising places below a size."""
    if found.shape != (count,) or not (np.diff(found) > 0).all():
        return False
    return bool(found[0] >= 0 and found[-1] < size and (found == np.rint(found)).all())


def neighbourhoods(Z: FloatArray, most: int) -> list[IntArray]:
    """The rows of Z (s, d) in groups of at most `most` neighbours, by halving along the widest column.

    >>> [group.tolist() for group in neighbourhoods(np.array([[0.0], [9.0], [1.0], [8.0], [5.0]]), 2)]
    [[0, 2], [4], [3, 1]]
    """
    groups, found = [np.arange(len(Z))], []
    while groups:
        rows = groups.pop()
        if len(rows) <= most:
            found.append(rows)
            continue
        column = int(np.argmax(np.ptp(Z[rows], axis=0)))
        rows = rows[np.argsort(Z[rows, column], kind="stable")]
        middle = len(rows) // 2
        groups += [rows[middle:], rows[:middle]]
    return found


def nearest_rows(Z: FloatArray, others: FloatArray, count: int) -> IntArray:
    """The rows of others (r, d) that are nearest to any row of Z (m, d), in rising order, shape (count,).

    Distances are compared in single precision, so that rounding does not decide between equal ones, which are frequent
    if options have few values; of these the latest rows are taken.
    """
    least = np.empty(len(others))
    block = max(1, CHUNK_ENTRIES // max(1, len(Z)))
    for start in range(0, len(others), block):
        rows = slice(start, start + block)
        least[rows] = rounded_distances(Z, others[rows]).min(axis=0, initial=np.inf)
    np.maximum(least, 0.0, out=least)
    latest_first = np.arange(len(others))[::-1]
    order = np.argsort(least.astype(np.float32)[::-1], kind="stable")
    return np.sort(latest_first[order[:count]])
