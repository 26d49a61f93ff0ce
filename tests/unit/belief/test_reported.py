"""What a study reports: predictions and facts."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from flexibo.belief.belief import Predictions
from flexibo.belief.reported import likely_front, reported
from flexibo.history import History

HISTORY = cast(History, SimpleNamespace(optimised=(0, 1)))


def thought(mu: Any, sigma: Any, known: Sequence[Sequence[int]], legal: Sequence[float] | None = None) -> Predictions:
    """Estimates of designs 0, 1, 2, ... in two objectives."""
    mu, sigma = np.array(mu, dtype=float), np.array(sigma, dtype=float)
    chances = np.ones(mu.shape)
    if legal is not None:
        chances[:, 0] = legal
    keys = np.arange(mu.size, dtype=np.uint64).reshape(mu.shape)
    return Predictions(mu, sigma, mu - sigma, mu + sigma, keys, np.array(known, dtype=bool), chances, ())


def test_a_measured_design_is_not_left_out_for_a_vague_prediction() -> None:
    estimates = thought([[2, 2], [1.9, 1.9]], [[0, 0], [0, 1.0]], [[1, 1], [1, 0]])
    assert reported(HISTORY, estimates, complete=False).tolist() == [1, 0]
    assert likely_front(HISTORY, estimates, complete=False).tolist() == [1]


def test_a_measured_design_gives_way_to_a_prediction_that_is_clearly_better() -> None:
    for deviation, shown in ((0.04, [1]), (0.06, [1, 0])):
        estimates = thought([[2, 2], [1.9, 1.9]], [[0, 0], [0, deviation]], [[1, 1], [1, 0]])
        assert reported(HISTORY, estimates, complete=False).tolist() == shown


def test_a_measured_design_gives_way_to_a_better_measured_one() -> None:
    estimates = thought([[2, 2], [1, 1]], np.zeros((2, 2)), np.ones((2, 2), dtype=int).tolist())
    assert reported(HISTORY, estimates, complete=False).tolist() == [1]
    assert reported(HISTORY, estimates, complete=True).tolist() == [1]


def test_a_measured_design_that_breaks_a_constraint_is_not_shown_beside_one_that_seems_to_keep_it() -> None:
    estimates = thought([[1, 1], [2, 2]], [[0, 0], [0, 1.0]], [[1, 1], [1, 0]], legal=[0.0, 0.9])
    assert reported(HISTORY, estimates, complete=False).tolist() == [1]


def test_a_prediction_that_may_be_illegal_takes_nobodys_place() -> None:
    estimates = thought([[2, 2], [1, 1]], [[0, 0], [0, 0.01]], [[1, 1], [1, 0]], legal=[1.0, 0.9])
    assert reported(HISTORY, estimates, complete=False).tolist() == [1, 0]
