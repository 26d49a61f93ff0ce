"""Tests of the paper's claims about methods, problem by problem."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, TypeAlias

from flexibo.experiments.claims import Claim, Judgement
from flexibo.experiments.measures import Measure, mean, number, spread, values_of
from flexibo.experiments.repeats import Repeat, problems_of

SIGNIFICANT = 2.0
"""A mean paired difference below this many standard errors is not significant."""

Best: TypeAlias = Callable[..., Any]
"""`min` or `max`."""


def claim_best(
    paper: str,
    repeats: Sequence[Repeat],
    *,
    ours: str,
    others: Sequence[str],
    measure: Callable[[str], Measure],
    made: Callable[[str], Measure] | None = None,
    best: Best = min,
) -> Claim:
    """The claim that a method is better than all others in the mean over repeats, judged on each problem.

    Args:
        paper: The claim, a sentence.
        repeats: All repeats.
        ours: The method of the claim.
        others: The methods that it is compared with.
        measure: What is compared on a problem.
        made: The number of iterations up to that point; methods with none are left out. By default all are compared.
        best: `min` if lower is better, `max` if higher is.
    """
    judgements = []
    for problem in problems_of(repeats):
        values = {method: values_of(repeats, problem, method, measure(problem)) for method in (ours, *others)}
        counts = {method: values_of(repeats, problem, method, made(problem)) for method in values} if made else {}
        judgement = _judged(problem, values, ours, best, _idle(counts))
        judgements += [judgement] if judgement is not None else []
    return Claim(paper, tuple(judgements))


class Doubt(Enum):
    """Why a paired difference is not conclusive, as it is reported."""

    TIE = "a tie"
    SINGLE_REPEAT = "a single repeat"
    NOT_SIGNIFICANT = "within the spread of the repeats"


def doubt(first: Sequence[float], second: Sequence[float]) -> Doubt | None:
    """Why the difference of paired values is not conclusive; None if it is significant."""
    differences = [a - b for a, b in zip(first, second, strict=True) if math.isfinite(a - b)]
    if mean(differences) == 0:
        return Doubt.TIE
    if len(differences) < 2:
        return Doubt.SINGLE_REPEAT
    return Doubt.NOT_SIGNIFICANT if abs(mean(differences)) < SIGNIFICANT * spread(differences) else None


def lower(own: float, other: float) -> bool | None:
    """Whether the first of two numbers is lower; None for a tie."""
    return None if own == other else own < other


def _judged(
    problem: str, values: Mapping[str, Sequence[float]], ours: str, best: Best, idle: Mapping[str, str]
) -> Judgement | None:
    """Whether our method is better than the best other one; None without numbers."""
    means = {method: mean(own) for method, own in values.items() if not math.isnan(mean(own))}
    own = means.pop(ours, math.nan)
    if math.isnan(own) or not means:
        return None
    others = {method: value for method, value in means.items() if method not in idle}
    without = ", ".join(idle[method] for method in (ours, *means) if method in idle)
    if ours in idle or not others:
        return Judgement(problem, None, f"too small a cost for an iteration of {without}")
    other = best(others, key=others.__getitem__)
    why = doubt(values[ours], values[other])
    better = own < others[other] if best is min else own > others[other]
    numbers = f"{number(own)} against {number(others[other])} of {other}"
    if best is min:
        numbers += _compared(own, others[other])
    numbers += f", {why.value}" if why else ""
    numbers += f"; left out, as the cost is too small for an iteration: {without}" if without else ""
    # A method that is better than some may still be worse than those that are left out.
    return Judgement(problem, None if why or (better and without) else better, numbers)


def _idle(counts: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """The methods that made no iteration in some of their repeats, by name, as text."""
    idle = {}
    for method, own in counts.items():
        n = sum(count == 0 for count in own)
        if n:
            idle[method] = method if n == len(own) else f"{method} ({n} of {len(own)} repeats)"
    return idle


def _compared(own: float, other: float) -> str:
    """How much lower or higher a number is than another, as text; empty for a tie, or if the other is 0."""
    if own == other or other <= 0:
        return ""
    if own >= 2 * other:
        return f", {number(own / other, 2)} times as high"
    return f", {abs(own / other - 1):.1%} {'lower' if own < other else 'higher'}".replace("%", " %")
