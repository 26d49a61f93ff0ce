"""Small made-up problems and runs for the tests of comparison reports."""

from __future__ import annotations

import numpy as np

from flexibo.compare.problems.base import Problem, constant_costs
from flexibo.compare.runs import SHARES, Moment, Run
from flexibo.objectives import Objective
from flexibo.space import Space

NAMES = ("error", "energy", "latency", "memory")


def problem(
    name: str = "p", n: int = 2, *, summary: str = "A problem.", unit: str = "s", first: str = "error"
) -> Problem:
    """A problem of n objectives, the second to be maximised, whose front has eight designs."""
    front = np.array([[float(k), *[k - 10.0] * (n - 1)] for k in range(1, 9)])
    objectives = tuple(
        Objective(first if j == 0 else NAMES[j], "max" if j == 1 else "min", unit=("%", "J", "ms", "")[j])
        for j in range(n)
    )
    return Problem(
        name=name,
        summary=summary,
        space=Space({"x": [0, 1, 2]}),
        objectives=objectives,
        values=lambda designs: np.zeros((len(designs), n)),
        costs=constant_costs([10.0, *[1.0] * (n - 1)]),
        reference=np.array([9.0, *[0.0] * (n - 1)]),
        front=front,
        best=1.0,
        unit=unit,
    )


def run(method: str, seed: int, name: str = "p", n: int = 2, error: float | None = None, front: bool = True) -> Run:
    rng = np.random.default_rng((len(method), seed, n))
    errors = np.minimum.accumulate(0.5 * np.exp(-4 * np.array(SHARES) * rng.uniform(0.5, 1.5, len(SHARES))))
    moments = tuple(
        Moment(
            share,
            400 * share,
            float(e if error is None else error),
            3 * share,
            (int(20 * share),) * n,
            model=float(e / 2 if error is None else error / 2) if share in (0.0, 0.5, 1.0) else None,
        )
        for share, e in zip(SHARES, errors, strict=True)
    )
    values = tuple(tuple(row) for row in rng.uniform(1.0, 9.0, (4, n)).tolist())
    return Run(name, method, seed, moments, {"confirmed": values, "model": values[:2]} if front else {})
