"""Predictions that are remembered: the same as those that are made."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo import GaussianProcess
from flexibo.surrogates._prediction_cache import REMEMBERED, PredictionCache


def test_the_same_designs_are_predicted_once_and_others_are_not_taken_for_them() -> None:
    asked: list[np.ndarray] = []

    def predict(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        asked.append(X)
        return X.sum(axis=1), X.prod(axis=1)

    recall, X = PredictionCache(), np.arange(6.0).reshape(3, 2)
    first = recall.predicted(X, predict)
    assert recall.predicted(X.copy(), predict) is first
    assert len(asked) == 1
    np.testing.assert_array_equal(recall.predicted(X[::-1].copy(), predict)[0], first[0][::-1])
    assert len(recall.predicted(X.reshape(6, 1), predict)[0]) == 6
    assert len(asked) == 3


def test_the_oldest_is_forgotten_first() -> None:
    made: list[float] = []

    def predict(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        made.append(float(X[0, 0]))
        return X[:, 0].copy(), X[:, 0].copy()

    recall = PredictionCache()
    for number in [*range(REMEMBERED + 1), REMEMBERED, 0]:
        recall.predicted(np.full((1, 1), float(number)), predict)
    assert made == [*range(REMEMBERED + 1), 0]


def test_what_is_remembered_cannot_be_written_to_and_dies_with_the_data() -> None:
    X, y = np.array([[0.0], [0.5], [1.0]]), np.array([1.0, 0.0, 1.0])
    gp = GaussianProcess(noise=1e-6).fit(X, y, groups=np.array([0]), rng=np.random.default_rng(0))
    new = np.array([[0.25]])
    before = gp.predict(new)
    with pytest.raises(ValueError, match="read-only"):
        before[0][0] = 7.0
    assert gp.extend(new, np.array([5.0])).predict(new)[0] != before[0]
