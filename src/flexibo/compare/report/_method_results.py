"""What one method reached on one problem: the mean of its runs, with a confidence band of each error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import stdtrit

from flexibo._internal.arrays import FloatArray
from flexibo.compare.runs import MEASURES, Measure, Run
from flexibo.compare.statistics.errors import FLOOR
from flexibo.compare.statistics.ratios import LEVEL
from flexibo.errors import InvalidValueError, unknown_name


@dataclass(frozen=True, slots=True, eq=False)
class ErrorCurve:
    """The geometric mean (k,) over the seeds of floored errors at shares of the budget, with a band at each share."""

    shares: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray

    def at(self, share: float) -> float:
        """The mean error at the last share that is not above this one."""
        return float(self.mean[max(0, int(np.searchsorted(self.shares, share, side="right")) - 1)])


@dataclass(frozen=True, slots=True, eq=False)
class MethodResult:
    """The runs of one method on one problem: means over the seeds.

    Curves and fronts are by measure, missing where there is none; a front holds the true values (p, n) of the designs
    that count with the problem's first seed.
    """

    method: str
    seeds: tuple[int, ...]
    curves: Mapping[Measure, ErrorCurve] = field(repr=False)
    spent: float
    evaluations: FloatArray = field(repr=False)
    overhead_s: float
    fronts: Mapping[Measure, FloatArray] = field(repr=False)

    @property
    def overhead_per_evaluation_s(self) -> float:
        """Seconds of overhead per evaluation; 0 if nothing was evaluated."""
        total = float(self.evaluations.sum())
        return self.overhead_s / total if total else 0.0


def results_by_problem(runs: Sequence[Run], problems: Iterable[str]) -> dict[str, list[MethodResult]]:
    """The results of each problem, the lowest final confirmed error first; empty for a problem without runs."""
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
        found[name] = ordered(made, "confirmed")
    return found


def ordered(results: Iterable[MethodResult], measure: Measure) -> list[MethodResult]:
    """The results that have errors by a measure, the lowest at the end of the budget first."""
    own = [result for result in results if measure in result.curves]
    return sorted(own, key=lambda result: (result.curves[measure].mean[-1], result.method))


def _method_result(runs: Sequence[Run], first_seed: int) -> MethodResult:
    last = [run.moments[-1] for run in runs]
    first = next((run for run in runs if run.seed == first_seed), None)
    curves = {measure: curve for measure in MEASURES if (curve := _curve(runs, measure)) is not None}
    return MethodResult(
        method=runs[0].method,
        seeds=tuple(run.seed for run in runs),
        curves=curves,
        spent=float(np.mean([moment.spent for moment in last])),
        evaluations=np.mean([moment.evaluations for moment in last], axis=0),
        overhead_s=float(np.mean([moment.overhead_s for moment in last])),
        fronts={} if first is None else {m: np.array(front, dtype=float) for m, front in first.fronts.items()},
    )


def _curve(runs: Sequence[Run], measure: Measure) -> ErrorCurve | None:
    """The curve of a measure at the shares at which every run has it."""
    table = np.array([[moment.error(measure) for moment in run.moments] for run in runs], dtype=float)
    known = ~np.isnan(table).any(axis=0)
    if not known.any():
        return None
    shares = np.array([moment.share for moment in runs[0].moments])[known]
    return ErrorCurve(shares, *student_band(table[:, known]))


def student_band(errors: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The geometric mean (k,) of floored errors (s, k), and both ends of Student's interval, at most 1.

    >>> [end.tolist() for end in student_band(np.array([[0.5, 0.25]]))]
    [[0.5, 0.25], [0.5, 0.25], [0.5, 0.25]]
    """
    logs = np.log(np.maximum(errors, FLOOR))
    mean, s = logs.mean(axis=0), len(errors)
    half = stdtrit(s - 1, 0.5 + LEVEL / 2) * logs.std(axis=0, ddof=1) / np.sqrt(s) if s > 1 else np.zeros_like(mean)
    return np.exp(mean), np.exp(mean - half), np.minimum(np.exp(mean + half), 1.0)
