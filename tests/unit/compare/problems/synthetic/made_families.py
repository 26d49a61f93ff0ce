"""The synthetic problems by name, and how much of a front they miss."""

from __future__ import annotations

from functools import cache

import numpy as np

from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.synthetic import families
from flexibo.pareto import hypervolume

FAMILIES = {family.name: family for family in families.FAMILIES}
NAMES = ["branin-currin", "zdt1", "zdt2", "zdt3"]
SCALABLE = ["dtlz1", "dtlz2", "dtlz7"]


@cache
def made(name: str, n: int = 2, **given: float) -> Problem:
    return FAMILIES[name].make(**(given | ({"n": n} if name in SCALABLE else {})))


def missed(problem: Problem, losses: np.ndarray) -> float:
    """The hypervolume error before it is clipped at 0."""
    return 1.0 - hypervolume(losses, problem.reference) / problem.best
