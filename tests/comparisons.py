"""Small made-up problems and runs for the tests of comparisons, and the least effort of BoTorch's rivals."""

from __future__ import annotations

import numpy as np

from flexibo.compare.problems.base import Problem, constant_costs
from flexibo.compare.rivals._botorch_coupled import SearchEffort
from flexibo.compare.rivals.botorch_hvkg import HvkgEffort
from flexibo.compare.runs import SHARES, Moment, Run
from flexibo.objectives import Objective
from flexibo.space import Space

QUICK_SEARCH = SearchEffort(
    draws=16,
    restarts=2,
    raw_samples=16,
    iterations=10,
    mixed_restarts=2,
    mixed_raw_samples=16,
    local_raw_samples=64,
    compiled=False,
)
QUICK_HVKG = HvkgEffort(
    n_pareto=2,
    n_fantasies=2,
    raw_samples=4,
    value_restarts=1,
    value_raw_samples=4,
    iterations=2,
    batch_limit=20,
    start_batch=1_024,
    population=20,
    generations=3,
)
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
