"""Asking in a study that others may share: think without a lock, then claim; and take over what the dead left."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from flexibo.history import History
from flexibo.history.entries import Holder
from flexibo.history.events import Asked, Evaluation, Event, Failed, ReferenceFixed, Reissued, Released
from flexibo.optimizer import Optimizer, Stop, StopKind
from flexibo.storage.presence import Presence
from flexibo.study.event_log import EventLog

VANISHED = "Its worker vanished."
MOST_REISSUES = 2
"""An evaluation whose workers vanish again and again is perhaps what kills them; it then counts as failed."""


class Asker:
    """Asks for one worker.

    Args:
        log: The events of the study.
        optimizer: Chooses the questions.
        presence: This worker, and who else is alive.
        stop_reason: Why to stop rather than ask an evaluation, or an empty string. It may look at the study.
        limits: The same by the named rules alone, which are quick and look at nothing but the history: they are asked
            while nobody else can write.
    """

    def __init__(
        self,
        log: EventLog,
        optimizer: Optimizer,
        presence: Presence,
        stop_reason: Callable[[Evaluation], str],
        limits: Callable[[Evaluation], str],
    ) -> None:
        self._log = log
        self._optimizer = optimizer
        self._presence = presence
        self._stop_reason = stop_reason
        self._limits = limits
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
                return Stop(StopKind.RULE, reason, waits=self._would_take_over(only))
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
        others = [n for n, holder in self.history.holders.items() if holder.worker != self._presence.worker]
        return any(
            self._is_wanted(self.history.pending[number], only) and not self._limits(self.history.pending[number])
            for number in others
        )

    def _claimed(self, answer: Evaluation, seen: int) -> Evaluation | None:
        """The evaluation as it was claimed; None if others made it unwanted since `seen` events."""
        claimed: list[Evaluation] = []

        def decide() -> list[Event]:
            claimed.clear()
            history = self.history
            changed = len(history.events) != seen
            claim = replace(answer, number=len(history.asked))
            if changed and (not self._optimizer.still_open(history, claim) or self._limits(claim)):
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
        losses = self._optimizer.predictor.reference(self.history)
        optimised = [self.history.objectives[j] for j in self.history.optimised]
        return ReferenceFixed({o.name: o.value(float(loss)) for o, loss in zip(optimised, losses, strict=True)})

    def _left_behind(self, only: Collection[str] | None) -> Evaluation | None:
        """The first evaluation of a vanished worker that this one can take over; others are given back."""
        holders = dict(self.history.holders)
        gone = self._presence.gone(holder.worker for holder in holders.values())
        for number, holder in sorted(holders.items()):
            if holder.worker not in gone or self.history.holders.get(number) != holder:
                continue  # the second: what was learned while the one before was taken over
            evaluation = self.history.pending[number]
            stopped = bool(self._stop_reason(evaluation))
            event = self._taken_over(number, holder, gone[holder.worker], only, stopped=stopped)
            if isinstance(event, Reissued):
                self._forget(gone)
                return evaluation
        self._forget(gone)
        return None

    def _forget(self, gone: Iterable[str]) -> None:
        """Remove the signs of vanished workers that hold nothing any more."""
        for worker in set(gone) - {holder.worker for holder in self.history.holders.values()}:
            self._presence.forget(worker)

    def _taken_over(
        self, number: int, holder: Holder, lived: float | None, only: Collection[str] | None, *, stopped: bool
    ) -> Event | None:
        """What was made of an evaluation whose worker has vanished; None if somebody else was first."""
        taken: list[Event] = []

        def decide() -> list[Event]:
            taken.clear()
            if self.history.holders.get(number) != holder:
                return []
            evaluation = self.history.pending[number]
            loss = self._lost_cost(evaluation, holder, lived)
            if self.history.reissues[number] >= MOST_REISSUES:
                reason = f"{VANISHED[:-1]} in {MOST_REISSUES + 1} attempts; it may be what ends them."
                taken.append(Failed(number, reason, loss))
            elif not stopped and self._is_wanted(evaluation, only, loss=loss):
                taken.append(Reissued(number, self._presence.worker, self._presence.seconds, loss))
            else:
                taken.append(Released(number, VANISHED, loss))
            return taken

        self._log.commit(decide)
        return taken[0] if taken else None

    def _is_wanted(self, evaluation: Evaluation, only: Collection[str] | None, *, loss: float = 0.0) -> bool:
        if only is not None and evaluation.objective not in only:
            return False
        return self._optimizer.still_wants(self.history, evaluation, loss=loss)

    def _lost_cost(self, evaluation: Evaluation, holder: Holder, lived: float | None) -> float:
        """What a vanished worker is thought to have spent: the time until its last sign, or what was expected.

        Where functions tell their own costs, seconds mean nothing; where nothing was told yet, that is not known.
        """
        if lived is None or evaluation.objective not in self.history.timed:
            return 0.0
        if not self.history.timed[evaluation.objective]:
            return evaluation.cost
        return max(0.0, lived - holder.seconds)
