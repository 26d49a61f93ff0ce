"""What a system is: something to optimise, with everything a study needs to know about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from flexibo.errors import InvalidValueError
from flexibo.objectives import Objective
from flexibo.space import Space

Measure: TypeAlias = Callable[[Mapping[str, Any]], float | Mapping[str, float] | tuple[float, float]]
"""What measures an objective of a design: its value, several by name, or a value and its cost."""


@dataclass(frozen=True, slots=True)
class System:
    """Something to optimise: its designs, its objectives and how each is measured.

    Attributes:
        name: What a user types to name it.
        space: All legal designs.
        objectives: What is measured, in the order of a report's columns.
        functions: For each objective's name, the callable that measures it: design -> value, or value and cost. An
            objective that is measured with another one has none: the other's function returns both, by name.
        notes: Sentences a report repeats, such as how an objective is measured on this machine.
        identity: What decides the values beside the design; values of systems that differ in it must not be mixed.
    """

    name: str
    space: Space
    objectives: tuple[Objective, ...]
    functions: Mapping[str, Measure]
    notes: tuple[str, ...] = ()
    identity: str = ""

    def __post_init__(self) -> None:
        names = {objective.name for objective in self.objectives if objective.measured_with is None}
        if names != set(self.functions):
            raise InvalidValueError(
                f"System {self.name!r} has the objectives {', '.join(sorted(names))} and functions for "
                f"{', '.join(sorted(self.functions))}; give one function per objective."
            )
