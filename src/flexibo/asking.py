"""Asking in a study that others may share: think without a lock, then claim; and take over what the dead left."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection
from dataclasses import replace

from flexibo.events import Asked, Evaluation, Event, ReferenceFixed, Reissued, Released
from flexibo.history import History, Holder
from flexibo.log import EventLog
from flexibo.optimizer import Optimizer, Stop
from flexibo.storage.presence import Presence

VANISHED = "Its worker vanished."


class Asker:
    """Asks for one worker.

    Args:
        log: The events of the study.
        optimizer: Chooses the questions.
        presence: This worker, and who else is alive.
        stop_reason: Why to stop rather than ask an evaluation, or an empty string.
    """

    def __init__(
        self, log: EventLog, optimizer: Optimizer, presence: Presence, stop_reason: Callable[[Evaluation], str]
    ) -> None:
        self._log = log
        self._optimizer = optimizer
        self._presence = presence
        self._stop_reason = stop_reason
        self._salt = 0
        self._last: tuple[int, frozenset[str] | None, Stop] | None = None

    @property
    def history(self) -> History:
        """What happened so far."""
        return self._log.history

    def ask(self, only: Collection[str] | None = None) -> Evaluation | Stop:
        """The next evaluation, claimed for this worker, or why there is none.

        Args:
            only: The objectives that this worker can measure now; None is all.
        """
        self._log.refresh()
        self._presence.begin()
        if left := self._left_behind(only):
            return left
        wanted = None if only is None else frozenset(only)
        while True:
            seen = len(self.history.events)
            if self._last is not None and self._last[:2] == (seen, wanted):
                return self._last[2]
            answer = self._optimizer.ask(self.history, only=only, salt=self._salt)
            if isinstance(answer, Stop):
                stop = replace(answer, waits=self._waits(only))
                self._last = (seen, wanted, stop)
                return stop
            if reason := self._stop_reason(answer):
                return Stop(reason, waits=self._would_take_over(only))
            if claimed := self._claimed(answer, seen):
                return claimed
            # Another worker had the same thought: from now on this one draws other candidates.
            self._salt = zlib.crc32(self._presence.worker.encode()) or 1

    def _waits(self, only: Collection[str] | None) -> bool:
        """Whether there may be something to ask later: others measure, or others must measure first."""
        if any(holder.worker != self._presence.worker for holder in self.history.holders.values()):
            return True
        if only is None or self.history.pending:
            return False
        answer = self._optimizer.ask(self.history)
        return isinstance(answer, Evaluation) and not self._stop_reason(answer)

    def _would_take_over(self, only: Collection[str] | None) -> bool:
        """Whether others measure something that this worker would have to measure if they vanished."""
        return any(
            holder.worker != self._presence.worker and self._is_wanted(self.history.pending[number], only)
            for number, holder in self.history.holders.items()
        )

    def _claimed(self, answer: Evaluation, seen: int) -> Evaluation | None:
        """The evaluation as it was claimed; None if others made it unwanted since `seen` events."""
        claimed: list[Evaluation] = []

        def decide() -> list[Event]:
            claimed.clear()
            history = self.history
            changed = len(history.events) != seen
            claim = replace(answer, number=len(history.asked))
            if changed and (not self._optimizer.still_open(history, claim) or self._stop_reason(claim)):
                return []
            claimed.append(claim)
            asked = Asked(claimed[0], self._presence.worker, self._presence.seconds)
            # Under constraints the worst values of interest are not known before a feasible design is.
            if not answer.initial and history.reference is None and history.has_feasible():
                return [self._reference(), asked]
            return [asked]

        self._log.commit(decide)
        return claimed[0] if claimed else None

    def _reference(self) -> ReferenceFixed:
        losses = self._optimizer.believer.reference(self.history)
        optimised = [self.history.objectives[j] for j in self.history.optimised]
        return ReferenceFixed({o.name: o.value(float(loss)) for o, loss in zip(optimised, losses, strict=True)})

    def _left_behind(self, only: Collection[str] | None) -> Evaluation | None:
        """The first evaluation of a vanished worker that this one can take over; others are given back."""
        holders = self.history.holders
        gone = self._presence.gone(holder.worker for holder in holders.values())
        for number, holder in sorted(holders.items()):
            if holder.worker not in gone or self.history.holders.get(number) != holder:
                continue  # the second: what was learned while the one before was taken over
            evaluation = self.history.pending[number]
            cost = self._lost_cost(evaluation, holder, gone[holder.worker])
            if self._is_wanted(evaluation, only):
                event: Event = Reissued(number, self._presence.worker, self._presence.seconds, cost)
            else:
                event = Released(number, VANISHED, cost)
            if self._took_over(number, holder, event) and isinstance(event, Reissued):
                return evaluation
        return None

    def _is_wanted(self, evaluation: Evaluation, only: Collection[str] | None) -> bool:
        if only is not None and evaluation.objective not in only:
            return False
        return self._optimizer.still_wants(self.history, evaluation) and not self._stop_reason(evaluation)

    def _lost_cost(self, evaluation: Evaluation, holder: Holder, lived: float | None) -> float:
        """What a vanished worker is thought to have spent: the time until its last sign, or what was expected.

        Where functions tell their own costs, seconds mean nothing; where nothing was told yet, that is not known.
        """
        if lived is None or lived <= holder.seconds or evaluation.objective not in self.history.timed:
            return 0.0
        return lived - holder.seconds if self.history.timed[evaluation.objective] else evaluation.cost

    def _took_over(self, number: int, holder: Holder, event: Event) -> bool:
        taken: list[Event] = []

        def decide() -> list[Event]:
            taken[:] = [event] if self.history.holders.get(number) == holder else []
            return taken

        self._log.commit(decide)
        return bool(taken)
