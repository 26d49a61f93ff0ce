"""The contract of an executor: where measurements run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from flexibo.history.events import Evaluation, FailureKind
from flexibo.history.reports import Reports
from flexibo.objectives import Objective

Measure: TypeAlias = Callable[[Any], Any]
"""Measures one design; that of an objective with steps takes a `flexibo.Steps`.

Returns a value, a mapping of values by objective, or either of them with its cost.
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one evaluation: values, or the reason why there are none.

    A released one says nothing about its design: its machine was lost, or did not respond any more.

    Attributes:
        evaluation: The question.
        values: The values by objective; None when it failed.
        cost: What it cost.
        reason: Why it failed.
        timed: Whether the cost is the time it took, in seconds, because the function returned none.
        impossible: Whether the design cannot be built, so that trying again would change nothing.
        kind: The kind of the failure.
        released: Whether the evaluation is given back instead of failed; its cost is what was lost.
        printed: The end of what its program printed, if a program measured it.
        seconds: How long it took, where that is known.
        mistake: The traceback of an error that is most often a mistake in the function, and says nothing of the design.
        error: That error itself, where it was raised in this process.
        reports: Values at steps that it reached before the one at which it stops, of an objective with steps.
        begun: The step from which it really went on, if not from that of the question: where a checkpoint was.
    """

    evaluation: Evaluation
    values: Mapping[str, Any] | None
    cost: float
    reason: str = ""
    timed: bool = True
    impossible: bool = False
    kind: FailureKind = FailureKind.ERROR
    released: bool = False
    printed: str = ""
    seconds: float | None = field(default=None, compare=False)
    mistake: str = ""
    error: Exception | None = field(default=None, compare=False, repr=False)
    reports: Reports = ()
    begun: int | None = None


class Executor(Protocol):
    """Runs measurements, perhaps several at a time."""

    def has_room(self, objective: Objective) -> bool:
        """Whether an evaluation of this objective can be submitted and would start at once."""

    def submit(self, evaluation: Evaluation, objective: Objective, measure: Measure) -> None:
        """Start one evaluation."""

    def is_busy(self) -> bool:
        """Whether an evaluation was submitted that is not finished."""

    def finished(self, wait: float | None = None) -> Iterable[Outcome]:
        """The outcomes that are there.

        If there is none yet, wait for one, at most `wait` seconds (None: as long as it takes). A `MachineError` means
        that the machine is at fault rather than a design; the submitted evaluations are then given up.
        """

    def close(self) -> None:
        """Stop what still runs and release what it held. Nothing can be submitted afterwards."""
