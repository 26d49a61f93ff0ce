"""The knee of a front."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo.pareto.knee import knee


def test_the_knee_is_farthest_from_the_line_between_the_ends() -> None:
    # Scaled to the range of the front: (0, 1), (0.1, 0.3), (0.5, 0.1), (1, 0); the sums are 1, 0.4, 0.6 and 1.
    Y = np.array([[0.0, 100.0], [1.0, 30.0], [5.0, 10.0], [10.0, 0.0]])
    assert knee(Y) == 1


def test_units_do_not_matter() -> None:
    Y = np.array([[0.0, 10.0], [1.0, 2.0], [10.0, 0.0]])
    assert knee(Y * [1e-3, 1e6] + [5.0, -7.0]) == 1


@pytest.mark.parametrize(
    "Y",
    [
        [[1.0, 2.0]],
        [[0.0, 1.0], [1.0, 0.0]],
        [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]],  # on the line
        [[0.0, 1.0], [0.6, 0.6], [1.0, 0.0]],  # behind the line
        [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]],  # one point
    ],
)
def test_a_front_without_a_bulge_has_none(Y: list[list[float]]) -> None:
    assert knee(np.array(Y)) is None


def test_three_losses_have_a_knee_too() -> None:
    assert knee(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.3, 0.3, 0.3]])) == 3
