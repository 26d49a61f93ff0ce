"""The state of each evaluation of a study, for reports and as a CSV table with a row per evaluation."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from flexibo.history import History
from flexibo.history.events import (
    LOST_WORKER,
    Added,
    Asked,
    Event,
    Failed,
    FailureKind,
    Reissued,
    Released,
    Spent,
    Told,
)
from flexibo.history.reports import Reports
from flexibo.space import Design

STATES = ("pending", "measured", "failed", "impossible", "released")  # the states of an evaluation
REACHED = "reached"  # the state of one that was answered at a step before the last: nothing is measured yet
BEFORE = ("number", "objective")
AFTER = (
    "cost",
    "lost_cost",
    "lost_attempts",
    "state",
    "reason",
    "attempt",
    "worker",
    "asked",
    "answered",
    "gain",
    "expected_cost",
    "why",
)
OF_STEPS = ("start", "stop", "reports")  # the next columns, where an objective has steps
COST_OF = "cost of "  # the prefix of the cost column of an objective, where rows have several objectives
BARS_OF = ("deviation of ", "repeats of ")  # those of the last columns, where values of an objective have error bars
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, slots=True)
class LostAttempt:
    """An attempt whose worker vanished."""

    number: int  # the index of the question
    worker: str
    time: float | None  # when it was noticed, in seconds since 1970
    cost: float | None  # what it is assumed to have cost; None if that is not known


@dataclass(frozen=True, slots=True)
class Record:
    """One evaluation, or one added result."""

    number: int | None  # the index of the question; None for an added result
    objective: str  # what was asked for
    design: Design  # the option values
    state: str = "pending"  # one of `STATES`, `REACHED`, or "added" for an added result
    values: Mapping[str, float] = field(default_factory=dict)  # the values that are known
    noise: Mapping[str, tuple[float, int]] = field(default_factory=dict)  # their error bars, as those of `Told`
    cost: float | None = None  # what the answer cost; None while there is none
    lost_cost: float = 0.0  # the known or assumed cost of attempts whose answer did not count
    lost_attempts: int = 0  # how many workers vanished while they measured it
    reason: str = ""  # why it failed or was given back
    attempt: int | None = None  # the number of the attempt, from 1
    worker: str = ""  # the worker that measures it, or did last
    asked: float | None = None  # when that worker got it, in seconds since 1970; None if unknown
    answered: float | None = None  # when it was answered or given back
    gain: float | None = None  # the expected gain when it was asked
    expected_cost: float | None = None  # the expected cost when it was asked
    why: str = ""  # why it was asked, one line
    start: int = 0  # the step from which it goes, of an objective with steps
    stop: int | None = None  # the step at which it stops; None without steps
    reports: Reports = ()  # the values that it told at steps before the last one of its objective

    @property
    def is_told(self) -> bool:
        """Whether it gave what was asked for, so that its cost was not lost."""
        return self.state in ("measured", REACHED)


def lost_attempts(history: History, times: Sequence[float | None]) -> list[LostAttempt]:
    """The attempts whose workers vanished, in order."""
    keeper = RecordKeeper(history)
    for event, time in zip(history.events, times, strict=True):
        keeper.take(event, time)
    return keeper.lost


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
        self._attempts: dict[int, str] = {}  # the token, or worker, of the last attempt at each evaluation
        self.evaluations: list[Record] = []
        self.added: list[Record] = []
        self.lost: list[LostAttempt] = []
        self.changes: list[int] = []  # which evaluation was new or changed, in order; -1 - i is the added result i

    def take(self, event: Event, time: float | None) -> None:
        """Process the next event, written at this time."""
        match event:
            case Asked():
                self._ask(event, time)
            case Reissued():
                self._abandon(event.number, event.cost, time)
                self._lose(event.number, event.cost)
                self._attempts[event.number] = event.token or event.worker
                self._change(event.number, state="pending", worker=event.worker, asked=time, answered=None)
            case Released():
                if event.reason == LOST_WORKER:
                    self._abandon(event.number, event.cost, time)
                self._lose(event.number, event.cost)
                self._change(event.number, state="released", reason=event.reason, answered=time)
            case Told():
                self._answer(event, "measured", "", event.values, time)
            case Failed():
                if event.kind is FailureKind.LOST:
                    self._abandon(event.number, event.cost, time)
                self._answer(event, "impossible" if event.impossible else "failed", event.reason, {}, time)
            case Spent():
                self._pay(event.number, event.token or event.worker)
                self._change(event.number, lost_cost=self.evaluations[event.number].lost_cost + event.cost)
            case Added():
                self._add(event, time)
            case _:
                pass

    def _ask(self, event: Asked, time: float | None) -> None:
        question = event.evaluation
        self._attempts[question.number] = question.token or event.worker
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
                start=question.start,
                stop=question.stop,
            )
        )
        self.changes.append(question.number)

    def _change(self, number: int, **changed: object) -> None:
        self.evaluations[number] = replace(self.evaluations[number], **changed)  # type: ignore[arg-type]
        self.changes.append(number)

    def _answer(
        self, event: Told | Failed, state: str, reason: str, values: Mapping[str, float], time: float | None
    ) -> None:
        if self.evaluations[event.number].cost is not None:
            return  # only the first answer counts
        self._pay(event.number, event.token or event.worker)
        question, reports = self._history.asked[event.number], event.reports
        if isinstance(event, Told) and question.stop is not None and self._history.is_partial(question):
            state, values, reports = REACHED, {}, (*reports, (question.stop, event.values[question.objective]))
        self._change(
            event.number,
            reports=reports,
            state=state,
            reason=reason,
            values=values,
            noise=event.noise if isinstance(event, Told) else {},
            cost=event.cost,
            worker=event.worker or self.evaluations[event.number].worker,
            answered=time,
        )

    def _lose(self, number: int, cost: float) -> None:
        """An attempt is given up; its worker may still report the actual cost."""
        record = self.evaluations[number]
        if record.state == "pending" and cost > 0:
            self._lost[number, self._attempts[number]] = cost
            self._change(number, lost_cost=record.lost_cost + cost)

    def _abandon(self, number: int, cost: float, time: float | None) -> None:
        """The worker of an attempt vanished; a cost of 0 means that none is known."""
        record = self.evaluations[number]
        self.lost.append(LostAttempt(number, record.worker, time, cost or None))
        self._change(number, lost_attempts=record.lost_attempts + 1)

    def _pay(self, number: int, attempt: str) -> None:
        """Replace the assumed cost of an attempt by the reported one."""
        assumed = self._lost.pop((number, attempt), 0.0)
        if assumed:
            self._change(number, lost_cost=self.evaluations[number].lost_cost - assumed)

    def _add(self, event: Added, time: float | None) -> None:
        names = self._history.names
        for purchase in self._history.purchases:
            values = {names[j]: event.values[names[j]] for j in purchase.members if names[j] in event.values}
            cost, reason = event.costs.get(purchase.objective), event.failed.get(purchase.objective)
            noise = {name: event.noise[name] for name in values if name in event.noise}
            record = Record(None, purchase.objective, event.design, "added", values, noise, cost, answered=time)
            if reason is not None:
                record = replace(record, state="impossible", reason=reason)
            elif not values:
                continue
            self.added.append(record)
            self.changes.append(-len(self.added))


def table_lines(history: History, found: Sequence[Record]) -> Iterator[str]:
    """The table as CSV, line by line: a heading, then a row per record.

    Options and objectives have a column each, and error bars where there are any; times are UTC. No text is a formula
    for a spreadsheet.
    """
    options, values = headings(history)
    bars = _bar_columns(history, found)
    columns = [*BEFORE, *options, *values, *columns_after(history), *(f"{BARS_OF[part]}{name}" for name, part in bars)]
    yield _line(list(map(without_formula, columns)))
    for record in found:
        yield _line(
            [
                record.number,
                without_formula(record.objective),
                *(without_formula(record.design[name]) for name in history.space.names),
                *(record.values.get(name) for name in history.names),
                record.cost,
                # Of workers that vanished within a heartbeat, the cost is unknown.
                None if record.lost_attempts and not record.lost_cost else record.lost_cost,
                record.lost_attempts,
                record.state,
                without_formula(record.reason),
                record.attempt,
                without_formula(record.worker),
                iso_time(record.asked),
                iso_time(record.answered),
                record.gain,
                record.expected_cost,
                without_formula(record.why),
                *(_of_steps(record) if has_steps(history) else ()),
                *(record.noise[name][part] if name in record.noise else None for name, part in bars),
            ]
        )


def _bar_columns(history: History, found: Iterable[Record]) -> list[tuple[str, int]]:
    """The objectives that have error bars, each with 0, and with 1 too if one of its values sums up repeats."""
    bars = [(name, repeats) for record in found for name, (_, repeats) in record.noise.items()]
    barred, repeated = {name for name, _ in bars}, {name for name, repeats in bars if repeats > 1}
    return [(name, part) for name in history.names for part, names in enumerate((barred, repeated)) if name in names]


def columns_after(history: History) -> tuple[str, ...]:
    """The columns after those of the objectives."""
    return (*AFTER, *OF_STEPS) if has_steps(history) else AFTER


def has_steps(history: History) -> bool:
    """Whether an objective has steps."""
    return any(objective.stops for objective in history.objectives)


def _of_steps(record: Record) -> list[object]:
    """The cells of a record in the columns about steps; the reports as ``flexibo tell --reports`` takes them."""
    if record.stop is None:
        return [None, None, None]
    return [record.start, record.stop, ",".join(f"{step}={value!r}" for step, value in record.reports)]


def headings(history: History) -> tuple[list[str], list[str]]:
    """The columns of the options and of the objectives; a name that is taken gets a prefix."""
    options, objectives = history.space.names, history.names
    taken = {
        *BEFORE,
        *columns_after(history),
        *(f"{prefix}{name}" for prefix in (COST_OF, *BARS_OF) for name in objectives),
        *(set(options) & set(objectives)),
    }
    free = (set(options) | set(objectives)) - taken
    found = []
    for what, names in (("option", options), ("value", objectives)):
        columns = []
        for name in names:
            column = name
            if name in taken:
                column = f"{what} {name}"
                while column in taken or column in free:
                    column = f"{what} {column}"
                taken.add(column)
            columns.append(column)
        found.append(columns)
    return found[0], found[1]


def without_formula(value: Any) -> Any:
    """A text that a spreadsheet does not read as a formula; other values unchanged.

    >>> without_formula("=1+1"), without_formula("'=1+1"), without_formula("a"), without_formula(-1.5)
    ("'=1+1", "''=1+1", 'a', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.lstrip("'").startswith(_FORMULA) else value


def iso_time(seconds: float | None) -> str:
    """A time in seconds since 1970 as text, in UTC; empty for None.

    >>> iso_time(0)
    '1970-01-01T00:00:00+00:00'
    """
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):  # a clock that was never set
        return ""


def _line(cells: Sequence[Any]) -> str:
    """Cells as a line; half of a surrogate pair, as in a message with a file name that is no text, is written out."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode("utf-8", "backslashreplace").decode("utf-8")
