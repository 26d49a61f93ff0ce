"""The random forest: its spread, its seed and its refusals."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from flexibo.errors import InvalidValueError
from flexibo.surrogates import PAPER_RF, RandomForest, random_forest

GROUPS = np.array([0, 1])


def data(rows=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((rows, 2))
    return X, 1e-4 * (np.sin(5.0 * X[:, 0]) + X[:, 1])


def fit(settings, X, y, seed=0):
    return settings.fit(X, y, groups=GROUPS, rng=np.random.default_rng(seed))


def test_mean_and_deviation_are_those_of_scikit_learns_trees():
    X, y = data()
    forest = fit(RandomForest(trees=12), X, y)
    seed = int(np.random.default_rng(0).integers(2**31 - 1))
    regressor = RandomForestRegressor(n_estimators=12, min_impurity_decrease=1e-7, random_state=seed)
    regressor.fit(X, (y - y.mean()) / y.std())
    Xs = data(seed=1)[0]
    trees = np.stack([tree.predict(Xs) for tree in regressor.estimators_])
    mean, deviation = forest.predict(Xs)
    np.testing.assert_allclose(mean, y.mean() + y.std() * trees.mean(axis=0))
    np.testing.assert_allclose(deviation, y.std() * trees.std(axis=0))


def test_extending_equals_fitting_all_rows_with_the_same_seed():
    X, y = data()
    extended = fit(RandomForest(trees=8), X[:20], y[:20]).extend(X[20:], y[20:])
    np.testing.assert_array_equal(extended.predict(X), fit(RandomForest(trees=8), X, y).predict(X))


def test_fit_draws_exactly_one_integer():
    rng, same = np.random.default_rng(3), np.random.default_rng(3)
    RandomForest(trees=2).fit(*data(), groups=GROUPS, rng=rng)
    same.integers(2**31 - 1)
    assert rng.integers(10**6) == same.integers(10**6)


def test_the_unit_of_the_losses_does_not_change_the_trees():
    X, y = data()
    small, large = fit(RandomForest(trees=8), X, y), fit(RandomForest(trees=8), X, 2.0**20 * y)
    np.testing.assert_allclose(large.predict(X), 2.0**20 * np.array(small.predict(X)))
    assert np.ptp(small.predict(X)[0]) > 0.5 * np.ptp(y)


def test_many_designs_are_predicted_block_by_block_with_the_same_result(monkeypatch):
    forest = fit(RandomForest(trees=8), *data())
    X, _ = data(rows=100, seed=1)
    expected = forest.predict(X)
    monkeypatch.setattr(random_forest, "CHUNK_ROWS", 7)
    np.testing.assert_array_equal(forest.predict(X), expected)


def test_the_papers_forest_has_128_trees():
    assert (PAPER_RF.trees, PAPER_RF.min_samples_split, PAPER_RF.min_impurity_decrease) == (128, 2, 1e-7)


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"trees": 1}, "trees is 1.* 2 "),
        ({"min_samples_split": 1}, "min_samples_split is 1.* 2 "),
        ({"min_impurity_decrease": -1.0}, "min_impurity_decrease is -1.0.* 0 "),
        ({"min_impurity_decrease": float("nan")}, "min_impurity_decrease is nan.* 0 "),
    ],
)
def test_unusable_settings_are_refused(settings, facts):
    with pytest.raises(InvalidValueError, match=facts):
        RandomForest(**settings)
