"""What one method reached on one problem: the mean of its runs, with a confidence band of the error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.runs import Run
from flexibo.errors import InvalidValueError, unknown_name

N_DRAWS = 400
COVERAGE = 0.9
"""The nominal coverage of a band at each share of the budget; with few seeds it covers less."""


@dataclass(frozen=True, slots=True, eq=False)
class MethodResult:
    """The runs of one method on one problem: means over the seeds.

    The hypervolume error (k,) at shares of the budget has a bootstrap band from `low` to `high`. The front holds the
    true values (p, n) of the designs reported with the problem's first seed; None without that run.
    """

    method: str
    seeds: tuple[int, ...]
    shares: FloatArray = field(repr=False)
    mean: FloatArray = field(repr=False)
    low: FloatArray = field(repr=False)
    high: FloatArray = field(repr=False)
    spent: float
    evaluations: FloatArray = field(repr=False)
    overhead_s: float
    front: FloatArray | None = field(repr=False)

    @property
    def overhead_per_evaluation_s(self) -> float:
        """Seconds of overhead per evaluation; 0 if nothing was evaluated."""
        total = float(self.evaluations.sum())
        return self.overhead_s / total if total else 0.0

    def error_at(self, share: float) -> float:
        """The mean error at the nearest share of the budget."""
        return float(self.mean[np.argmin(np.abs(self.shares - share))])


def results_by_problem(runs: Sequence[Run], problems: Iterable[str]) -> dict[str, list[MethodResult]]:
    """The results of each problem, the lowest final error first; empty for a problem without runs."""
    groups: dict[str, dict[str, dict[int, Run]]] = {name: {} for name in problems}
    for run in runs:
        if run.problem not in groups:
            raise unknown_name("problem", run.problem, groups)
        by_seed = groups[run.problem].setdefault(run.method, {})
        if run.seed in by_seed:
            raise InvalidValueError(f"The run {run.key} is given twice; give each run once.")
        by_seed[run.seed] = run
    found = {}
    for name, methods in groups.items():
        first = min((seed for by_seed in methods.values() for seed in by_seed), default=0)
        made = [_method_result([by_seed[seed] for seed in sorted(by_seed)], first) for by_seed in methods.values()]
        found[name] = sorted(made, key=lambda result: (result.mean[-1], result.method))
    return found


def _method_result(runs: Sequence[Run], first_seed: int) -> MethodResult:
    last = [run.moments[-1] for run in runs]
    errors = np.array([[moment.error for moment in run.moments] for run in runs])
    low, high = bootstrap_band(errors)
    return MethodResult(
        method=runs[0].method,
        seeds=tuple(run.seed for run in runs),
        shares=np.array([moment.share for moment in runs[0].moments]),
        mean=errors.mean(axis=0),
        low=low,
        high=high,
        spent=float(np.mean([moment.spent for moment in last])),
        evaluations=np.mean([moment.evaluations for moment in last], axis=0),
        overhead_s=float(np.mean([moment.overhead_s for moment in last])),
        front=next((np.array(run.front, dtype=float) for run in runs if run.seed == first_seed), None),
    )


def bootstrap_band(errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both ends (k,) of the bootstrap band of the mean over the seeds of errors (s, k).

    >>> bootstrap_band(np.array([[0.5, 0.25]]))
    (array([0.5 , 0.25]), array([0.5 , 0.25]))
    """
    tail = (1.0 - COVERAGE) / 2.0
    low, high = np.quantile(_weights(len(errors)) @ errors, [tail, 1.0 - tail], axis=0)
    return low, high


@lru_cache(maxsize=64)
def _weights(s: int) -> FloatArray:
    """The weight of each of s seeds in each draw (`N_DRAWS`, s); the same draws for every method with s seeds."""
    drawn = np.random.default_rng((s, 23)).integers(s, size=(N_DRAWS, s))
    return np.asarray((drawn[:, :, None] == np.arange(s)).mean(axis=1))
