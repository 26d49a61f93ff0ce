"""How well models rank designs, with and without totals of numbered options: ``python -m benchmarks.totals``.

The default models learn from random designs of a problem and predict others. Printed is the rank correlation of
predicted and true losses, the mean of several draws.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import spearmanr

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.table import find_problem
from flexibo.space import Families
from flexibo.surrogates.table import find_surrogate

PROBLEMS = "nb201-pixel3,accel-3090,lenet-h200"
COUNTS = (12, 25, 50)
DRAWS = 8
PREDICTED = 1500


def rank_correlation(problem: Problem, j: int, families: Families, rows: IntArray, count: int) -> float:
    """That of objective j: its model learns from the first rows of all designs and predicts the others."""
    objective = problem.objectives[j]
    designs = problem.typical_designs()[rows]
    X, losses = designs.encoded(objective.depends_on), problem.losses(designs)[:, j]
    groups = problem.space.groups(objective.depends_on)
    model = find_surrogate("gp").of(objective, families)
    fitted = model.fit(X[:count], losses[:count], groups=groups, rng=np.random.default_rng(0))
    return float(spearmanr(fitted.predict(X[count:])[0], losses[count:])[0])


def rank_correlations(problem: Problem, j: int, count: int) -> FloatArray:
    """The mean rank correlations (2,) of several draws, without and with totals."""
    families = problem.space.families(problem.objectives[j].depends_on)
    size, found = len(problem.typical_designs()), np.zeros((DRAWS, 2))
    for draw in range(DRAWS):
        rows = np.random.default_rng((j, count, draw)).permutation(size)[: count + PREDICTED]
        found[draw] = [rank_correlation(problem, j, own, rows, count) for own in ((), families)]
    return np.asarray(found.mean(axis=0))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.totals", description=__doc__)
    parser.add_argument("--problems", default=PROBLEMS, help="names with commas")
    given = parser.parse_args(arguments)
    table = Table("problem", "objective", "designs", "without", "with totals", title="Rank correlation")
    for name in given.problems.split(","):
        problem = find_problem(name)
        for j, objective in enumerate(problem.objectives):
            for count in COUNTS:
                without, totals = rank_correlations(problem, j, count)
                table.add_row(name, objective.name, str(count), f"{without:.2f}", f"{totals:.2f}")
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
