"""The errors of runs when a share of the budget may be spent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.runs import Measure, Run
from flexibo.errors import InvalidValueError

FLOOR = 1e-3
"""Smaller errors are replaced by this, so that a lucky run near zero does not dominate a ratio."""

ROUNDING = 1e-9
"""Relative differences up to this are rounding errors."""

Errors: TypeAlias = dict[str, dict[str, dict[int, float]]]
"""Errors by problem, method and seed, each in order."""

OverheadPrices: TypeAlias = Mapping[str, tuple[float, float]]
"""By problem: the budget, and the price of a second of overhead, both in the unit of the problem's costs."""


@dataclass(frozen=True, slots=True)
class MeanError:
    """The geometric mean of the floored errors of a method on a problem."""

    mean: float
    seeds: int


def errors(
    runs: Iterable[Run], share: float, *, measure: Measure = "confirmed", prices: OverheadPrices | None = None
) -> Errors:
    """The error of every run when a share of the budget may be spent, not floored, by problem, method and seed.

    Runs without an error by this measure are left out. Between two recorded moments the earlier one counts. With
    prices, the overhead counts as cost: the last moment counts whose costs and overhead the share of the budget covers,
    or the first moment, which is free.
    """
    if not 0.0 <= share <= 1.0:
        raise InvalidValueError(f"The share of the budget is {share!r}; it must be between 0 and 1.")
    found: Errors = {}
    for run in sorted(runs, key=lambda run: run.key):
        if prices is not None and run.problem not in prices:
            raise InvalidValueError(
                f"Problem {run.problem!r} has no price of overhead; give its budget and the price of a second."
            )
        error = _error(run, share, measure, None if prices is None else prices[run.problem])
        if error is None:
            continue
        if not np.isfinite(error):
            raise InvalidValueError(f"The run {run.key!r} has the error {error!r}; it must be a finite number.")
        by_seed = found.setdefault(run.problem, {}).setdefault(run.method, {})
        if run.seed in by_seed:
            raise InvalidValueError(f"The run {run.key!r} is given twice; give each run once.")
        by_seed[run.seed] = error
    return found


def _error(run: Run, share: float, measure: Measure, price: tuple[float, float] | None) -> float | None:
    """The error of a run within a share of the budget; `price` is the budget and the price of overhead."""
    if not run.moments:
        raise InvalidValueError(f"The run {run.key!r} has no moments; it must have one for each share of the budget.")
    judged = [moment for moment in run.moments if moment.error(measure) is not None]
    reached = [moment for moment in judged if moment.share <= share + ROUNDING]
    if price is not None:
        budget, per_second = price
        limit = share * budget * (1.0 + ROUNDING)
        reached = [moment for moment in reached if moment.spent + moment.overhead_s * per_second <= limit]
    counted = reached[-1:] or judged[:1]
    return counted[0].error(measure) if counted else None


def floored(by_seed: Mapping[int, float], seeds: Iterable[int] | None = None) -> FloatArray:
    """The errors of these seeds, or of all in order, none below `FLOOR`."""
    return np.maximum([by_seed[seed] for seed in (sorted(by_seed) if seeds is None else seeds)], FLOOR)


def geometric_mean(values: FloatArray) -> float:
    """The geometric mean of positive numbers."""
    return float(np.exp(np.log(values).mean()))


def mean_errors(found: Errors) -> dict[str, dict[str, MeanError]]:
    """Mean and number of seeds, by problem and method."""
    return {
        problem: {method: MeanError(geometric_mean(floored(own)), len(own)) for method, own in by_method.items()}
        for problem, by_method in found.items()
    }
