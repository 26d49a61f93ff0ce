"""Who is ahead, and whether the repeats tell: the paper's claims about methods, judged problem by problem."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from flexibo.experiments.claims import Claim, Judgement
from flexibo.experiments.measures import Measure, mean, number, spread, values_of
from flexibo.experiments.repeats import Repeat, problems_of

SURE = 2.0
"""A mean difference of less than so many standard errors is within the spread of the repeats."""

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
    """The claim that a method is ahead of all others in the mean over its repeats, judged problem by problem.

    Args:
        paper: The claim, a sentence.
        repeats: All repeats.
        ours: The method that the claim is about.
        others: Those that it is compared with.
        measure: What is compared on a problem.
        made: How many iterations were made by then; a method that had made none is left out. All take part without it.
        best: `min` where less is better, `max` where more is.
    """
    judgements = []
    for problem in problems_of(repeats):
        values = {method: values_of(repeats, problem, method, measure(problem)) for method in (ours, *others)}
        counts = {method: values_of(repeats, problem, method, made(problem)) for method in values} if made else {}
        judgement = _judged(problem, values, ours, best, _idle(counts))
        judgements += [judgement] if judgement is not None else []
    return Claim(paper, tuple(judgements))


def doubt(first: Sequence[float], second: Sequence[float]) -> str:
    """Why a difference of paired values tells nothing, in words; empty where it is clear."""
    differences = [a - b for a, b in zip(first, second, strict=True) if math.isfinite(a - b)]
    if mean(differences) == 0:
        return ", a tie"
    if len(differences) < 2:
        return ", a single repeat"
    unclear = abs(mean(differences)) < SURE * spread(differences)
    return ", within the spread of the repeats" if unclear else ""


def lower(own: float, other: float) -> bool | None:
    """Whether the first of two numbers is the lower one; None for a tie."""
    return None if own == other else own < other


def _judged(
    problem: str, values: Mapping[str, Sequence[float]], ours: str, best: Best, idle: Mapping[str, str]
) -> Judgement | None:
    """Whether one method's values beat the best other's; None where there are no numbers."""
    means = {method: mean(own) for method, own in values.items() if not math.isnan(mean(own))}
    own = means.pop(ours, math.nan)
    if math.isnan(own) or not means:
        return None
    rivals = {method: value for method, value in means.items() if method not in idle}
    without = ", ".join(idle[method] for method in (ours, *means) if method in idle)
    if ours in idle or not rivals:
        return Judgement(problem, None, f"too small a cost for an iteration of {without}")
    rival = best(rivals, key=rivals.__getitem__)
    why = doubt(values[ours], values[rival])
    ahead = own < rivals[rival] if best is min else own > rivals[rival]
    numbers = f"{number(own)} against {number(rivals[rival])} of {rival}"
    if best is min:
        numbers += _compared(own, rivals[rival])
    numbers += why + (f"; left out, as the cost is too small for an iteration: {without}" if without else "")
    # Being ahead of some does not show that one is ahead of those that are left out.
    return Judgement(problem, None if why or (ahead and without) else ahead, numbers)


def _idle(counts: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """The methods that had made no iteration in some of their repeats, by name, in words."""
    idle = {}
    for method, own in counts.items():
        n = sum(count == 0 for count in own)
        if n:
            idle[method] = method if n == len(own) else f"{method} ({n} of {len(own)} repeats)"
    return idle


def _compared(own: float, other: float) -> str:
    """How much lower or higher a number is than another, in words; nothing for a tie, or beside 0."""
    if own == other or other <= 0:
        return ""
    if own >= 2 * other:
        return f", {number(own / other, 2)} times as high"
    return f", {abs(own / other - 1):.1%} {'lower' if own < other else 'higher'}".replace("%", " %")
