"""Follows one stored study: reads new events, knows whether it is being measured, and never writes."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from flexibo._internal.text import printable_line
from flexibo.belief.costs import mean_costs
from flexibo.belief.price_list import ROUNDING
from flexibo.errors import FlexiBOError
from flexibo.history import History
from flexibo.history.events import Event
from flexibo.optimizer import StopKind
from flexibo.storage import MemoryStorage, Sign, StorageError
from flexibo.storage.base import Content
from flexibo.storage.heartbeat import is_lease_over
from flexibo.storage.processes import ProcessState, process_state
from flexibo.storage.sql import SQLStorage
from flexibo.study import Study
from flexibo.study.event_checks import check_first
from flexibo.study.event_log import EventLog
from flexibo.transfer import Record, StudyCopy
from flexibo.transfer.evaluations import RecordKeeper
from flexibo.transfer.study_copies import copy_of, time_of

PATIENCE = 3.0  # seconds until reading from a busy or unreachable storage is given up; it is tried again soon
STEP = 500  # the number of events that are replayed before the lock is released
NO_ENDS = ("", "")
RETRY_SECONDS = 10.0  # seconds until a study that could not be read is tried again

logger = logging.getLogger(__name__)


class GrowingCopy:
    """A study in memory that follows a stored one. Not thread-safe."""

    def __init__(self, first: Content, name: str) -> None:
        check_first(first, name)
        self._contents: list[Content] = [first]
        self._copy = copy_of(self._contents, name)
        self._log = EventLog(MemoryStorage(), self.study.history, name=name)
        self._keeper = RecordKeeper(self.study.history)
        self._take(self.study.history.events)

    def __len__(self) -> int:
        return len(self._contents)

    @property
    def study(self) -> Study:
        """The study after all events so far."""
        return self._copy.study

    @property
    def last(self) -> Content:
        """The last event."""
        return self._contents[-1]

    @property
    def records(self) -> list[Record]:
        """The state of each evaluation, then the added results."""
        return [*self._keeper.evaluations, *self._keeper.added]

    @property
    def failures(self) -> list[Record]:
        """The evaluations that failed or are impossible."""
        return [record for record in self._keeper.evaluations if record.state in ("failed", "impossible")]

    def changed(self, start: int, most: int) -> tuple[int, dict[int, Record]]:
        """The records that are new or changed after `start` changes, the latest `most` of them, and the changes so far.

        An evaluation has its number as the key, the added result i has -1 - i. This may be called while another thread
        lets the copy learn: what it changes meanwhile is returned, or is after the changes so far.
        """
        keeper = self._keeper
        found: dict[int, Record] = {}
        changes = keeper.changes[start:]
        for i in reversed(changes):
            if len(found) == most:
                break
            found.setdefault(i, keeper.evaluations[i] if i >= 0 else keeper.added[-1 - i])
        return start + len(changes), found

    def count_records(self) -> int:
        """The number of evaluations and added results."""
        return len(self._keeper.evaluations) + len(self._keeper.added)

    def record(self, i: int) -> Record | None:
        """The record of an evaluation, or of an added result as above; None if there is none."""
        known, place = (self._keeper.evaluations, i) if i >= 0 else (self._keeper.added, -1 - i)
        return known[place] if place < len(known) else None

    def pending(self) -> list[Record]:
        """The evaluations that are being measured."""
        return [self._keeper.evaluations[number] for number in sorted(self.study.history.pending)]

    def copy(self, workers: Mapping[str, Sign]) -> StudyCopy:
        """The study as a `StudyCopy` with these signs of life; it grows with this one."""
        return replace(self._copy, workers=workers)

    def learn(self, contents: Sequence[Content]) -> None:
        """Replay the events that follow: all of them, or none and an error if one is damaged."""
        known = len(self.study.history.events)
        self._log.learn(contents)
        self._contents.extend(contents)
        self._take(self.study.history.events[known:])

    def _take(self, events: Sequence[Event]) -> None:
        start = len(self._contents) - len(events)
        for event, content in zip(events, self._contents[start:], strict=True):
            self._keeper.take(event, time_of(content))


class Follower:
    """A copy of one stored study, updated by one thread and read by others under its `lock`."""

    def __init__(self, url: str, name: str, key: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.name = name
        self.id = hashlib.sha256(f"{key}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self.lock = threading.Lock()
        self.problem = ""
        self.copy: GrowingCopy | None = None
        self.workers: Mapping[str, Sign] = {}
        self.contents: list[Content] = []
        self.generation = 0  # grows when another study takes the place of this one
        self.version = _version(0, [])
        """Changes whenever the study does, and differs between studies, also those of other dashboards."""
        self.url = url  # it may have a password: it is never sent
        self._clock = clock
        self._stored, self._ends = 0, NO_ENDS
        self._was_read = False
        self._retry = 0.0
        self._heartbeats = Heartbeats(clock)

    def is_behind(self, stored: int, ends: tuple[str, str] = NO_ENDS) -> bool:
        """Whether there may be news: other events than before, or workers whose signs of life may have changed.

        `stored` is the number of events in the storage now; `ends` identifies the first and the last of them.
        """
        if (stored, ends) != (self._stored, self._ends):
            return True
        if self.problem:
            return self._clock() >= self._retry
        return stored != len(self.contents) or bool(self.workers)

    def look(self, stored: int, report: Callable[[], None], ends: tuple[str, str] = NO_ENDS) -> None:
        """Read the new events and `report` now and then; an error is kept as the `problem`, for users."""
        if self.contents and self._is_replaced(stored, ends):
            self._restart()
        self._stored, self._ends = stored, ends
        try:
            self._learn(self._read(), report)
        except FlexiBOError as error:
            self._fail(str(error))
        except Exception as error:
            logger.debug("Study %r could not be read.", self.name, exc_info=True)
            self._fail(f"The study could not be read ({type(error).__name__}); it will be tried again.")
        else:
            self.problem = ""
            self._was_read = True

    @property
    def is_reading(self) -> bool:
        """Whether it is being read for the first time."""
        return not self._was_read and not self.problem

    def state(self) -> str:
        """Being measured, with idle workers, at the end of its budget, without a worker before that, or not read."""
        if self.is_reading:
            return "reading"
        if self.copy is None:
            return "unreadable"
        return state_of(self.copy.study.history, self._heartbeats.alive(self.workers))

    def workers_alive(self) -> int:
        """The number of workers that gave a sign of life within their lease."""
        return len(self._heartbeats.alive(self.workers))

    def summary(self, storage: str) -> dict[str, Any]:
        """The numbers of the study in the list of studies."""
        with self.lock:
            numbers: dict[str, Any] = {
                "id": self.id,
                "name": self.name,
                "storage": storage,
                "version": self.version,
                "state": self.state(),
                "problem": self.problem or None,
                "read": len(self.contents),
                "events": max(self._stored, len(self.contents)),
            }
            if self.copy is not None:
                numbers |= _numbers(self.copy)
            return numbers

    def _is_replaced(self, stored: int, ends: tuple[str, str]) -> bool:
        """Whether the stored study has another first event, or another last one after the same number of events."""
        return ends[0] != self._ends[0] or (stored == self._stored and ends != self._ends)

    def _read(self) -> list[Content]:
        """The new events; if another study took the place of this one, all of its events."""
        known = len(self.contents)
        with closing(SQLStorage(self.url, self.name, create=False, patience=PATIENCE)) as storage:
            found = storage.read(max(0, known - 1))
            if known and (not found or found[0] != self.contents[-1]):
                self._restart()
                found, known = storage.read(), 0
            workers = storage.workers()
        with self.lock:
            self.workers = workers
            self._heartbeats.note(workers)
        return found[1:] if known else found

    def _learn(self, contents: Sequence[Content], report: Callable[[], None]) -> None:
        if not contents and self.copy is None:
            raise StorageError(f"The storage no longer holds events of study {self.name!r}; it will be read again.")
        start = 0
        if self.copy is None:
            with self.lock:
                self.copy = GrowingCopy(contents[0], self.name)
                self._keep(contents[:1])
            start = 1
        for i in range(start, len(contents), STEP):
            part = contents[i : i + STEP]
            with self.lock:
                self.copy.learn(part)
                self._keep(part)
            if i + STEP < len(contents):
                report()

    def _keep(self, learned: Sequence[Content]) -> None:
        self.contents.extend(learned)
        self.version = _version(self.generation, self.contents)

    def _restart(self) -> None:
        with self.lock:
            self.copy, self.contents, self._was_read = None, [], False
            self.generation += 1
            self.version = _version(self.generation, [])

    def _fail(self, message: str) -> None:
        self.problem = printable_line(message)
        self._retry = self._clock() + RETRY_SECONDS


def _version(generation: int, contents: Sequence[Content]) -> str:
    """Identifies the events of a study by their number and the content of the first and the last one."""
    ends = json.dumps([*contents[:1], *contents[-1:]], sort_keys=True)
    return f"{generation}.{len(contents)}.{hashlib.sha256(ends.encode()).hexdigest()[:12]}"


def _numbers(copy: GrowingCopy) -> dict[str, Any]:
    history = copy.study.history
    early = _stopped_early(history)
    return {
        "method": copy.study.method.name,
        "spent": history.spent,
        "budget": history.budget,
        "cost_unit": history.cost_unit,
        "measured": sum(history.told.values()) - early,
        "stopped_early": early,
        "pending": len(history.pending),
        "failed": sum(history.failed_attempts.values()),
        "last_event": time_of(copy.last),
        "stopped": None if history.stopped is None else printable_line(history.stopped.reason),
    }


def _stopped_early(history: History) -> int:
    """How many answers are at a step before the last one, so that they are no measurements."""
    if not any(objective.stops for objective in history.objectives):
        return 0
    return sum(history.told.values()) - sum(found.number is not None for found in history.measurements)


FINISHED = (
    *(StopKind.BUDGET, StopKind.FINISHED, StopKind.NO_REGION, StopKind.RULE),
    *(StopKind.UNLIKELY, StopKind.INFEASIBLE, StopKind.FREE),
)
"""The kinds of stops after which there is nothing more to ask; after others, somebody may go on."""


def state_of(history: History, alive: Collection[str]) -> str:
    """The state of a study that was read."""
    if any(holder.worker in alive for holder in history.assignments.values()):
        return "running"
    if alive:
        return "waiting"
    if history.pending or history.queue:
        return "silent"
    if is_spent(history) or (history.stopped is not None and history.stopped.kind in FINISHED):
        return "finished"
    return "silent" if history.stopped is None else "stopped"


def is_spent(history: History) -> bool:
    """Whether there is no further question: the budget is below the cheapest evaluation, or their number is reached."""
    most = (history.stop or {}).get("max_evaluations")
    if most is not None and len(history.asked) >= most:
        return True
    if history.budget is None:
        return False
    left = history.budget - history.spent
    prices = mean_costs(history)[[p for p, _ in history.counting]]  # a proxy alone buys nothing
    priced = prices[np.isfinite(prices) & (prices > 0)]
    return left <= ROUNDING * history.budget or (len(priced) > 0 and left < float(priced.min()))


class Heartbeats:
    """When each worker last gave a sign of life, by the clock of this process: clocks are never compared."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[int, float]] = {}

    def note(self, workers: Mapping[str, Sign]) -> None:
        """Record the latest signs of life; workers that left are forgotten."""
        now, before = self._clock(), self._seen
        self._seen = {
            worker: before[worker] if worker in before and before[worker][0] == sign.beat else (sign.beat, now)
            for worker, sign in workers.items()
        }

    def alive(self, workers: Mapping[str, Sign]) -> set[str]:
        """The workers whose process is seen alive, or that gave a sign within their lease and are not seen dead."""
        now = self._clock()
        return {
            worker for worker, sign in workers.items() if worker in self._seen and self._is_alive(worker, sign, now)
        }

    def _is_alive(self, worker: str, sign: Sign, now: float) -> bool:
        state = process_state(sign.about)
        if state is not ProcessState.UNKNOWN:
            return state is ProcessState.ALIVE
        return now - self._seen[worker][1] <= sign.lease and not is_lease_over(sign, now)
