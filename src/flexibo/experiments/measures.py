"""Measures of repeats: errors and counts at equal cost, means over repeats, and numbers as text."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from flexibo.experiments.repeats import Iteration, Repeat, methods_of, of_problem, problems_of, with_free_readings

LEAST = 1e-6
"""Smaller numbers are shown as below this."""


@dataclass(frozen=True, slots=True)
class CostAxis:
    """A scale along a repeat, iterations or cost; ``{unit}`` in the label of a figure is the problem's unit of cost.

    `charged` changes the costs of a repeat before; by default they stay.
    """

    name: str
    label: str
    of: Callable[[Iteration], float] = field(repr=False)
    charged: Callable[[Repeat], Repeat] = field(default=lambda repeat: repeat, repr=False)


ITERATIONS = CostAxis("iterations", "iterations", lambda i: float(i.number))
LOG_COST = CostAxis("log cost", "cumulative cost (log {unit})", lambda i: i.log_spent)
REAL_COST = CostAxis("real cost", "cumulative cost ({unit})", lambda i: i.spent)
FREE_COST = CostAxis(
    "cost with readings free", "cumulative cost, readings free ({unit})", lambda i: i.spent, with_free_readings
)
AXES = (ITERATIONS, LOG_COST, REAL_COST)
"""The axes of the figures."""


def state_at(repeat: Repeat, axis: CostAxis, limit: float) -> Iteration:
    """The last iteration of a repeat within a limit."""
    places = [axis.of(iteration) for iteration in axis.charged(repeat).iterations]
    return repeat.iterations[max(0, bisect_right(places, limit * (1 + 1e-9)) - 1)]


def equal_limit(repeats: Sequence[Repeat], axis: CostAxis) -> float:
    """The limit that every repeat reached, except those that stopped by themselves with nothing more to ask."""
    ends = [axis.of(axis.charged(repeat).iterations[-1]) for repeat in repeats if not repeat.stopped]
    return min(ends) if ends else max(axis.of(axis.charged(repeat).iterations[-1]) for repeat in repeats)


Measure: TypeAlias = Callable[[Repeat], float]


def error_at(axis: CostAxis, limit: float, *, confirmed: bool = False) -> Measure:
    """The hypervolume error at a limit, of the reported designs or of those that were measured completely."""
    return lambda repeat: error_of(state_at(repeat, axis, limit), confirmed=confirmed)


def error_of(iteration: Iteration, *, confirmed: bool) -> float:
    """The error of an iteration; NaN if it is not known."""
    error = iteration.confirmed if confirmed else iteration.error
    return math.nan if error is None else error


def measures_of(repeats: Sequence[Repeat]) -> tuple[bool, ...]:
    """Whether errors are judged by completely measured designs: by reported ones, and by measured ones if known."""
    known = all(repeat.iterations[-1].confirmed is not None for repeat in repeats)
    return (False, True) if known else (False,)


def targets_at(axis: CostAxis, limit: float) -> Measure:
    """The number of designs of the reported front in the target region at a limit."""
    return lambda repeat: float(state_at(repeat, axis, limit).in_target)


def iterations_at(axis: CostAxis, limit: float) -> Measure:
    """The number of iterations within a limit."""
    return lambda repeat: float(state_at(repeat, axis, limit).number)


def values_of(repeats: Sequence[Repeat], problem: str, method: str, measure: Measure) -> list[float]:
    """The measure of each repeat of a method on a problem, in the order of the seeds."""
    own = sorted(of_problem(repeats, problem, method), key=lambda repeat: repeat.seed)
    return [measure(repeat) for repeat in own]


def mean(values: Sequence[float]) -> float:
    """The mean of the finite values; NaN if there is none."""
    finite = [value for value in values if math.isfinite(value)]
    return float(np.mean(finite)) if finite else math.nan


def spread(values: Sequence[float]) -> float:
    """The standard error of the mean; 0 for a single value."""
    finite = [value for value in values if math.isfinite(value)]
    return float(np.std(finite, ddof=1) / math.sqrt(len(finite))) if len(finite) > 1 else 0.0


def number(value: float, digits: int = 3) -> str:
    """A number as text: at least `digits` digits, and no powers of ten.

    >>> number(0.12345), number(147.3, 2), number(1920.0)
    ('0.123', '147', '1,920')
    """
    if not math.isfinite(value):
        return "-"
    if 0 < abs(value) < LEAST:
        return f"{'-' if value < 0 else ''}<{LEAST:f}"
    text = f"{value:,.{_places(value, digits)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float, digits: int = 2) -> str:
    """A share in percent.

    >>> percent(0.125)
    '12 %'
    """
    return f"{number(100.0 * share, digits)} %"


def shown(values: Sequence[float]) -> str:
    """The mean and its standard error as text; the standard error has no more decimals than the mean.

    >>> shown([0.1, 0.3]), shown([0.4, 0.402])
    ('0.2 ± 0.1', '0.401 ± 0.001')
    """
    middle, error = mean(values), spread(values)
    if not error:
        return number(middle)
    digits = min(2, 2 + _places(middle, 3) - _places(error, 2)) if middle else 2
    return f"{number(middle)} ± {number(error, max(1, digits))}"


def _places(value: float, digits: int) -> int:
    """The number of decimals that show `digits` digits of a number."""
    return max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0


def compared_methods(repeats: Sequence[Repeat], *, ours: str, extra: Sequence[str] = ()) -> list[str]:
    """The methods that a method is compared with, without `extra` ones."""
    return [method for method in methods_of(repeats) if method != ours and method not in extra]


def limits(repeats: Sequence[Repeat], axis: CostAxis, *, extra: Sequence[str] = ()) -> dict[str, float]:
    """The equal limit of each problem, without the repeats of `extra` methods."""
    judged = [repeat for repeat in repeats if repeat.method not in extra]
    return {problem: equal_limit(of_problem(judged, problem), axis) for problem in problems_of(judged)}
