"""Repeat: what one method did on one problem with one seed, iteration by iteration, as the paper counts them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from flexibo.errors import InvalidValueError

PROBLEMS = ("dnn-stack", "nb201-tx2", "accel-a100")
"""What stands in for the paper's seven networks."""

ITERATION = (
    "An iteration is one question of a decoupled method (one objective of one design) and one design with all its "
    "objectives of a coupled one. Costs count from the first iteration on: the initial designs are the same for all."
)

Progress: TypeAlias = Callable[[int, int, str], object]
"""Called with how many repeats are done, how many there are, and which one was finished last."""

DIGITS = 9
"""Numbers are kept to so many digits: what is read back is what was written."""


@dataclass(frozen=True, slots=True)
class ExperimentSize:
    """What everybody gets; the defaults are the paper's.

    Attributes:
        repeats: How often each method runs, with other initial designs each time.
        n_initial: How many initial designs are measured in every objective.
        iterations: How many iterations follow.
    """

    repeats: int = 5
    n_initial: int = 20
    iterations: int = 200

    def __post_init__(self) -> None:
        for name, least in (("repeats", 1), ("n_initial", 2), ("iterations", 1)):
            if getattr(self, name) < least:
                raise InvalidValueError(f"{name} is {getattr(self, name)}; it must be at least {least}.")

    def __str__(self) -> str:
        return f"{self.repeats} repeats, {self.n_initial} initial designs, {self.iterations} iterations"


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration, and where the method stands after it. Number 0 is where it stands after the initial designs.

    Attributes:
        number: The how-manieth iteration it is.
        objectives: What was bought, in order; objectives that were measured with these are not named.
        costs: What each cost.
        spent: All costs since the initial designs.
        log_spent: The paper's cost: the sum of log(max(cost, e)).
        overhead_s: Processor time of asking and telling.
        volume: The volume of the Pareto region when it was asked; None where the method does not use it.
        gain: The volume that it was expected to remove, or the method's own score; None for number 0.
        values: The true values of the design, in the users' directions; empty for number 0.
        error: The hypervolume error of the front that is reported after it.
        in_target: How many designs of that front lie in the target region.
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


@dataclass(frozen=True, slots=True)
class Repeat:
    """One method on one problem with one seed.

    Attributes:
        problem: The full name of the problem.
        method: The method.
        seed: Decides the initial designs and every draw.
        leads: The objectives that can be bought.
        lead_costs: What each costs on average.
        unit: The unit of the costs.
        iterations: From number 0 on; fewer than the size allow where the method stopped by itself.
        front: The true values of the designs that it reports at the end, in the users' directions.
        stopped: Why it stopped by itself, or an empty string.
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
        """The objective that costs least."""
        return min(zip(self.lead_costs, self.leads, strict=True))[1]

    @property
    def dear(self) -> str:
        """The objective that costs most."""
        return max(zip(self.lead_costs, self.leads, strict=True))[1]

    def count(self, objective: str, *, first: int = 0, last: int | None = None) -> int:
        """How many evaluations of an objective were bought in the iterations from `first` to before `last`."""
        return sum(iteration.objectives.count(objective) for iteration in self.iterations[first:last])

    def cost(self, objective: str) -> float:
        """What the evaluations of an objective cost in all."""
        bought = [pair for i in self.iterations for pair in zip(i.objectives, i.costs, strict=True)]
        return sum(cost for name, cost in bought if name == objective)

    def to_dict(self) -> dict[str, Any]:
        """As JSON: the iterations as one list per field, numbers to nine digits."""
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
