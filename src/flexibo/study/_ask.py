"""Asking in a study that may be shared: choose without a lock, then claim; reassign what lost workers held."""

from __future__ import annotations

import math
import secrets
import zlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

from flexibo.belief.price_list import is_still_open, is_worth_repeating
from flexibo.history import History
from flexibo.history.events import (
    LOST_WORKER,
    Asked,
    Evaluation,
    Event,
    Failed,
    FailureKind,
    ReferenceFixed,
    Reissued,
    Released,
)
from flexibo.history.measurements import Assignment
from flexibo.history.reports import Reports
from flexibo.optimizer import Optimizer, Stop, StopKind
from flexibo.storage.heartbeat import Heartbeat
from flexibo.study._mind import Mind
from flexibo.study.answers import expected_loss
from flexibo.study.event_log import EventLog, Notify
from flexibo.study.stop_rules import StopCheck

MOST_REISSUES = 2  # then an evaluation may be what kills its workers, and counts as failed


def new_token() -> str:
    """What identifies an attempt at an evaluation: random, so that no other store or worker has the same."""
    return secrets.token_hex(8)


@dataclass(slots=True)
class AskMemory:
    """What a worker remembers from one call to the next."""

    salt: int = 0  # above 0 once another worker claimed the same evaluation first: this one then draws other candidates
    stop: tuple[int, frozenset[str] | None, Stop] | None = None  # after which events, for which objectives, and why
    undelivered: set[int] = field(default_factory=set)  # what calls claimed that failed, and could not be given back


@dataclass(frozen=True, slots=True)
class Asking:
    """One call of `Study.ask`. The study does not keep it, because it holds the study.

    `claims` are the numbers of the evaluations that this call may have claimed: they are there before the storage
    writes the claim, so they are known even if the call is interrupted, or it is in doubt whether they were stored.
    """

    log: EventLog
    mind: Mind
    heartbeat: Heartbeat
    stops: StopCheck
    notify: Notify
    memory: AskMemory
    reported: Callable[[Evaluation], Reports]  # values at steps that an evaluation without an answer reported
    claims: list[int] = field(default_factory=list)

    @property
    def history(self) -> History:
        return self.log.history

    @property
    def optimizer(self) -> Optimizer:
        """As the latest settings say: another process may change the study at any time."""
        return self.mind.optimizer

    def ask_queued(self, only: Collection[str] | None = None, *, limit: float = math.inf) -> Evaluation | Stop:
        """The next queued evaluation of these objectives, claimed for this worker, or why there is none.

        It is expected to cost at most `limit`. What lost workers held is given back, unless it is queued.
        """
        self.log.refresh(self.notify)
        self.heartbeat.begin()
        self.give_back(())
        if reason := self.mind.outdated():
            return Stop(StopKind.CHANGED, reason)
        if lost := self._reassigned(only, queued_only=True):
            return lost
        while True:
            seen = len(self.history.events)
            answer = self.optimizer.ask_queued(self.history, only=only, limit=limit)
            if isinstance(answer, Stop):
                return replace(answer, waits=answer.kind is StopKind.WAITING and self._others_measure(only))
            if reason := self.stops.reason(answer):
                return Stop(StopKind.RULE, reason, waits=self._may_reassign(only))
            if claimed := self._claimed(answer, seen):
                return claimed

    def give_back(self, numbers: Iterable[int], reason: str = "") -> None:
        """Release what this worker holds of these evaluations, and of those that earlier calls could not give back.

        What is not known to be stored yet, because the storage failed, is left to the next call.
        """
        waiting = self.memory.undelivered
        waiting.update(numbers)
        if mine := sorted(filter(self._is_mine, waiting)):
            self.log.commit(lambda: [Released(n, reason) for n in mine if self._is_mine(n)], self.notify)
            waiting.difference_update(mine)

    def _undelivered(self, only: Collection[str] | None) -> Evaluation | None:
        """The first evaluation that an earlier call claimed and did not return; what does not fit is given back."""
        waiting = self.memory.undelivered
        waiting.difference_update([n for n in waiting if n < len(self.history.asked) and not self._is_mine(n)])
        for number in sorted(filter(self._is_mine, waiting)):
            evaluation = self.history.pending[number]
            if only is None or evaluation.objective in only:
                self._claim(number)
                return evaluation
        self.give_back(())
        return None

    def _claim(self, number: int) -> None:
        """Note that this call is about to claim an evaluation."""
        self.claims.append(number)
        self.memory.undelivered.discard(number)

    def _is_mine(self, number: int) -> bool:
        holder = self.history.assignments.get(number)
        return holder is not None and holder.worker == self.heartbeat.worker

    def give_back_lost(self) -> None:
        """Give back what lost workers held, so that it can be queued or asked again."""
        self.log.refresh(self.notify)
        self._reassigned((), queued_only=True)

    def ask(self, only: Collection[str] | None = None) -> Evaluation | Stop:
        """The next evaluation of these objectives (None: of all), claimed for this worker, or why there is none."""
        self.log.refresh(self.notify)
        self.heartbeat.begin()
        if reason := self.mind.outdated():
            self.give_back(self.memory.undelivered)
            return Stop(StopKind.CHANGED, reason)
        if found := self._undelivered(only) or self._reassigned(only):
            return found
        wanted = None if only is None else frozenset(only)
        while True:
            if reason := self.mind.outdated():
                return Stop(StopKind.CHANGED, reason)
            seen = len(self.history.events)
            if self.memory.stop is not None and self.memory.stop[:2] == (seen, wanted):
                return self.memory.stop[2]
            answer = self.optimizer.ask(self.history, only=only, salt=self.memory.salt)
            if isinstance(answer, Stop):
                stop = replace(answer, waits=self._waits(only))
                self.memory.stop = (seen, wanted, stop)
                return stop
            if reason := self.stops.reason(answer):
                return Stop(StopKind.RULE, reason, waits=self._may_reassign(only))
            if claimed := self._claimed(answer, seen):
                return claimed
            # Another worker chose the same: from now on this one draws other candidates.
            self.memory.salt = zlib.crc32(self.heartbeat.worker.encode()) or 1

    def _waits(self, only: Collection[str] | None) -> bool:
        """Whether there may be something to ask later: other workers measure, or must measure first."""
        if self._others_hold():
            return True
        if only is None or self.history.pending:
            return False
        answer = self.optimizer.ask(self.history)
        return isinstance(answer, Evaluation) and not self.stops.reason(answer)

    def _others_measure(self, only: Collection[str] | None) -> bool:
        """Whether other workers measure something now, or must measure what is queued."""
        return self._others_hold() or (only is not None and not self.history.pending)

    def _others_hold(self) -> bool:
        return any(holder.worker != self.heartbeat.worker for holder in self.history.assignments.values())

    def _may_reassign(self, only: Collection[str] | None) -> bool:
        """Whether other workers hold an evaluation that this one would have to measure if they were lost."""
        others = [n for n, holder in self.history.assignments.items() if holder.worker != self.heartbeat.worker]
        return any(
            self._is_wanted(self.history.pending[number], only)
            and not self.stops.limit_reason(self.history.pending[number])
            for number in others
        )

    def _claimed(self, answer: Evaluation, seen: int) -> Evaluation | None:
        """The evaluation as it was claimed; None if the events since the first `seen` ones made it unwanted."""
        claimed: list[Evaluation] = []
        settings = self.history.settings

        def decide() -> list[Event]:
            claimed.clear()
            history = self.history
            changed = len(history.events) != seen
            if history.settings is not settings:
                return []  # the study was changed: the question is chosen again
            claim = replace(answer, number=len(history.asked), token=new_token())
            if changed and (not is_still_open(history, self.optimizer.costs, claim) or self.stops.limit_reason(claim)):
                return []
            claimed.append(claim)
            self._claim(claim.number)
            asked = Asked(claim, self.heartbeat.worker, self.heartbeat.seconds)
            is_chosen = not answer.initial and answer.queued is None
            return [*self._found_reference(), asked] if is_chosen else [asked]

        self.log.commit(decide, self.notify)
        return claimed[0] if claimed else None

    def _found_reference(self) -> list[Event]:
        """The event that fixes the reference point, or widens the one that was found; none if it stays.

        Under constraints the worst values of interest are not known before a feasible design is.
        """
        history = self.history
        if history.reference is None and not history.has_feasible():
            return []
        losses = tuple(self.optimizer.predictor.reference(history).tolist())
        return [] if losses == history.reference else [ReferenceFixed(history.values_of(losses), found=True)]

    def _reassigned(self, only: Collection[str] | None, *, queued_only: bool = False) -> Evaluation | None:
        """The first evaluation of a lost worker that this one takes over; the others are given back."""
        holders = dict(self.history.assignments)
        gone = self.heartbeat.gone(holder.worker for holder in holders.values())
        for number, holder in sorted(holders.items()):
            if holder.worker not in gone or self.history.assignments.get(number) != holder:
                continue  # the latter: another worker reassigned it in the meantime
            evaluation = self.history.pending[number]
            stopped = bool(self.stops.reason(evaluation)) or (queued_only and evaluation.queued is None)
            event = self._reassign(number, holder, gone[holder.worker], only, stopped=stopped)
            if isinstance(event, Reissued):
                self._forget(gone)
                return replace(evaluation, token=event.token)
        self._forget(gone)
        return None

    def _forget(self, gone: Iterable[str]) -> None:
        """Remove the heartbeats of lost workers that hold nothing any more."""
        for worker in set(gone) - {holder.worker for holder in self.history.assignments.values()}:
            self.heartbeat.forget(worker)

    def _reassign(
        self, number: int, holder: Assignment, lived: float | None, only: Collection[str] | None, *, stopped: bool
    ) -> Event | None:
        """The event for an evaluation whose worker is lost; None if another worker was first."""
        written: list[Event] = []

        def decide() -> list[Event]:
            written.clear()
            if self.history.assignments.get(number) != holder:
                return []
            evaluation = self.history.pending[number]
            loss = self._lost_cost(evaluation, holder, lived)
            if self.history.reissues[number] >= MOST_REISSUES:
                reason = f"{LOST_WORKER[:-1]} in {MOST_REISSUES + 1} attempts; it may be what ends them."
                known = self.reported(evaluation)
                written.append(Failed(number, reason, loss, kind=FailureKind.LOST, reports=known))
            elif not stopped and self._is_wanted(evaluation, only, loss=loss):
                self._claim(number)
                written.append(Reissued(number, self.heartbeat.worker, self.heartbeat.seconds, loss, new_token()))
            else:
                written.append(Released(number, LOST_WORKER, loss))
            return written

        self.log.commit(decide, self.notify)
        return written[0] if written else None

    def _is_wanted(self, evaluation: Evaluation, only: Collection[str] | None, *, loss: float = 0.0) -> bool:
        if only is not None and evaluation.objective not in only:
            return False
        return is_worth_repeating(self.history, self.optimizer.costs, evaluation, loss=loss)

    def _lost_cost(self, evaluation: Evaluation, holder: Assignment, lived: float | None) -> float:
        """What a lost worker is assumed to have spent: the time until its last heartbeat, or the expected cost.

        The steps that it reported are kept, so it is at least what they are expected to cost.
        Zero where functions return their own costs, since seconds mean nothing there, and where no cost is known yet.
        """
        if lived is None or evaluation.objective not in self.history.timed:
            return 0.0
        if not self.history.timed[evaluation.objective]:
            return expected_loss(self.history, evaluation, self.reported(evaluation))
        kept = 0.0 if evaluation.stop is None else expected_loss(self.history, evaluation, self.reported(evaluation))
        return max(kept, lived - holder.seconds)
