"""Random-forest surrogates: the spread of the trees' predictions is the standard deviation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.errors import InvalidValueError
from flexibo.surrogates.base import dense_groups, designs, location_and_scale, training_data, unfitted

CHUNK_ROWS = 4096  # rows predicted at once; limits the size of the table of all trees' predictions


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Forest:
    """scikit-learn's compiled trees, grown on X (s, d) and y (s,) minus `location`, divided by `scale`."""

    X: FloatArray
    y: FloatArray
    seed: int
    location: float
    scale: float
    trees: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomForest:
    """scikit-learn's random forest: mean and standard deviation over the trees' predictions.

    Losses are standardised before the trees are grown, so that `min_impurity_decrease` does not depend on their unit.

    >>> X, y = np.array([[0.0], [0.5], [1.0]]), np.array([1.0, 0.0, 1.0])
    >>> forest = RandomForest(trees=8).fit(X, y, groups=np.array([0]), rng=np.random.default_rng(0))
    >>> [values.shape for values in forest.predict(X)]
    [(3,), (3,)]

    Attributes:
        trees: The number of trees.
        min_samples_split: A node with fewer rows is not split.
        min_impurity_decrease: A split that lowers the variance (times the share of its rows) by less is not made. The
            paper sets scikit-learn's "min impurity split", a bound on the variance before the split, which was removed
            in version 1.0; this is its closest replacement.
        forest: The grown trees; None before `fit`.
    """

    trees: int = 128
    min_samples_split: int = 2
    min_impurity_decrease: float = 1e-7
    forest: Forest | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.trees < 2:
            raise InvalidValueError(f"trees is {self.trees}; it must be 2 or more, as their spread is the deviation.")
        if self.min_samples_split < 2:
            raise InvalidValueError(f"min_samples_split is {self.min_samples_split}; it must be 2 or more.")
        if not self.min_impurity_decrease >= 0:
            raise InvalidValueError(f"min_impurity_decrease is {self.min_impurity_decrease}; it must be 0 or more.")

    def fit(self, X: FloatArray, y: FloatArray, *, groups: IntArray, rng: np.random.Generator) -> RandomForest:
        """A forest grown on the losses y (s,) of the designs X (s, d); `rng` draws its seed. See `Surrogate.fit`."""
        X, y = training_data(X, y)
        dense_groups(groups, X.shape[1])
        return self._grown(X.copy(), y.copy(), seed=int(rng.integers(2**31 - 1)))

    def extend(self, X: FloatArray, y: FloatArray) -> RandomForest:
        """A forest grown again, from the same seed, with the rows X (k, d), y (k,) appended."""
        forest = self._fitted()
        X, y = training_data(X, y)
        X = designs(X, forest.X.shape[1])
        return self._grown(np.vstack([forest.X, X]), np.concatenate([forest.y, y]), seed=forest.seed)

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean (m,) and the standard deviation (m,) of the trees' predictions at the designs X (m, d)."""
        forest = self._fitted()
        X = designs(X, forest.X.shape[1])
        mean, deviation = np.empty(len(X)), np.empty(len(X))
        for start in range(0, len(X), CHUNK_ROWS):
            block = slice(start, start + CHUNK_ROWS)
            values = _values(forest.trees, X[block])
            mean[block], deviation[block] = values.mean(axis=0), values.std(axis=0)
        return forest.location + forest.scale * mean, forest.scale * deviation

    def draws(self, X: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws (count, m) at the designs X (m, d): each is the prediction of a random tree."""
        forest = self._fitted()
        X = designs(X, forest.X.shape[1])
        trees = [forest.trees[i] for i in rng.integers(len(forest.trees), size=count)]
        return forest.location + forest.scale * _values(trees, X)

    def covariance(self, X: FloatArray, others: FloatArray) -> FloatArray:
        """The covariance (m, o) over the trees of their predictions at the designs X (m, d) and others (o, d)."""
        forest = self._fitted()
        columns = forest.X.shape[1]
        here, there = (_values(forest.trees, designs(D, columns)) for D in (X, others))
        centred = here - here.mean(axis=0)
        return np.asarray(forest.scale**2 * centred.T @ (there - there.mean(axis=0)) / len(forest.trees))

    def _fitted(self) -> Forest:
        if self.forest is None:
            raise unfitted("RandomForest")
        return self.forest

    def _grown(self, X: FloatArray, y: FloatArray, *, seed: int) -> RandomForest:
        from sklearn.ensemble import RandomForestRegressor  # seconds to import

        location, scale = location_and_scale(y)
        regressor = RandomForestRegressor(
            n_estimators=self.trees,
            min_samples_split=self.min_samples_split,
            min_impurity_decrease=self.min_impurity_decrease,
            random_state=seed,
            n_jobs=1,
        )
        regressor.fit(_columns(X), (y - location) / scale)
        trees = tuple(estimator.tree_ for estimator in regressor.estimators_)
        return replace(self, forest=Forest(X=X, y=y, seed=seed, location=location, scale=scale, trees=trees))


def _values(trees: Sequence[Any], X: FloatArray) -> FloatArray:
    """The predictions (t, m) of the compiled trees, which do not check the same input again, at X (m, d)."""
    columns = _columns(X)
    return np.stack([tree.predict(columns).ravel() for tree in trees])


def _columns(X: FloatArray) -> npt.NDArray[np.float32]:
    """X (m, d) as scikit-learn's trees take it; a column of zeros if d is 0."""
    return np.ascontiguousarray(X if X.shape[1] else np.zeros((len(X), 1)), dtype=np.float32)


PAPER_RF = RandomForest(trees=128, min_samples_split=2, min_impurity_decrease=1e-7)
"""The paper's random forest (table of hyperparameters)."""
