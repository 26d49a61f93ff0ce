"""The state of each evaluation of a study, for tables and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from flexibo.history import History
from flexibo.history.events import Added, Asked, Event, Failed, Reissued, Released, Spent, Told
from flexibo.space import Design

STATES = ("pending", "measured", "failed", "impossible", "released")
"""The states of an evaluation."""


@dataclass(frozen=True, slots=True)
class Record:
    """One evaluation, or one added result."""

    number: int | None  # the index of the question; None for an added result
    objective: str  # what was asked for
    design: Design  # the option values
    state: str = "pending"  # one of `STATES`, or "added" for an added result
    values: Mapping[str, float] = field(default_factory=dict)  # the values that are known
    cost: float | None = None  # what the answer cost; None while there is none
    lost_cost: float = 0.0  # the known or assumed cost of attempts whose answer did not count
    reason: str = ""  # why it failed or was given back
    attempt: int | None = None  # the number of the attempt, from 1
    worker: str = ""  # the worker that measures it, or did last
    asked: float | None = None  # when that worker got it, in seconds since 1970; None if unknown
    answered: float | None = None  # when it was answered or given back
    gain: float | None = None  # the expected gain when it was asked
    expected_cost: float | None = None  # the expected cost when it was asked
    why: str = ""  # why it was asked, one line


def records(history: History, times: Sequence[float | None]) -> list[Record]:
    """The evaluations in the order in which they were asked, then the added results."""
    keeper = RecordKeeper(history)
    for event, time in zip(history.events, times, strict=True):
        keeper.take(event, time)
    return [*keeper.evaluations, *keeper.added]


class RecordKeeper:
    """Updates the records event by event, so that a growing study need not be read again."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._lost: dict[tuple[int, str], float] = {}
        self.evaluations: list[Record] = []
        self.added: list[Record] = []

    def take(self, event: Event, time: float | None) -> None:
        """Process the next event, written at this time."""
        match event:
            case Asked():
                self._ask(event, time)
            case Reissued():
                self._lose(event.number, event.cost)
                self._change(event.number, state="pending", worker=event.worker, asked=time, answered=None)
            case Released():
                self._lose(event.number, event.cost)
                self._change(event.number, state="released", reason=event.reason, answered=time)
            case Told():
                self._answer(event, "measured", "", event.values, time)
            case Failed():
                self._answer(event, "impossible" if event.impossible else "failed", event.reason, {}, time)
            case Spent():
                self._pay(event.number, event.worker)
                self._change(event.number, lost_cost=self.evaluations[event.number].lost_cost + event.cost)
            case Added():
                self._add(event, time)
            case _:
                pass

    def _ask(self, event: Asked, time: float | None) -> None:
        question = event.evaluation
        self.evaluations.append(
            Record(
                question.number,
                question.objective,
                question.design,
                attempt=question.attempt,
                worker=event.worker,
                asked=time,
                gain=question.gain,
                expected_cost=question.cost,
                why=question.why,
            )
        )

    def _change(self, number: int, **changed: object) -> None:
        self.evaluations[number] = replace(self.evaluations[number], **changed)  # type: ignore[arg-type]

    def _answer(
        self, event: Told | Failed, state: str, reason: str, values: Mapping[str, float], time: float | None
    ) -> None:
        if self.evaluations[event.number].cost is not None:
            return  # only the first answer counts
        self._pay(event.number, event.worker)
        self._change(
            event.number,
            state=state,
            reason=reason,
            values=values,
            cost=event.cost,
            worker=event.worker or self.evaluations[event.number].worker,
            answered=time,
        )

    def _lose(self, number: int, cost: float) -> None:
        """An attempt is given up; its worker may still report the actual cost."""
        record = self.evaluations[number]
        if record.state == "pending" and cost > 0:
            self._lost[number, record.worker] = cost
            self._change(number, lost_cost=record.lost_cost + cost)

    def _pay(self, number: int, worker: str) -> None:
        """Replace the assumed cost of an attempt by the reported one."""
        assumed = self._lost.pop((number, worker), 0.0)
        if assumed:
            self._change(number, lost_cost=self.evaluations[number].lost_cost - assumed)

    def _add(self, event: Added, time: float | None) -> None:
        names = self._history.names
        for purchase in self._history.purchases:
            values = {names[j]: event.values[names[j]] for j in purchase.members if names[j] in event.values}
            if values:
                cost = event.costs.get(purchase.objective)
                self.added.append(Record(None, purchase.objective, event.design, "added", values, cost, answered=time))
