"""What is read off repeats: where a method stands after equal cost, means over repeats, and who is ahead."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from flexibo.benchmarks.reproduce.base import Iteration, Repeat, methods_of, of_problem, problems_of
from flexibo.benchmarks.reproduce.findings import Claim, Judgement

SURE = 2.0
"""A mean difference of less than so many standard errors is within the spread of the repeats."""


@dataclass(frozen=True, slots=True)
class Axis:
    """What is counted along a run.

    Attributes:
        name: For headings.
        label: For the axis of a figure; ``{unit}`` is the problem's unit of cost.
        of: Where an iteration lies on it.
    """

    name: str
    label: str
    of: Callable[[Iteration], float] = field(repr=False)


ITERATIONS = Axis("iterations", "iterations (count)", lambda i: float(i.number))
LOG_COST = Axis("log cost", "cumulative cost (log {unit})", lambda i: i.log_spent)
REAL_COST = Axis("real cost", "cumulative cost ({unit})", lambda i: i.spent)
AXES = (ITERATIONS, LOG_COST, REAL_COST)


def standing(repeat: Repeat, axis: Axis, limit: float) -> Iteration:
    """The last iteration of a repeat that does not go beyond a limit."""
    places = [axis.of(iteration) for iteration in repeat.iterations]
    return repeat.iterations[max(0, bisect_right(places, limit * (1 + 1e-9)) - 1)]


def equal_limit(repeats: Sequence[Repeat], axis: Axis) -> float:
    """How far every repeat came, those left out that stopped by themselves because they had nothing more to ask."""
    ends = [axis.of(repeat.iterations[-1]) for repeat in repeats if not repeat.stopped]
    return min(ends) if ends else max(axis.of(repeat.iterations[-1]) for repeat in repeats)


Measure: TypeAlias = Callable[[Repeat], float]
Best: TypeAlias = Callable[..., Any]
"""`min` or `max`."""


def error_at(axis: Axis, limit: float) -> Measure:
    """The hypervolume error at a limit."""
    return lambda repeat: standing(repeat, axis, limit).error


def targets_at(axis: Axis, limit: float) -> Measure:
    """How many designs of the reported front lie in the target region at a limit."""
    return lambda repeat: float(standing(repeat, axis, limit).in_target)


def values_of(repeats: Sequence[Repeat], problem: str, method: str, measure: Measure) -> list[float]:
    """What each repeat of a method on a problem measures, in the order of the seeds."""
    own = sorted(of_problem(repeats, problem, method), key=lambda repeat: repeat.seed)
    return [measure(repeat) for repeat in own]


def mean(values: Sequence[float]) -> float:
    """The mean of those that are numbers; not a number where there is none."""
    finite = [value for value in values if math.isfinite(value)]
    return float(np.mean(finite)) if finite else math.nan


def spread(values: Sequence[float]) -> float:
    """The standard error of the mean; 0 for a single value."""
    finite = [value for value in values if math.isfinite(value)]
    return float(np.std(finite, ddof=1) / math.sqrt(len(finite))) if len(finite) > 1 else 0.0


def shown(values: Sequence[float], digits: int = 3) -> str:
    """The mean and its standard error, for people.

    >>> shown([0.1, 0.3])
    '0.2 ± 0.1'
    """
    middle, error = mean(values), spread(values)
    if math.isnan(middle):
        return "-"
    if abs(middle) >= 1000:
        return f"{middle:,.0f} ± {error:,.0f}" if error else f"{middle:,.0f}"
    return f"{middle:.{digits}g} ± {error:.2g}" if error else f"{middle:.{digits}g}"


def claim_best(
    paper: str,
    repeats: Sequence[Repeat],
    *,
    ours: str,
    others: Sequence[str],
    measure: Callable[[str], Measure],
    best: Best = min,
) -> Claim:
    """The claim that a method is ahead of all others in the mean over its repeats, judged problem by problem.

    Args:
        paper: The claim, a sentence.
        repeats: All repeats.
        ours: The method that the claim is about.
        others: Those that it is compared with.
        measure: What is compared on a problem.
        best: `min` where less is better, `max` where more is.
    """
    judgements = []
    for problem in problems_of(repeats):
        values = {method: values_of(repeats, problem, method, measure(problem)) for method in (ours, *others)}
        judgement = _judged(problem, values, ours, best)
        judgements += [judgement] if judgement is not None else []
    return Claim(paper, tuple(judgements))


def _judged(problem: str, values: Mapping[str, Sequence[float]], ours: str, best: Best) -> Judgement | None:
    """Whether one method's values beat the best other's; None where there are no numbers."""
    means = {method: mean(own) for method, own in values.items() if not math.isnan(mean(own))}
    own = means.pop(ours, math.nan)
    if math.isnan(own) or not means:
        return None
    rival = best(means, key=means.__getitem__)
    gap = own - means[rival]
    numbers = f"{own:.3g} against {means[rival]:.3g} of {rival}"
    if gap == 0:
        numbers += ", a tie"
    else:
        if best is min and means[rival] > 0:
            numbers += f", {abs(gap) / means[rival]:.1%} {'lower' if gap < 0 else 'higher'}".replace("%", " %")
        numbers += _doubt(values[ours], values[rival])
    return Judgement(problem, gap < 0 if best is min else gap > 0, numbers)


def compared_methods(repeats: Sequence[Repeat], *, ours: str, extra: Sequence[str] = ()) -> list[str]:
    """The methods that a method is compared with; `extra` ones take no part."""
    return [method for method in methods_of(repeats) if method != ours and method not in extra]


def limits(repeats: Sequence[Repeat], axis: Axis, *, extra: Sequence[str] = ()) -> dict[str, float]:
    """The equal limit of each problem; methods that take no part in a comparison do not decide it."""
    judged = [repeat for repeat in repeats if repeat.method not in extra]
    return {problem: equal_limit(of_problem(judged, problem), axis) for problem in problems_of(judged)}


def _doubt(first: Sequence[float], second: Sequence[float]) -> str:
    """Why a difference of paired values may be chance, in words; empty where it is clear."""
    differences = [a - b for a, b in zip(first, second, strict=True)]
    if len(differences) < 2:
        return ", a single repeat"
    unclear = abs(mean(differences)) < SURE * spread(differences)
    return ", within the spread of the repeats" if unclear else ""
