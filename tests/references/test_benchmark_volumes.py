"""The hypervolumes of the true fronts of three objectives and more, by counting random points, and against BoTorch."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.synthetic.volumes import dtlz2_volume
from flexibo.compare.problems.table import find_problem
from flexibo.compare.suites import SUITES

N_DARTS = 20_000
RECORDED = ("accel-3", "nb201-4", "accel-5")
MADE = ("dnn-stack:surface=4:n=3", "dnn-stack:surface=2:n=4", "dtlz2:n=5:ratio=10:finite", "dtlz2:n=3:finite")
ELSEWHERE = ("dtlz2:n=3:ratio=100",)
"""A surface, whose volume has a closed form: `test_benchmarks_synthetic` brackets it."""


def hit_share(Y: np.ndarray, darts: np.ndarray) -> float:
    """The share of points (m, n), all between 0 and 1, that a row of Y is at least as good as; large boxes first."""
    left = np.ascontiguousarray(darts.T)
    for row in Y[np.argsort(-np.prod(1.0 - Y, axis=1))]:
        missed = (left < row[:, None]).any(axis=0)
        if not missed.all():
            left = left[:, missed]
    return 1.0 - left.shape[1] / len(darts)


def check_by_darts(problem: Problem) -> None:
    """Throw points at the box between the best values and the reference: how many of them the front dominates.

    Five standard errors are allowed: one of a million right volumes would fail.
    """
    inside = problem.front[(problem.front < problem.reference).all(axis=1)]
    low = inside.min(axis=0)
    darts = np.random.default_rng(5).random((N_DARTS, len(low)))
    share = hit_share((inside - low) / (problem.reference - low), darts)
    expected = problem.best / float(np.prod(problem.reference - low))
    assert 0.02 < expected < 0.98
    assert share == pytest.approx(expected, abs=5 * (expected * (1 - expected) / N_DARTS) ** 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MADE, *(pytest.param(name, marks=pytest.mark.data) for name in RECORDED)])
def test_the_volume_of_a_true_front_is_the_share_of_random_points_behind_it(
    name: str, request: pytest.FixtureRequest
) -> None:
    if name in RECORDED:
        request.getfixturevalue("data_folder")
    check_by_darts(find_problem(name))


def test_every_standard_problem_of_three_objectives_or_more_is_checked() -> None:
    names = {name for name in SUITES["standard"].problems if not name.startswith("tx2-")}
    many = {name for name in names if "n=" in name.replace("noise=", "") or name in RECORDED}
    assert many <= {*MADE, *RECORDED, *ELSEWHERE}


def test_a_finite_front_is_worth_less_than_the_sphere_that_it_lies_on() -> None:
    problem = find_problem("dtlz2:n=5:ratio=10:finite")
    whole = dtlz2_volume(problem.reference)
    assert 0.5 * whole < problem.best < whole
    radii = np.linalg.norm(problem.front, axis=1)
    assert radii == pytest.approx(np.ones(len(radii)), abs=1e-12)


@pytest.mark.slow
@pytest.mark.botorch
@pytest.mark.parametrize("name", MADE)
def test_found_fronts_are_worth_what_botorch_says(name: str) -> None:
    torch = pytest.importorskip("torch")
    volumes = pytest.importorskip("botorch.utils.multi_objective.hypervolume")
    problem = find_problem(name)
    for seed in range(3):
        designs = problem.initial_designs(30, seed)
        losses = problem.losses(designs)
        theirs = volumes.Hypervolume(torch.tensor(-problem.reference)).compute(torch.tensor(-losses))
        assert problem.error(designs) == pytest.approx(1 - float(theirs) / problem.best, abs=1e-9)
