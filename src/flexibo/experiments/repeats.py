"""Repeat: one method on one problem with one seed, iteration by iteration, as the paper counts them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

from flexibo.errors import InvalidValueError

PROBLEMS = ("dnn-stack", "nb201-tx2", "accel-a100")
"""The problems that replace the paper's seven networks."""

ITERATION = (
    "An iteration is one objective of one design for a decoupled method, and one design with all its objectives for a "
    "coupled one. Costs count from the first iteration on: the initial designs are the same for all methods."
)

Progress: TypeAlias = Callable[[int, int, str], object]
"""Called with the number of finished repeats, the number of all repeats, and the name of the last one."""

DIGITS = 9
"""The number of significant digits in the file of repeats."""


@dataclass(frozen=True, slots=True)
class ExperimentSize:
    """The repeats of each method, with their initial designs, and the iterations after them; the paper's by default."""

    repeats: int = 5
    n_initial: int = 20
    iterations: int = 200

    def __post_init__(self) -> None:
        for name, least in (("repeats", 1), ("n_initial", 2), ("iterations", 1)):
            if getattr(self, name) < least:
                raise InvalidValueError(f"{name} is {getattr(self, name)}; it must be at least {least}.")

    def __str__(self) -> str:
        repeats = f"{self.repeats} repeat{'' if self.repeats == 1 else 's'}"
        return f"{repeats}, {self.n_initial} initial designs, {self.iterations} iterations"


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration and the state of the method after it. Number 0 is the state after the initial designs.

    Attributes:
        objectives: The requested objectives, in order, without those that were measured with them.
        costs: The cost of each.
        spent: All costs after the initial designs.
        log_spent: The paper's cost: the sum of log(max(cost, e)).
        overhead_s: Processor time of asking and telling.
        volume: The volume of the Pareto region at the question; None if the method does not use it.
        gain: The volume that it was expected to remove, or the method's own score; None for number 0.
        values: The true values of the design, in the users' directions; empty for number 0.
        error: The hypervolume error of the reported front.
        in_target: The number of designs of that front in the target region.
        confirmed: The hypervolume error of the designs of which every objective was measured; None if it is not known.
    """

    number: int
    objectives: tuple[str, ...]
    costs: tuple[float, ...]
    spent: float
    log_spent: float
    overhead_s: float
    volume: float | None
    gain: float | None
    values: tuple[float, ...]
    error: float
    in_target: int
    confirmed: float | None = None


@dataclass(frozen=True, slots=True)
class Repeat:
    """One method on one problem with one seed, which decides the initial designs and every draw.

    Attributes:
        leads: The objectives that can be measured on request.
        lead_costs: The mean cost of each.
        iterations: From number 0 on; fewer than requested if the method stopped by itself.
        front: The true values of the designs reported at the end, in the users' directions.
        stopped: Why the method stopped by itself, or an empty string.
    """

    problem: str
    method: str
    seed: int
    leads: tuple[str, ...]
    lead_costs: tuple[float, ...]
    unit: str
    iterations: tuple[Iteration, ...]
    front: tuple[tuple[float, ...], ...]
    stopped: str = ""

    @property
    def cheap(self) -> str:
        """The objective with the lowest cost."""
        return min(zip(self.lead_costs, self.leads, strict=True))[1]

    @property
    def expensive(self) -> str:
        """The objective with the highest cost."""
        return max(zip(self.lead_costs, self.leads, strict=True))[1]

    def count(self, objective: str, *, first: int = 0, last: int | None = None) -> int:
        """The number of evaluations of an objective in the iterations from `first` to before `last`."""
        return sum(iteration.objectives.count(objective) for iteration in self.iterations[first:last])

    def cost(self, objective: str) -> float:
        """The total cost of the evaluations of an objective."""
        bought = [pair for i in self.iterations for pair in zip(i.objectives, i.costs, strict=True)]
        return sum(cost for name, cost in bought if name == objective)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary for JSON: the iterations as one list per field, numbers with `DIGITS` digits."""
        plain = {
            field.name: _rounded(getattr(self, field.name)) for field in fields(self) if field.name != "iterations"
        }
        columns = {f.name: [_rounded(getattr(i, f.name)) for i in self.iterations] for f in fields(Iteration)}
        return plain | {"iterations": columns}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Repeat:
        """The inverse of `to_dict`."""
        columns = content["iterations"]
        rows = zip(*(columns[field.name] for field in fields(Iteration)), strict=True)
        iterations = tuple(Iteration(*map(_frozen, row)) for row in rows)
        return cls(**{name: _frozen(value) for name, value in content.items()} | {"iterations": iterations})


def recharged(repeat: Repeat, price: Callable[[str, float], float]) -> Repeat:
    """The same run with other costs: the price of an evaluation, given the objective and its cost."""
    iterations, spent, log_spent = [], 0.0, 0.0
    for iteration in repeat.iterations:
        costs = tuple(map(price, iteration.objectives, iteration.costs))
        spent += sum(costs)
        log_spent += sum(math.log(max(cost, math.e)) for cost in costs)
        iterations.append(replace(iteration, costs=costs, spent=spent, log_spent=log_spent))
    means = tuple(map(price, repeat.leads, repeat.lead_costs))
    return replace(repeat, iterations=tuple(iterations), lead_costs=means)


def with_free_readings(repeat: Repeat) -> Repeat:
    """The same run, if only the most expensive objective cost anything, as the paper's authors charged theirs."""
    return recharged(repeat, lambda name, cost: cost if name == repeat.expensive else 0.0)


def of_problem(repeats: Sequence[Repeat], problem: str, method: str | None = None) -> list[Repeat]:
    """The repeats on one problem, of all methods or of one."""
    return [r for r in repeats if r.problem == problem and method in (None, r.method)]


def problems_of(repeats: Sequence[Repeat]) -> list[str]:
    """The problems, in order."""
    return list(dict.fromkeys(repeat.problem for repeat in repeats))


def methods_of(repeats: Sequence[Repeat]) -> list[str]:
    """The methods, in order."""
    return list(dict.fromkeys(repeat.method for repeat in repeats))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return [_rounded(item) for item in value] if isinstance(value, tuple) else value


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
