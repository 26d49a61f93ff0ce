"""The synthetic problems against pymoo's and BoTorch's own definitions, fronts and volumes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from flexibo.compare.problems import synthetic
from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.synthetic import volumes
from flexibo.pareto import hypervolume
from flexibo.space import Designs

FAMILIES = {family.name: family for family in synthetic.FAMILIES}
ZDT = [("zdt1", 2), ("zdt2", 2), ("zdt3", 2)]
DTLZ = [(name, n) for name in ("dtlz1", "dtlz2", "dtlz7") for n in (2, 3, 5)]


def made(name: str, n: int) -> Problem:
    return FAMILIES[name].make(**({"n": n} if name.startswith("dtlz") else {}))


def designs_of(problem: Problem) -> Designs:
    ends = problem.space.from_codes(np.array([np.zeros(len(problem.space.names)), np.ones(len(problem.space.names))]))
    return problem.space.sample(500, np.random.default_rng(5)) + ends


@pytest.mark.parametrize(("name", "n"), ZDT + DTLZ)
def test_values_are_those_of_pymoo(name: str, n: int) -> None:
    problems = pytest.importorskip("pymoo.problems")
    problem = made(name, n)
    sizes = {"n_var": len(problem.space.names)} | ({"n_obj": n} if name.startswith("dtlz") else {})
    theirs = problems.get_problem(name, **sizes)
    designs = designs_of(problem)
    assert problem.losses(designs) == pytest.approx(theirs.evaluate(designs.codes), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("name", "n"), ZDT)
def test_fronts_are_those_of_pymoo(name: str, n: int) -> None:
    problems = pytest.importorskip("pymoo.problems")
    density = {"n_points" if name == "zdt3" else "n_pareto_points": 5_000}
    theirs = problems.get_problem(name).pareto_front(**density)
    problem = made(name, n)
    assert hypervolume(theirs, problem.reference) == pytest.approx(problem.best, rel=1e-3)
    assert hypervolume(np.concatenate([theirs, problem.front]), problem.reference) <= problem.best * (1 + 1e-6)


def of_botorch(name: str, **sizes: int) -> Any:
    pytest.importorskip("botorch")
    from botorch.test_functions import multi_objective

    kinds = {"branin-currin": "BraninCurrin"}
    return getattr(multi_objective, kinds.get(name, name.upper()))(**sizes)


def values_of_botorch(theirs: Any, X: np.ndarray) -> Any:
    import torch

    return theirs(torch.tensor(X, dtype=torch.float64)).numpy()


@pytest.mark.botorch
def test_branin_currin_is_that_of_botorch_and_its_front_at_least_as_good() -> None:
    theirs = of_botorch("branin-currin")
    problem = made("branin-currin", 2)
    designs = designs_of(problem)
    assert problem.losses(designs) == pytest.approx(values_of_botorch(theirs, np.array(designs.codes)), rel=1e-6)
    assert problem.reference == pytest.approx(np.array(theirs.ref_point.tolist()))
    assert theirs.max_hv <= problem.best < 1.001 * theirs.max_hv


@pytest.mark.botorch
@pytest.mark.parametrize(("name", "n"), ZDT + DTLZ)
def test_values_are_those_of_botorch(name: str, n: int) -> None:
    problem = made(name, n)
    theirs = of_botorch(name, dim=len(problem.space.names), num_objectives=n)
    designs = designs_of(problem)
    expected = values_of_botorch(theirs, np.array(designs.codes))
    if name == "zdt3":  # BoTorch leaves out the factor g of the second objective, which is 1 on the front only
        expected[:, 1] *= 1.0 + 9.0 * designs.codes[:, 1:].mean(axis=1)
    assert problem.losses(designs) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.botorch
@pytest.mark.parametrize(
    ("name", "volume"),
    [("zdt1", volumes.zdt1_volume), ("zdt2", volumes.zdt2_volume), ("zdt3", volumes.zdt3_volume)],
)
def test_volumes_at_the_reference_of_botorch_are_those_of_botorch(
    name: str, volume: Callable[[np.ndarray], float]
) -> None:
    theirs = of_botorch(name, dim=6)
    assert volume(np.array(theirs.ref_point.tolist())) == pytest.approx(theirs.max_hv, rel=1e-8)


@pytest.mark.botorch
@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("name", ["dtlz1", "dtlz2"])
def test_references_and_volumes_are_those_of_botorch(name: str, n: int) -> None:
    problem = made(name, n)
    theirs = of_botorch(name, dim=len(problem.space.names), num_objectives=n)
    assert problem.reference == pytest.approx(np.array(theirs.ref_point.tolist()))
    # For DTLZ1 BoTorch takes off a cube with edges of 1/2, of which the front cuts off a simplex only.
    excess = 0.5**n * (1 - 1 / math.factorial(n)) if name == "dtlz1" else 0.0
    assert problem.best - excess == pytest.approx(theirs.max_hv, rel=1e-12)
