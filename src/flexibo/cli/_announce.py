"""An executor that says what becomes of each evaluation, in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from flexibo.cli._text import in_words, options

if TYPE_CHECKING:
    from flexibo.executors import Executor, Measure, Outcome
    from flexibo.history.events import Evaluation
    from flexibo.objectives import Objective


class AnnouncingExecutor:
    """Hands everything to another executor.

    Args:
        executor: What measures.
        announce: Called with one line for each evaluation, after its outcome was stored.

    Attributes:
        held: What was submitted and has no outcome that is stored.
        measured: How many evaluations gave a value.
        failed: How many did not.
    """

    def __init__(self, executor: Executor, announce: Callable[[str], object]) -> None:
        self._executor = executor
        self._announce = announce
        self.held: dict[int, Evaluation] = {}
        self.measured = 0
        self.failed = 0

    def has_room(self, objective: Objective) -> bool:
        """Whether an evaluation can be submitted."""
        return self._executor.has_room(objective)

    def submit(self, evaluation: Evaluation, objective: Objective, measure: Measure) -> None:
        """Start one evaluation."""
        self.held[evaluation.number] = evaluation
        self._executor.submit(evaluation, objective, measure)

    def is_busy(self) -> bool:
        """Whether an evaluation is not finished."""
        return self._executor.is_busy()

    def finished(self, wait: float | None = None) -> Iterator[Outcome]:
        """The outcomes that are there; each is announced when the next one is asked for, that is, once it is stored."""
        for outcome in self._executor.finished(wait):
            yield outcome
            self.held.pop(outcome.evaluation.number, None)
            self.measured += outcome.values is not None
            self.failed += outcome.values is None
            self._announce(told(outcome))

    def close(self) -> None:
        """Stop what still runs."""
        self._executor.close()


def told(outcome: Outcome) -> str:
    """What became of an evaluation, in one line."""
    evaluation = outcome.evaluation
    values = outcome.values or {}
    given = ", ".join(f"{name} {value:.5g}" for name, value in values.items())
    what = f"{given}, cost {outcome.cost:.3g}" if values else f"{evaluation.objective} failed: {outcome.reason}"
    return in_words(f"{evaluation.number} {what}, for {options(dict(evaluation.design))}")
