"""The contract of a system: something to optimise, with everything a study needs to know about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from flexibo.errors import InvalidValueError
from flexibo.objectives import Objective
from flexibo.space import Space

Measure: TypeAlias = Callable[
    [Mapping[str, Any]], float | Mapping[str, float] | tuple[float | Mapping[str, float], float]
]
"""Measures an objective of a design: returns its value, or several values by name, and maybe their cost too."""


@dataclass(frozen=True, slots=True)
class System:
    """Something to optimise: its designs, its objectives and how each is measured.

    Attributes:
        name: The name on the command line.
        space: All legal designs.
        objectives: What is measured, in the order of columns in reports.
        functions: The function that measures each objective, by its name: design -> value, or value and cost. An
            objective that is measured with another one has none: the function of the other returns both, by name.
        notes: Notes for reports, such as how an objective is measured on this machine.
        identity: Identifies what decides the values besides the design; values of systems that differ in it must not
            be mixed.
        chance: The error in percent of the best answer without learning, and the number of held-out examples that it
            is known from; None if they are not known.
    """

    name: str
    space: Space
    objectives: tuple[Objective, ...]
    functions: Mapping[str, Measure]
    notes: tuple[str, ...] = ()
    identity: str = ""
    chance: tuple[float, int] | None = None

    def __post_init__(self) -> None:
        names = {objective.name for objective in self.objectives if objective.measured_with is None}
        if names != set(self.functions):
            raise InvalidValueError(
                f"System {self.name!r} has the objectives {', '.join(sorted(names))} and functions for "
                f"{', '.join(sorted(self.functions))}; give one function per objective."
            )
