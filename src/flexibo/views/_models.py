"""The models behind a view: those of the method itself, or approximations of them in a long study.

Fitting a Gaussian process to s evaluations takes O(s^3). A picture must not take minutes, so if an objective has more
than `LIMIT` evaluations, the models for pictures are fitted to a fixed random subset of `LIMIT` of them. Measured
values are shown as measured; only predictions differ. The method itself is not affected, nor is the front, whose
designs are counted and numbered as the study itself does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.costs import Costs
from flexibo.history import History
from flexibo.optimizer.predictor import Predictor
from flexibo.space import Designs
from flexibo.space.designs import decoded
from flexibo.study import Study
from flexibo.surrogates import GaussianProcess, Surrogate
from flexibo.surrogates.base import extended_by, fitted_to, some_of, takes_variances


def evenly_spaced(count: int, limit: int) -> IntArray:
    """At most `limit` of the indices 0, 1, ..., count - 1, evenly spaced, including both ends.

    >>> evenly_spaced(5, 3).tolist(), evenly_spaced(2, 3).tolist(), evenly_spaced(0, 3).tolist()
    ([0, 2, 4], [0, 1], [])
    >>> evenly_spaced(4, 0).tolist()
    []
    """
    return np.unique(np.linspace(0, count - 1, min(count, limit)).round().astype(np.int64))


def random_rows(count: int, limit: int) -> IntArray:
    """At most `limit` of `count` rows, in order, drawn at random; one more row changes at most one of them.

    >>> random_rows(4, 9).tolist(), len(random_rows(100, 9))
    ([0, 1, 2, 3], 9)
    """
    priority = np.random.default_rng(0).random(count)
    return np.sort(np.argsort(priority, kind="stable")[:limit])


@dataclass(frozen=True, slots=True)
class SubsampledSurrogate:
    """A surrogate that is fitted to at most `limit` evaluations."""

    model: Surrogate
    limit: int

    @property
    def takes_variances(self) -> bool:
        """Whether it uses the variances of the own noise of losses: if its model does."""
        return takes_variances(self.model)

    def fit(
        self,
        X: FloatArray,
        y: FloatArray,
        *,
        groups: IntArray,
        rng: np.random.Generator,
        variances: FloatArray | None = None,
    ) -> Surrogate:
        """The surrogate, fitted to a subset of the losses y (s,) of the designs X (s, d), with own variances (s,)."""
        rows = random_rows(len(y), self.limit)
        return fitted_to(self.model, X[rows], y[rows], some_of(variances, rows), groups=groups, rng=rng)

    def extend(self, X: FloatArray, y: FloatArray, *, variances: FloatArray | None = None) -> Surrogate:
        """Raises, like every surrogate that is not fitted."""
        return extended_by(self.model, X, y, variances)

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Raises, like every surrogate that is not fitted."""
        return self.model.predict(X)


LIMIT = 600  # the maximum number of evaluations of an objective to which its model for pictures is fitted


@dataclass(frozen=True, slots=True)
class ViewModels:
    """The models behind a view; they are approximate if they are fitted to a subset of the evaluations."""

    predictor: Predictor
    approximate: bool

    def model(self, history: History, j: int) -> Surrogate:
        """The fitted surrogate of objective j, which must have been measured."""
        objective, (designs, losses) = history.objectives[j], history.data(j)
        X, groups = designs.encoded(objective.depends_on), history.space.groups(objective.depends_on)
        return self.predictor.models(history)[j].model(X, losses, groups=groups, variances=history.variances(j))


_SUBSAMPLED: WeakKeyDictionary[Study, tuple[Predictor, Predictor]] = WeakKeyDictionary()
"""One predictor for each long study, so that several views of it fit its models once; beside the one it is like."""


def view_models(study: Study) -> ViewModels:
    """The models for the views of a study; they are fitted within a few seconds."""
    if not _is_long(study.history):
        return ViewModels(study.predictor, approximate=False)
    if study not in _SUBSAMPLED or _SUBSAMPLED[study][0] is not study.predictor:  # the study may be changed
        _SUBSAMPLED[study] = study.predictor, _subsampled_predictor(study)
    return ViewModels(_SUBSAMPLED[study][1], approximate=True)


def _subsampled_predictor(study: Study) -> Predictor:
    """A predictor like the study's, whose models are fitted to at most `LIMIT` evaluations."""
    full, choice = study.predictor, study.predictor.surrogate
    exact = None if choice.exact is None else SubsampledSurrogate(choice.exact, LIMIT)
    predictor = Predictor(
        full.method,
        full.initial,
        seed=full.seed,
        m=full.m,
        delta=full.delta,
        surrogate=replace(choice, settings=SubsampledSurrogate(choice.settings, LIMIT), growth=1.0, exact=exact),
        cost=full.costs.cost,
    )
    model = SubsampledSurrogate(GaussianProcess(), LIMIT)
    predictor.costs = Costs(full.costs.cost, seed=full.seed, model=model, growth=1.0)
    return predictor


def settled(designs: Designs) -> Designs:
    """Designs, legal or not, without inactive options; options that a condition activates get their middle value."""
    # Encoding and decoding applies the conditions.
    return decoded(designs.table, designs.encoded()) if designs.table.conditions else designs


def every_objective_measured(history: History) -> bool:
    """Whether every objective has a value, so that missing values can be predicted."""
    return all(map(history.count, range(len(history.quantities))))


def _is_long(history: History) -> bool:
    counts = [history.count(j) for j in range(len(history.objectives))]
    counts += [len(history.costs(p)[1]) for p in range(len(history.purchases))]
    return max(counts) > LIMIT
