"""The numbers of the process are checked in tests/references/test_level_process.py."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo.belief.levels import with_levels
from flexibo.errors import InvalidValueError
from flexibo.surrogates.level_process import LevelProcess, latest_rows, used_rows

# Three designs: the first was read at the levels 0 and 2, the second at 0, the third at 1.
X = with_levels(np.array([[0.1], [0.1], [0.5], [0.9]]), np.array([0, 2, 0, 1]), 3)


def test_the_latest_reading_of_a_design_is_that_of_its_highest_level() -> None:
    assert latest_rows(X, 1).tolist() == [1, 2, 3]


def test_readings_that_a_later_one_supersedes_are_left_out_first_and_early_ones_next() -> None:
    assert used_rows(X, 1, 4).tolist() == [0, 1, 2, 3]
    assert used_rows(X, 1, 3).tolist() == [1, 2, 3]
    assert used_rows(X, 1, 2).tolist() == [1, 3]


def test_a_process_that_is_not_fitted_says_so() -> None:
    with pytest.raises(InvalidValueError, match="LevelProcess"):
        LevelProcess(3).predict(X)


def test_early_readings_that_follow_the_last_ones_tell_about_them() -> None:
    rng = np.random.default_rng(0)
    designs = rng.random((12, 2))
    y = np.sin(5.0 * designs[:, 0]) + designs[:, 1]
    levels = np.repeat([0, 1], 12)
    rows, losses = with_levels(np.vstack([designs, designs]), levels, 2), np.concatenate([y + 1e-3, y])
    known = np.flatnonzero(
        (levels == 0) | (np.arange(24) < 18)
    )  # the last six designs were read at the early level only
    model = LevelProcess(2).fit(rows[known], losses[known], groups=np.array([0, 1, 2]), rng=rng)
    mean, _ = model.predict(rows[18:])
    alone = LevelProcess(2).fit(rows[12:18], losses[12:18], groups=np.array([0, 1, 2]), rng=rng)
    assert np.abs(mean - y[6:]).mean() < 0.5 * np.abs(alone.predict(rows[18:])[0] - y[6:]).mean()
