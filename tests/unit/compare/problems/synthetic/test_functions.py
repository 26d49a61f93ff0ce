from __future__ import annotations

import math

import numpy as np
import pytest

from flexibo.compare.problems.synthetic import functions


@pytest.mark.parametrize(
    ("function", "at_quarter"),
    [
        (functions.zdt1, 1.0 - math.sqrt(0.25)),
        (functions.zdt2, 1.0 - 0.25**2),
        (functions.zdt3, 1.0 - math.sqrt(0.25) - 0.25 * math.sin(2.5 * math.pi)),
    ],
)
def test_zdt_is_its_curve_where_the_distance_is_least_and_worse_elsewhere(
    function: functions.Function, at_quarter: float
) -> None:
    X = np.zeros((3, 6))
    X[:, 0] = 0.25
    X[1, 1:] = 1.0
    X[2, 3] = 1.0
    first, second = function(X, 2).T
    assert first.tolist() == [0.25] * 3
    assert second[0] == pytest.approx(at_quarter)
    assert second[0] < second[2] < second[1]


def test_zdt1_far_from_its_front_is_worked_out_by_hand() -> None:
    X = np.array([[0.4, *[1.0] * 5]])  # the distance is 1 + 9
    assert functions.zdt1(X).tolist() == [pytest.approx([0.4, 10.0 - math.sqrt(0.4 * 10.0)])]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_front_of_dtlz1_is_a_plane_and_that_of_dtlz2_a_sphere(n: int) -> None:
    X = np.random.default_rng(0).random((50, n + 4))
    X[:, n - 1 :] = 0.5
    assert functions.dtlz1(X, n).sum(axis=1) == pytest.approx(np.full(50, 0.5))
    assert np.linalg.norm(functions.dtlz2(X, n), axis=1) == pytest.approx(np.ones(50))
    away = X.copy()
    away[:, -1] = 0.7
    assert (functions.dtlz1(away, n) >= functions.dtlz1(X, n)).all()
    assert (functions.dtlz2(away, n) >= functions.dtlz2(X, n)).all()


def test_the_corners_of_a_dtlz_front_touch_one_axis_each() -> None:
    """The last objective is best where the first position is 0; the first where all positions are 1."""
    X = np.full((3, 7), 0.5)
    X[:, :2] = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.5]]
    assert functions.dtlz2(X, 3) == pytest.approx(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    assert functions.dtlz1(1.0 - X, 3) == pytest.approx(np.array([[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]]))
    assert (functions.dtlz2(X, 3) >= 0).all()


def test_dtlz7_is_worked_out_by_hand() -> None:
    X = np.zeros((2, 7))
    X[:, :2] = [0.5, 0.1]
    X[1, 2:] = 1.0
    bumps = 0.5 * (1.0 + math.sin(1.5 * math.pi)) + 0.1 * (1.0 + math.sin(0.3 * math.pi))
    assert functions.dtlz7(X, 3) == pytest.approx(np.array([[0.5, 0.1, 6.0 - bumps], [0.5, 0.1, 33.0 - bumps]]))
