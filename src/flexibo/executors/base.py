"""The contract of an executor: where measurements run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from flexibo.events import Evaluation
from flexibo.objectives import Objective
from flexibo.space import Design

Measure: TypeAlias = Callable[[Design], Any]
"""Measures one design. Returns a value, a mapping of values by objective, or either of them with its cost."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one evaluation: values, or the reason why there are none.

    Attributes:
        evaluation: The question.
        values: The values by objective; None when it failed.
        cost: What it cost.
        reason: Why it failed.
    """

    evaluation: Evaluation
    values: Mapping[str, Any] | None
    cost: float
    reason: str = ""


class Executor(Protocol):
    """Runs measurements, perhaps several at a time."""

    def has_room(self) -> bool:
        """Whether another evaluation can be submitted."""
        ...

    def submit(self, evaluation: Evaluation, objective: Objective, measure: Measure) -> None:
        """Start one evaluation."""
        ...

    def is_busy(self) -> bool:
        """Whether an evaluation was submitted that is not finished."""
        ...

    def finished(self) -> Iterable[Outcome]:
        """Wait for at least one outcome and return what is there."""
        ...
