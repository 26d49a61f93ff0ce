"""The queue of a study as something to run: what users put next in line is measured, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Protocol

from flexibo.belief.price_list import reserved
from flexibo.executors import Outcome
from flexibo.history import History
from flexibo.history.events import Evaluation, Failed, Spent, Told
from flexibo.optimizer import Predictor, Stop, StopKind
from flexibo.study._run import RunnableStudy


class QueuedStudy(RunnableStudy, Protocol):
    """What measuring the queue alone needs of a study."""

    @property
    def history(self) -> History:
        """The events so far."""

    @property
    def predictor(self) -> Predictor:
        """The costs of the study."""

    def ask_queued_or_stop(self, only: Collection[str] | None = None, *, limit: float = math.inf) -> Evaluation | Stop:
        """The next queued evaluation that is expected to cost at most `limit`, or why there is none."""


class QueueOnly:
    """The queue of a study as something to run, with at most `limit` to spend on it from now on."""

    def __init__(self, study: QueuedStudy, limit: float) -> None:
        self.study = study
        self.is_spent = False  # whether it ended because what is left cannot be paid
        self._limit = limit
        self._since = len(study.history.events)

    @property
    def left(self) -> float:
        """What may still be spent on the queue."""
        return self._limit if self._limit == math.inf else self._limit - self._spent_or_reserved()

    def ask_or_stop(self, only: Collection[str] | None = None) -> Evaluation | Stop:
        """The next queued evaluation for this worker, or why there is none."""
        answer = self.study.ask_queued_or_stop(only, limit=self.left)
        self.is_spent = isinstance(answer, Stop) and answer.kind is StopKind.BUDGET
        # Of the study itself it says nothing: that may have a budget left.
        return replace(answer, kind=StopKind.QUEUE) if isinstance(answer, Stop) and self.is_spent else answer

    def tell_outcome(self, outcome: Outcome) -> None:
        """Store the outcome of an evaluation."""
        self.study.tell_outcome(outcome)

    def release(self, evaluation: Evaluation, *, reason: str = "") -> None:
        """Give an evaluation back that was not attempted."""
        self.study.release(evaluation, reason=reason)

    def keep_outcome(self, outcome: Outcome, why: str) -> str:
        """Keep an outcome that could not be stored in a file, and say where."""
        return self.study.keep_outcome(outcome, why)

    def _spent_or_reserved(self) -> float:
        """What was spent on the queue since this began, and what is being measured of it is expected to cost."""
        history = self.study.history
        answers = (e for e in history.events[self._since :] if isinstance(e, Told | Failed | Spent))
        spent = sum(answer.cost for answer in answers if history.asked[answer.number].queued is not None)
        pending = [evaluation for evaluation in history.pending.values() if evaluation.queued is not None]
        return spent + reserved(history, self.study.predictor.costs, pending)
