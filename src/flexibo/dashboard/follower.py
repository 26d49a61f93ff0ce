"""Follows one stored study: reads new events, and never writes."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

from flexibo._internal.text import printable_line
from flexibo.dashboard.growing_copy import GrowingCopy
from flexibo.dashboard.states import Heartbeats, state_of
from flexibo.errors import FlexiBOError
from flexibo.storage import Sign, StorageError
from flexibo.storage.base import Content
from flexibo.storage.sql import SQLStorage
from flexibo.views.axes import COST_UNIT

PATIENCE = 3.0
"""Seconds until reading from a busy or unreachable storage is given up; it is tried again soon."""
STEP = 500
"""The number of events that are replayed before the lock is released."""
NO_ENDS = ("", "")
RETRY_SECONDS = 10.0
"""Seconds until a study that could not be read is tried again."""

logger = logging.getLogger(__name__)


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
        self.generation = 0
        """Grows when another study takes the place of this one."""
        self.version = _version(0, [])
        """Changes whenever the study does, and differs between studies, also those of other dashboards."""
        self._url = url
        self._clock = clock
        self._stored, self._ends = 0, NO_ENDS
        self._was_read = False
        self._retry = 0.0
        self._heartbeats = Heartbeats(clock)

    def is_behind(self, stored: int, ends: tuple[str, str] = NO_ENDS) -> bool:
        """Whether there may be news: other events than before, or workers whose signs of life may have changed."""
        if (stored, ends) != (self._stored, self._ends):
            return True
        if self.problem:
            return self._clock() >= self._retry
        return stored != len(self.contents) or bool(self.workers)

    def look(self, stored: int, report: Callable[[], None], ends: tuple[str, str] = NO_ENDS) -> None:
        """Read the new events; an error is kept as the `problem`, for users."""
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
        """One of `flexibo.dashboard.states.STATES`."""
        if self.is_reading:
            return "reading"
        if self.copy is None:
            return "unreadable"
        return state_of(self.copy.study.history, self._heartbeats.alive(self.workers))

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
        with closing(SQLStorage(self._url, self.name, create=False, patience=PATIENCE)) as storage:
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
    history, time_of_last = copy.study.history, copy.last.get("time")
    return {
        "method": copy.study.method.name,
        "spent": history.spent,
        "budget": history.budget,
        "cost_unit": COST_UNIT,
        "measured": sum(history.told.values()),
        "pending": len(history.pending),
        "failed": sum(history.failed_attempts.values()),
        "last_event": time_of_last if isinstance(time_of_last, int | float) else None,
    }
