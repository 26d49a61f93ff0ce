"""The first calls of functions: one that fails is most often a mistake, which a study need not pay for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from flexibo.executors import Outcome
from flexibo.history import History
from flexibo.history.events import Evaluation, FailureKind
from flexibo.optimizer.stop import Stop, StopKind
from flexibo.study._run import FirstCallError, RunnableStudy

MOST_DESIGNS = 3  # how many designs an objective may give no value of, each for a reason of its own, while it is tried
BROKEN = (FailureKind.ERROR, FailureKind.VALUE)
"""Failures of programs and functions, rather than of machines or by a time limit."""


class TriedStudy(RunnableStudy, Protocol):
    """What trying needs of a study."""

    @property
    def history(self) -> History:
        """The events so far."""


class RaisingFirst:
    """A study whose run ends where the first call of a function fails by a mistake; `untried` were never called."""

    def __init__(self, study: RunnableStudy, untried: Collection[str]) -> None:
        self.study = study
        self._untried = set(untried)

    def ask_or_stop(self, only: Collection[str] | None = None) -> Evaluation | Stop:
        """The next evaluation for this worker, or why there is none."""
        return self.study.ask_or_stop(only)

    def tell_outcome(self, outcome: Outcome) -> None:
        """Store the outcome of an evaluation, unless it is a mistake in a function that has never worked."""
        name = outcome.evaluation.objective
        if name in self._untried and outcome.values is None and outcome.mistake:
            raise FirstCallError(outcome)
        self.study.tell_outcome(outcome)
        if outcome.values is not None:
            self._untried.discard(name)

    def release(self, evaluation: Evaluation, *, reason: str = "") -> None:
        """Give an evaluation back that was not attempted."""
        self.study.release(evaluation, reason=reason)

    def keep_outcome(self, outcome: Outcome, why: str) -> str:
        """Keep an outcome that could not be stored in a file, and say where."""
        return self.study.keep_outcome(outcome, why)


class TryOnly:
    """Each of these objectives once, one after the other, as something to run; ends at the first that is broken.

    A design that cannot be measured, takes too long or ends its worker is a failed evaluation, and the objective is
    tried with another design, `MOST_DESIGNS` in all.
    """

    def __init__(self, study: TriedStudy, objectives: Sequence[str]) -> None:
        self.study = study
        self.outcomes: list[Outcome] = []
        self._left = list(objectives)
        self._designs = 0
        self._is_open = False

    def ask_or_stop(self, only: Collection[str] | None = None) -> Evaluation | Stop:
        """The question of the next objective; one that has nothing to ask now is left out."""
        while self._left and not self._is_open:
            name = self._left[0]
            if only is not None and name not in only:
                return Stop(StopKind.WAITING, f"There is no room for {name!r} yet.", waits=True)
            answer = self.study.ask_or_stop([name])
            if isinstance(answer, Evaluation):
                self._is_open = True
                return answer
            self._next()
        if self._is_open:
            return Stop(StopKind.WAITING, "One objective is tried after the other.", waits=True)
        return Stop(StopKind.TRIED, "Every objective was tried.")

    def tell_outcome(self, outcome: Outcome) -> None:
        """Store the outcome, unless it means that its objective is broken: then nothing is counted."""
        is_broken = outcome.values is None and outcome.kind in BROKEN and not (outcome.impossible or outcome.released)
        if is_broken:
            self.outcomes.append(outcome)
            raise FirstCallError(outcome)
        self.study.tell_outcome(outcome)
        self._is_open = False
        self._designs += 1
        self.outcomes.append(outcome)
        if outcome.values is not None:
            self._next()
        elif self._designs >= MOST_DESIGNS:
            raise FirstCallError(outcome, is_counted=True)

    def release(self, evaluation: Evaluation, *, reason: str = "") -> None:
        """Give an evaluation back that was not attempted."""
        self.study.release(evaluation, reason=reason)

    def keep_outcome(self, outcome: Outcome, why: str) -> str:
        """Keep an outcome that could not be stored in a file, and say where."""
        return self.study.keep_outcome(outcome, why)

    def _next(self) -> None:
        self._left.pop(0)
        self._designs = 0


def untried(history: History, objectives: Collection[str]) -> list[str]:
    """Those of the objectives that no evaluation gave a value of: by their declared cost, then those without one."""
    costs = {objective.name: objective.cost for objective in history.objectives}
    names = [name for name in costs if name in objectives and not history.told[name]]
    return sorted(names, key=lambda name: (costs[name] is None, costs[name] or 0.0))
