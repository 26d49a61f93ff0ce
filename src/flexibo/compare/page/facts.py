"""ProblemFacts and Sheet: what a page is told about a problem, and tables that it shows as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flexibo.compare.problems.base import Problem
from flexibo.errors import InvalidValueError


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table that was made elsewhere.

    Attributes:
        title: What it shows.
        headings: Of its columns.
        rows: The cells, as they are shown; the first of a row is a name.
        notes: What its reader must know.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ProblemFacts:
    """What a report says of a problem.

    Attributes:
        names: The objectives (n).
        units: Their units (n); empty text where there is none.
        directions: ``"min"`` or ``"max"`` for each of them (n).
        front: The values of the true front, a tuple (n) per design, in the users' directions.
        budget: What every contestant may spend after the initial designs.
        unit: The unit of the costs.
        mean_costs: What measuring each objective costs on average (n); nothing for one that is measured with another.
        exact: Whether the front is the true one, and not only the best known.
        summary: One line.
        n_options: How many options a design has.
        n_designs: How many designs there are; infinity where an option is a real number.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    directions: tuple[str, ...]
    front: tuple[tuple[float, ...], ...]
    budget: float
    unit: str
    mean_costs: tuple[float, ...]
    exact: bool
    summary: str
    n_options: int
    n_designs: float

    def __post_init__(self) -> None:
        n = len(self.names)
        if not n or any(len(row) != n for row in (self.units, self.directions, self.mean_costs, *self.front)):
            raise InvalidValueError(
                f"The objectives are {self.names!r}; units, directions, mean costs and every row of the front must "
                f"have one entry for each."
            )
        if not self.budget > 0:
            raise InvalidValueError(f"The budget is {self.budget!r}; it must be above zero.")

    @property
    def axes(self) -> tuple[str, ...]:
        """The objectives as axes are named: with their units."""
        return tuple(f"{name} ({unit})" if unit else name for name, unit in zip(self.names, self.units, strict=True))


def facts_of(problem: Problem, budget: float) -> ProblemFacts:
    """What a report says of this problem when every contestant may spend `budget`."""
    rows = problem.front.tolist()
    return ProblemFacts(
        names=problem.names,
        units=tuple(objective.unit for objective in problem.objectives),
        directions=tuple(objective.direction or "min" for objective in problem.objectives),
        front=tuple(tuple(o.value(y) for o, y in zip(problem.objectives, row, strict=True)) for row in rows),
        budget=budget,
        unit=problem.unit,
        mean_costs=tuple(problem.mean_costs().tolist()),
        exact=problem.exact,
        summary=problem.summary,
        n_options=len(problem.space.names),
        n_designs=float(problem.space.size),
    )
