"""One stored study, followed: read little by little, and never written to."""

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
from flexibo.dashboard.states import Beats, state_of
from flexibo.errors import FlexiBOError
from flexibo.storage import Sign, StorageError
from flexibo.storage.base import Content
from flexibo.storage.sql import SQLStorage
from flexibo.views.axes import COST_UNIT

PATIENCE = 3.0
"""Seconds until a storage that is busy or away is given up for now: it is looked at again soon."""
STEP = 500
"""So many events are learned before others get their turn."""
NO_ENDS = ("", "")
DAMAGE_REST = 10.0
"""Seconds until a study that could not be read is tried again."""

logger = logging.getLogger(__name__)


class Follower:
    """A copy of one stored study, kept up to date by one thread and looked at by others under its `lock`.

    Args:
        url: The storage.
        name: The study's name in it.
        key: Tells the storage from others, without its secrets.
        clock: Gives seconds and never goes back.
    """

    def __init__(self, url: str, name: str, key: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.name = name
        self.id = hashlib.sha256(f"{key}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self.lock = threading.Lock()
        self.problem = ""
        self.copy: GrowingCopy | None = None
        self.workers: Mapping[str, Sign] = {}
        self.contents: list[Content] = []
        self.generation = 0
        """Grows when the study begins anew, because another one took its place."""
        self.version = _version(0, [])
        """Changes whenever the study has, and is another one for another study, also in another dashboard."""
        self._url = url
        self._clock = clock
        self._stored, self._ends = 0, NO_ENDS
        self._was_read = False
        self._retry = 0.0
        self._beats = Beats(clock)

    def is_behind(self, stored: int, ends: tuple[str, str] = NO_ENDS) -> bool:
        """Whether a look is worth while: there are other events than before, or workers whose signs may have changed.

        Args:
            stored: How many events its storage holds now.
            ends: What tells the first and the last of them from others.
        """
        if (stored, ends) != (self._stored, self._ends):
            return True
        if self.problem:
            return self._clock() >= self._retry
        return stored != len(self.contents) or bool(self.workers)

    def look(self, stored: int, report: Callable[[], None], ends: tuple[str, str] = NO_ENDS) -> None:
        """Learn what was written since the last look; an error is kept as the `problem`, for people.

        Args:
            stored: How many events its storage holds.
            report: Called now and then while there is much to learn.
            ends: What tells the first and the last of them from others.
        """
        if self.contents and self._is_another(stored, ends):
            self._begin_anew()
        self._stored, self._ends = stored, ends
        try:
            self._learn(self._read(), report)
        except FlexiBOError as error:
            self._fail(str(error))
        except Exception as error:
            logger.debug("Study %r could not be read.", self.name, exc_info=True)
            self._fail(f"The study could not be read ({type(error).__name__}); it is tried again.")
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
        return state_of(self.copy.study.history, self._beats.alive(self.workers))

    def summary(self, storage: str) -> dict[str, Any]:
        """What the list of studies says of it."""
        with self.lock:
            said: dict[str, Any] = {
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
                said |= _numbers(self.copy)
            return said

    def _is_another(self, stored: int, ends: tuple[str, str]) -> bool:
        """Whether what is stored has another beginning, or another end after as many events."""
        return ends[0] != self._ends[0] or (stored == self._stored and ends != self._ends)

    def _read(self) -> list[Content]:
        """The events that were not learned yet; where another study took the place of this one, it begins anew."""
        known = len(self.contents)
        with closing(SQLStorage(self._url, self.name, create=False, patience=PATIENCE)) as storage:
            found = storage.read(max(0, known - 1))
            if known and (not found or found[0] != self.contents[-1]):
                self._begin_anew()
                found, known = storage.read(), 0
            workers = storage.workers()
        with self.lock:
            self.workers = workers
            self._beats.note(workers)
        return found[1:] if known else found

    def _learn(self, contents: Sequence[Content], report: Callable[[], None]) -> None:
        if not contents and self.copy is None:
            raise StorageError(f"The storage holds no events of study {self.name!r} any more; it is looked at again.")
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

    def _begin_anew(self) -> None:
        with self.lock:
            self.copy, self.contents, self._was_read = None, [], False
            self.generation += 1
            self.version = _version(self.generation, [])

    def _fail(self, sentence: str) -> None:
        self.problem = printable_line(sentence)
        self._retry = self._clock() + DAMAGE_REST


def _version(generation: int, contents: Sequence[Content]) -> str:
    """Tells the events of one study from others: by how many there are, and by what the first and the last one say."""
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
