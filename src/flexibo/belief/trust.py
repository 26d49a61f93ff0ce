"""Whether the models of a study can be trusted: its own readings, each predicted by the others, and how many there are.

**Residuals.** Each reading is predicted from all others. If the models are right, the residuals are standard normal,
and the largest of s n of them is beyond Phi^-1(1 - `LEVEL` / (2 s n)) with a probability of at most `LEVEL`. If it is,
the models are not right, and boxes should be wider by the factor by which it is beyond (`widening`).

**Readings.** Residuals say nothing about what no reading has met. Let h of N designs not follow the models, and let
their places have nothing to do with the choice of the s designs that were measured. These meet none of the h with
probability

    C(N - h, s) / C(N, s) = product over i < h of (u - i) / (N - i),    u = N - s.

`readings_needed` is the least s with which this is at most `MISSED` for h = `RARE` N: 26 of 96 designs, 29 of very
many. It cannot be made small for h = 1, where it is u / N, unless nearly all designs are measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.history import History
from flexibo.space import Designs
from flexibo.surrogates import Refits, Surrogate, untruncated
from flexibo.surrogates.base import SelfChecking, fitted_to, offers, some_of

LEVEL = 0.05
"""The probability with which right models are called wrong."""
RARE = 1 / 16
"""The share of designs that do not follow the models which a study must be able to notice."""
MISSED = 0.15
"""The probability with which it does not notice them."""
MOST = 100.0
"""The greatest factor by which boxes are widened."""
FOLDS = 10
"""The number of parts in which readings are held out if a surrogate has no formula for it."""


def widening(history: History, models: Sequence[Refits]) -> float:
    """The factor by which boxes must be wider for all held-out residuals; 1 if these support the models."""
    largest, count = 0.0, 0
    for j, objective in enumerate(history.quantities):
        seen, y = history.data(j)
        X, groups = seen.encoded(objective.depends_on), history.space.groups(objective.depends_on)
        own = history.variances(j)
        model = untruncated(models[j].model(X, y, groups=groups, variances=own))
        residuals = held_out(model, X, y, groups=groups, variances=own)
        largest, count = max(largest, float(np.abs(residuals).max())), count + len(residuals)
    expected = -float(ndtri(LEVEL / (2.0 * count)))
    return min(max(1.0, largest / expected), MOST)


def held_out(
    model: Surrogate, X: FloatArray, y: FloatArray, *, groups: IntArray, variances: FloatArray | None = None
) -> FloatArray:
    """How far the losses y (s,) of X (s, d) are from predictions without them, in standard deviations (s,).

    `variances` (s,) are those of the losses' own noise.
    """
    if offers(model, SelfChecking):
        return model.held_out()
    residuals, rng = np.zeros(len(y)), np.random.default_rng(0)
    if len(y) < 2:
        return residuals
    for part in np.array_split(rng.permutation(len(y)), min(FOLDS, len(y))):
        rest = np.delete(np.arange(len(y)), part)
        fitted = fitted_to(model, X[rest], y[rest], some_of(variances, rest), groups=groups, rng=rng)
        mean, deviation = fitted.predict(X[part])
        if variances is not None:
            deviation = np.sqrt(deviation**2 + variances[part])
        off = y[part] - mean
        unsure = deviation > 1e-12 * float(np.abs(y).max())
        residuals[part] = np.where(unsure, off / np.where(unsure, deviation, 1.0), 0.0)
    return residuals


def chance_of_missing(hidden: int, total: int, measured: int) -> float:
    """The probability that none of `hidden` designs, of `total`, is among the `measured`.

    >>> chance_of_missing(1, 10, 3), round(chance_of_missing(2, 10, 3), 3)
    (0.7, 0.467)
    """
    return math.prod(max(0, total - measured - i) / (total - i) for i in range(hidden))


def readings_needed(total: int) -> int:
    """The number of `total` designs to measure, so that `RARE` of them are noticed with probability 1 - `MISSED`.

    >>> [readings_needed(total) for total in (1, 10, 20, 96, 1000, 100_000)]
    [1, 9, 12, 26, 29, 30]
    """
    hidden = math.ceil(RARE * total)
    return next(s for s in range(total + 1) if chance_of_missing(hidden, total, s) <= MISSED)


def readings_missing(history: History, designs: Designs) -> IntArray:
    """How many more readings of each quantity (n,) are needed among the candidates; a quantity has its own options."""
    totals = _totals(history, designs)
    return np.array([max(0, readings_needed(t) - len(history.known(j))) for j, t in enumerate(totals)], dtype=np.int64)


def chance_of_stranger(history: History, designs: Designs) -> float:
    """The probability that a single design that does not follow the models was not measured, for the worst quantity."""
    totals = _totals(history, designs)
    return max(chance_of_missing(1, t, min(t, len(history.known(j)))) for j, t in enumerate(totals))


def _totals(history: History, designs: Designs) -> list[int]:
    """The number of different candidates for each quantity (n); what was measured is among the candidates."""
    return [len(np.unique(designs.keys(objective.depends_on))) for objective in history.quantities]
