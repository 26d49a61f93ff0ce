"""When a model is refitted: a schedule that depends on the data alone.

Learning hyperparameters costs O(s^3) per step, extending a Cholesky factor O(s^2). So the hyperparameters are learned
from the first r(s) evaluations, r growing geometrically, and the rest extend the factor one by one. Since r depends on
s only, and a fit on its data and seed only, a resumed study has exactly the models of an uninterrupted one.
"""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.surrogates.base import Surrogate, extended_by, fitted_to, is_stepwise, some_of, takes_variances
from flexibo.surrogates.fit_memory import FitMemory, remembering
from flexibo.surrogates.possible_losses import PossibleLosses
from flexibo.surrogates.truncated import within

EVERY_UNTIL = 20  # up to this many evaluations, the model is refitted after each


def refit_count(count: int, growth: float) -> int:
    """The number of first evaluations that the hyperparameters are learned from.

    >>> [refit_count(count, 1.1) for count in (1, 19, 21, 22, 23, 24, 200)]
    [1, 19, 20, 22, 22, 24, 196]
    """
    if count <= EVERY_UNTIL or growth <= 1.0:
        return count
    last = EVERY_UNTIL
    while (following := max(last + 1, int(last * growth))) <= count:
        last = following
    return last


def _start(y: FloatArray, growth: float) -> int:
    """The number of first losses to learn from, extended to the first loss of each sign.

    A warp that was learned from positive losses cannot represent a negative one.

    >>> _start(np.array([1.0] * 24 + [-1.0]), 1.1), _start(np.array([1.0] * 25), 1.1)
    (25, 24)
    """
    start = refit_count(len(y), growth)
    for wrong in (np.flatnonzero(y <= 0), np.flatnonzero(y >= 0)):
        if len(wrong) and wrong[0] >= start:
            start = int(wrong[0]) + 1
    return start


class Refits:
    """The model of one series of evaluations, refitted when the data has grown by the factor `growth`.

    Its predictions are possible losses: `possible` says which are, given the evaluations. Fits use the `memory` of what
    earlier ones found. Of an objective with steps or proxies, `over_levels` are the models of all its stops and
    proxies.
    """

    over_levels: Refits | None = None

    def __init__(
        self,
        settings: Surrogate,
        *,
        seed: tuple[int, ...],
        growth: float = 1.1,
        possible: PossibleLosses = PossibleLosses(),  # noqa: B008  # a value that never changes
        memory: FitMemory | None = None,
    ) -> None:
        self._memory = memory
        self.possible = possible
        self._settings = settings
        self.takes_variances = takes_variances(settings)  # asked at every question, and slow to find out
        self._seed = seed
        self.growth = growth
        self._start = -1
        self._X: FloatArray = np.empty((0, 0))
        self._y: FloatArray = np.empty(0)
        self._variances: FloatArray | None = None
        self._model = self._bounded = settings
        self._bounds: tuple[float, float] | None = None

    def model(
        self,
        X: FloatArray,
        y: FloatArray,
        *,
        groups: IntArray,
        variances: FloatArray | None = None,
        sure: bool = False,
    ) -> Surrogate:
        """The model of the losses y (s,) of the encoded designs X (s, d), in the order in which they were measured.

        `variances` (s,) are those of the losses' own noise; None for 0. If `sure`, only bounds that the user gave are
        used, and no assumption.
        """
        start = _start(y, self.growth)
        if start == self._start and self._continues(X, y, variances):
            model, done = self._model, len(self._y)
        else:
            rng = np.random.default_rng((*self._seed, start))
            with remembering(self._memory):
                own = some_of(variances, slice(start))
                model, done = fitted_to(self._settings, X[:start], y[:start], own, groups=groups, rng=rng), start
        step = 1 if is_stepwise(model) else max(1, len(y) - done)
        for row in range(done, len(y), step):
            new = slice(row, row + step)
            model = extended_by(model, X[new], y[new], some_of(variances, new))
        bounds = self.possible.given(y, sure=sure)
        if model is not self._model or bounds != self._bounds:
            self._bounded, self._bounds = within(model, *bounds), bounds
        self._start, self._X, self._y, self._variances, self._model = start, X, y, variances, model
        return self._bounded

    def _continues(self, X: FloatArray, y: FloatArray, variances: FloatArray | None) -> bool:
        known = len(self._y)
        before, now = (np.zeros(known) if own is None else own for own in (self._variances, variances))
        return (
            known <= len(y)
            and X.shape[1] == self._X.shape[1]
            and np.array_equal(self._y, y[:known])
            and np.array_equal(self._X, X[:known])
            and np.array_equal(before, now[:known])
        )
