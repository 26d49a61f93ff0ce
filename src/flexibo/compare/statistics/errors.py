"""Scores: what runs reached when a share of the budget may be spent, and what they did for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.runs import Moment, Run
from flexibo.errors import InvalidValueError

FLOOR = 1e-3
"""Errors below are taken for this, so that luck near zero does not rule a ratio."""

ROUNDING = 1e-9
"""What arithmetic may be off by, relatively, before anything is called different."""

Errors: TypeAlias = dict[str, dict[str, dict[int, float]]]
"""Error by problem, method and seed, each in order."""

OverheadPrices: TypeAlias = Mapping[str, tuple[float, float]]
"""By problem: the budget, and what a second of thinking costs, both in the problem's unit."""


@dataclass(frozen=True, slots=True)
class MeanError:
    """What a method reached on a problem: mean floored error, its standard error (NaN for one seed), how many seeds."""

    mean: float
    standard_error: float
    seeds: int


def errors(runs: Iterable[Run], share: float, *, thinking: OverheadPrices | None = None) -> Errors:
    """The error of every run when a share of the budget may be spent, not floored, by problem, method and seed.

    Args:
        runs: In any order.
        share: From 0 to 1; between recorded moments the earlier one is taken.
        thinking: If given, thinking costs too: the last moment is taken whose costs and thinking that share of the
            budget pays for, or else the first one, which everybody can afford.
    """
    if not 0.0 <= share <= 1.0:
        raise InvalidValueError(f"The share of the budget is {share!r}; it must be between 0 and 1.")
    found: Errors = {}
    for run in sorted(runs, key=lambda run: run.key):
        if thinking is not None and run.problem not in thinking:
            raise InvalidValueError(
                f"Problem {run.problem!r} has no price of thinking; give its budget and that price."
            )
        moment = _moment(run, share, None if thinking is None else thinking[run.problem])
        if not np.isfinite(moment.error):
            raise InvalidValueError(f"The run {run.key!r} has the error {moment.error!r}; it must be a finite number.")
        by_seed = found.setdefault(run.problem, {}).setdefault(run.method, {})
        if run.seed in by_seed:
            raise InvalidValueError(f"The run {run.key!r} is given twice; give each run once.")
        by_seed[run.seed] = moment.error
    return found


def _moment(run: Run, share: float, paid: tuple[float, float] | None) -> Moment:
    """Where a run stands at a share of the budget; `paid` is the budget and the price of a second of thinking."""
    if not run.moments:
        raise InvalidValueError(f"The run {run.key!r} has no moments; it must have one for each share of the budget.")
    reached = [moment for moment in run.moments if moment.share <= share + ROUNDING]
    if paid is not None:
        budget, price = paid
        most = share * budget * (1.0 + ROUNDING)
        reached = [moment for moment in reached if moment.spent + moment.overhead_s * price <= most]
    return reached[-1] if reached else run.moments[0]


def floored(by_seed: Mapping[int, float], seeds: Iterable[int] | None = None) -> FloatArray:
    """The errors of these seeds, or of all in order, none below `FLOOR`."""
    return np.maximum([by_seed[seed] for seed in (sorted(by_seed) if seeds is None else seeds)], FLOOR)


def mean_errors(found: Errors) -> dict[str, dict[str, MeanError]]:
    """Mean, standard error and number of seeds, by problem and method."""
    return {
        problem: {method: _summary(floored(by_seed)) for method, by_seed in by_method.items()}
        for problem, by_method in found.items()
    }


def _summary(values: FloatArray) -> MeanError:
    n = len(values)
    return MeanError(float(values.mean()), float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan"), n)


def overhead_per_evaluation(runs: Iterable[Run]) -> dict[str, dict[str, float]]:
    """Seconds of thinking per evaluation that was paid for, over whole runs, by problem and method; NaN if none was."""
    return {
        problem: {method: _thinking(group) for method, group in by_method.items()}
        for problem, by_method in _grouped(runs).items()
    }


def _thinking(group: Sequence[Run]) -> float:
    evaluations = sum(sum(run.moments[-1].evaluations) for run in group)
    return sum(run.moments[-1].overhead_s for run in group) / evaluations if evaluations else float("nan")


def mean_evaluations(runs: Iterable[Run], share: float = 1.0) -> dict[str, dict[str, tuple[float, ...]]]:
    """How many evaluations of each objective were paid for on average, by problem and method."""
    return {
        problem: {
            method: tuple(np.mean([_moment(run, share, None).evaluations for run in group], axis=0).tolist())
            for method, group in by_method.items()
        }
        for problem, by_method in _grouped(runs).items()
    }


def _grouped(runs: Iterable[Run]) -> dict[str, dict[str, list[Run]]]:
    """Runs by problem and method, in order."""
    found: dict[str, dict[str, list[Run]]] = {}
    for run in sorted(runs, key=lambda run: run.key):
        found.setdefault(run.problem, {}).setdefault(run.method, []).append(run)
    return found
