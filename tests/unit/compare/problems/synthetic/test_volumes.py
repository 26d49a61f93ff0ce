from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from tests.unit.compare.problems.synthetic.made_families import SCALABLE, made, missed

from flexibo.compare.problems.synthetic import functions, volumes
from flexibo.pareto import hypervolume, non_dominated


@pytest.mark.parametrize(
    ("function", "volume", "reference"),
    [(functions.dtlz1, volumes.dtlz1_volume, 0.55), (functions.dtlz2, volumes.dtlz2_volume, 1.1)],
)
@pytest.mark.parametrize(("n", "k"), [(3, 40), (4, 14)])
def test_volumes_lie_between_those_of_a_lattice_and_of_the_corners_of_its_cells(
    function: functions.Function, volume: Callable[[np.ndarray], float], reference: float, n: int, k: int
) -> None:
    places = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, k)] * (n - 1), indexing="ij"), axis=-1)
    X = np.concatenate([places, np.full((*places.shape[:-1], 5), 0.5)], axis=-1)
    Y = function(X.reshape(-1, n + 4), n).reshape(*[k] * (n - 1), n)
    # Every loss is monotone in every place, so the best values of a cell are at its corners.
    corners = [Y[tuple(slice(s, k - 1 + s) for s in shift)] for shift in itertools.product((0, 1), repeat=n - 1)]
    bound = np.full(n, reference)
    low = hypervolume(Y.reshape(-1, n), bound)
    high = hypervolume(np.min(corners, axis=0).reshape(-1, n), bound)
    assert low < volume(bound) < high
    assert volume(bound) == pytest.approx(0.5 * (low + high), rel=0.02)


def test_the_volume_of_dtlz7_is_the_sum_over_a_grid() -> None:
    k = 1_000
    middle = (np.arange(1.1 * k) + 0.5) / k
    places = np.stack(np.meshgrid(middle, middle, indexing="ij"), axis=-1).reshape(-1, 2)
    last = functions.dtlz7(np.column_stack([places, np.zeros((len(places), 5))]), 3)[:, 2].reshape(1_100, 1_100)
    last[(places.max(axis=1) > 1.0).reshape(last.shape)] = np.inf
    lowest = np.minimum.accumulate(np.minimum.accumulate(last, axis=0), axis=1)
    volume = volumes.dtlz7_volume(np.array([1.1, 1.1, 6.6]))
    assert volume == pytest.approx((6.6 - lowest).sum() / k**2, rel=2e-3)


@pytest.mark.parametrize("name", ["zdt1", "zdt2", "zdt3", *SCALABLE])
def test_designs_on_the_front_reach_its_volume_and_never_more(name: str) -> None:
    problem = made(name)
    optimum = 0.5 if name in ("dtlz1", "dtlz2") else 0.0
    X = np.full((200_001, 6), optimum)
    X[:, 0] = np.linspace(0.0, 1.0, len(X))
    losses = problem.losses(problem.space.from_codes(X))
    assert -1e-6 <= missed(problem, losses[non_dominated(losses)]) < 1e-5
