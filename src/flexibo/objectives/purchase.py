"""Purchases: what one evaluation measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flexibo.errors import InvalidValueError
from flexibo.objectives.objective import Objective


@dataclass(frozen=True, slots=True)
class Purchase:
    """What one evaluation measures: the objective that is asked for and those measured with it.

    Attributes:
        objective: Name of the objective that is asked for.
        members: Indices of all objectives it yields, the asked one first.
        options: The options that decide the outcome; ``None`` means all.
    """

    objective: str
    members: tuple[int, ...]
    options: tuple[str, ...] | None


def purchases(objectives: Sequence[Objective]) -> tuple[Purchase, ...]:
    """The purchases of a study, in the order of the objectives.

    >>> [p.members for p in purchases([Objective("error"), Objective("joules"),
    ...                                Objective("ms", measured_with="joules")])]
    [(0,), (1, 2)]
    """
    names = [objective.name for objective in objectives]
    leads = [_lead(objective, objectives) for objective in objectives]
    found = []
    for index, objective in enumerate(objectives):
        if leads[index] != objective.name:
            continue
        members = (index, *(i for i, lead in enumerate(leads) if lead == objective.name and i != index))
        found.append(Purchase(names[index], members, _union([objectives[i].depends_on for i in members])))
    return tuple(found)


def _lead(objective: Objective, objectives: Sequence[Objective]) -> str:
    """The objective that must be asked for to get this one."""
    by_name = {other.name: other for other in objectives}
    seen = [objective.name]
    while objective.measured_with is not None:
        objective = by_name[objective.measured_with]
        if objective.name in seen:
            raise InvalidValueError(f"measured_with forms a cycle: {' -> '.join([*seen, objective.name])}.")
        seen.append(objective.name)
    return objective.name


def _union(options: Sequence[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    if any(names is None for names in options):
        return None
    return tuple(dict.fromkeys(name for names in options if names is not None for name in names))
