"""Outcome: what one method achieved on one problem over its seeds, with the band of its mean error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.runs import Run
from flexibo.errors import InvalidValueError, unknown_name

N_DRAWS = 400
COVERAGE = 0.9
"""The share of the bootstrap's means within a band, share of the budget by share; with few seeds it covers less."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One method on one problem.

    Attributes:
        method: Its name.
        seeds: The seeds that it was run with.
        shares: The shares of the budget (k,) at which it was judged.
        mean: The mean hypervolume error (k,) over the seeds.
        low: The lower end of the mean's band (k,); the mean itself with a single seed.
        high: The upper end (k,).
        spent: The mean of what was spent after the initial designs.
        evaluations: The mean number of evaluations of each objective (n,).
        overhead_s: The mean seconds of thinking.
        front: The values (p, n) of the designs that it reports with the problem's first seed; None without that run.
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
    def final(self) -> float:
        """The mean error when the whole budget may be spent."""
        return float(self.mean[-1])

    @property
    def overhead_per_evaluation_s(self) -> float:
        """Seconds of thinking per evaluation; 0 where nothing was evaluated."""
        total = float(self.evaluations.sum())
        return self.overhead_s / total if total else 0.0

    def error_at(self, share: float) -> float:
        """The mean error at the judged share that is nearest."""
        return float(self.mean[np.argmin(np.abs(self.shares - share))])


def outcomes_by_problem(runs: Sequence[Run], problems: Mapping[str, object]) -> dict[str, list[Outcome]]:
    """The outcomes of each problem, the least final error first; none for a problem that nobody was run on."""
    groups: dict[str, dict[str, dict[int, Run]]] = {name: {} for name in problems}
    for run in runs:
        if run.problem not in groups:
            raise unknown_name("problem", run.problem, groups)
        by_seed = groups[run.problem].setdefault(run.method, {})
        if run.seed in by_seed:
            raise InvalidValueError(f"The run {run.key} is there twice; a report takes each run once.")
        by_seed[run.seed] = run
    found = {}
    for name, methods in groups.items():
        first = first_seed(run for by_seed in methods.values() for run in by_seed.values())
        made = [_outcome([by_seed[seed] for seed in sorted(by_seed)], first) for by_seed in methods.values()]
        found[name] = sorted(made, key=lambda outcome: (outcome.final, outcome.method))
    return found


def first_seed(runs: Iterable[Run]) -> int:
    """The least seed of all runs; 0 without any."""
    return min((run.seed for run in runs), default=0)


def _outcome(runs: Sequence[Run], first: int) -> Outcome:
    """The outcome of one method's runs on one problem."""
    last = [run.moments[-1] for run in runs]
    errors = np.array([[moment.error for moment in run.moments] for run in runs])
    low, high = band(errors)
    return Outcome(
        method=runs[0].method,
        seeds=tuple(run.seed for run in runs),
        shares=np.array([moment.share for moment in runs[0].moments]),
        mean=errors.mean(axis=0),
        low=low,
        high=high,
        spent=float(np.mean([moment.spent for moment in last])),
        evaluations=np.mean([moment.evaluations for moment in last], axis=0),
        overhead_s=float(np.mean([moment.overhead_s for moment in last])),
        front=next((np.array(run.front, dtype=float) for run in runs if run.seed == first), None),
    )


def band(errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both ends (k,) of the bootstrap band of the mean over the seeds of errors (s, k).

    >>> band(np.array([[0.5, 0.25]]))
    (array([0.5 , 0.25]), array([0.5 , 0.25]))
    """
    means = _weights(len(errors)) @ errors
    tail = (1.0 - COVERAGE) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail], axis=0)
    return low, high


@lru_cache(maxsize=64)
def _weights(s: int) -> FloatArray:
    """How much each of s seeds weighs in each draw (`N_DRAWS`, s): the same draws for everybody with as many seeds."""
    drawn = np.random.default_rng((s, 23)).integers(s, size=(N_DRAWS, s))
    return np.asarray((drawn[:, :, None] == np.arange(s)).mean(axis=1))
