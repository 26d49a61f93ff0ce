"""Watches storages: one thread per storage reads it about once a second, while a page is open."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from flexibo._internal.text import printable_line
from flexibo.dashboard.follower import PATIENCE, Follower
from flexibo.errors import FlexiBOError
from flexibo.storage import shown_url, stored_studies
from flexibo.storage.sql import StoredStudy

PERIOD = 1.0  # seconds between two reads; more if reading takes long
PAUSE_FACTOR, LONGEST_PAUSE = 4.0, 5.0  # the pause after a read, as a multiple of its time, and its maximum in seconds
ATTENTION = 15.0  # seconds after a request during which the storages are still watched

logger = logging.getLogger(__name__)


class StorageWatcher:
    """The studies of one storage."""

    def __init__(
        self, url: str, key: str, report: Callable[[], None], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.shown = shown_url(url)
        self.problem = ""
        self.followers: dict[str, Follower] = {}
        self.looked: float | None = None  # when the storage was last read without an error
        self._attempted: float | None = None  # when the last attempt to read the storage ended
        self._url, self._key = url, key
        self._report = report
        self._clock = clock

    def look(self) -> None:
        """Find the studies and read their new events; an error is kept as the `problem`, for users."""
        try:
            found = stored_studies(self._url, patience=PATIENCE)
        except FlexiBOError as error:
            self.problem = printable_line(error)
        except Exception as error:
            logger.debug("%s could not be read.", self.shown, exc_info=True)
            self.problem = (
                f"{printable_line(self.shown)} could not be read ({type(error).__name__}); it will be tried again."
            )
        else:
            self.problem = ""
            self.looked = self._clock()
            self._follow({study.name: study for study in found})
            self.looked = self._clock()
        self._attempted = self._clock()
        self._report()

    def seconds_since_attempt(self) -> float | None:
        """How long ago the last attempt to read the storage ended; None before the first one."""
        return None if self._attempted is None else self._clock() - self._attempted

    def seconds_since_read(self) -> float | None:
        """How long ago the storage was last read without an error; None before the first time."""
        return None if self.looked is None else self._clock() - self.looked

    def summary(self) -> dict[str, Any]:
        """The state of the storage itself."""
        age = self.seconds_since_read()
        return {"storage": self.shown, "problem": self.problem or None, "seconds_since_read": age}

    def _follow(self, stored: dict[str, StoredStudy]) -> None:
        followers = {
            name: self.followers.get(name) or Follower(self._url, name, self._key, clock=self._clock) for name in stored
        }
        self.followers = followers
        self._report()
        for name, follower in sorted(followers.items(), key=lambda item: stored[item[0]].events):  # short ones first
            study = stored[name]
            if follower.is_behind(study.events, study.ends):
                follower.look(study.events, self._report, study.ends)
                self._report()


class Watcher:
    """All storages of a dashboard."""

    def __init__(
        self, urls: Sequence[str], *, period: float = PERIOD, clock: Callable[[], float] = time.monotonic
    ) -> None:
        shown = [shown_url(url) for url in urls]
        keys = [f"{name}#{shown[:i].count(name)}" for i, name in enumerate(shown)]
        self.storages = tuple(
            StorageWatcher(url, key, self._changed, clock=clock) for url, key in zip(urls, keys, strict=True)
        )
        self.reports = 0  # grows when something may have changed
        self._period = period
        self._clock = clock
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._attended = -ATTENTION
        self._listeners: set[Callable[[], None]] = set()
        self._closed = threading.Event()

    def followers(self) -> dict[str, tuple[Follower, StorageWatcher]]:
        """The studies by id, each with its storage."""
        return {
            follower.id: (follower, storage)
            for storage in self.storages
            for follower in list(storage.followers.values())
        }

    def summary(self) -> dict[str, Any]:
        """The numbers of all studies and storages."""
        return {
            "studies": [f.summary(storage.shown) for f, storage in self.followers().values()],
            "storages": [storage.summary() for storage in self.storages],
        }

    def look(self) -> None:
        """Read every storage once, now."""
        for storage in self.storages:
            storage.look()

    def attend(self) -> None:
        """A page was loaded: read the storages regularly for a while."""
        self._attended = self._clock()
        with self._lock:
            for i in set(range(len(self.storages))) - self._running:
                self._running.add(i)
                threading.Thread(target=self._keep_looking, args=(i,), name="flexibo-watch", daemon=True).start()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a function, from any thread, when something may have changed; returns a function that ends that."""
        with self._lock:
            self._listeners.add(listener)
        return lambda: self._forget(listener)

    def close(self) -> None:
        """Stop watching."""
        self._closed.set()

    def _forget(self, listener: Callable[[], None]) -> None:
        with self._lock:
            self._listeners.discard(listener)

    def _changed(self) -> None:
        with self._lock:
            self.reports += 1
            listeners = list(self._listeners)
        for listener in listeners:
            listener()

    def _keep_looking(self, i: int) -> None:
        """Read one storage until no page is open any more."""
        while True:
            begun = self._clock()
            try:
                self.storages[i].look()
            except Exception:  # the thread must not end: the page would show old data for ever
                logger.exception("Reading %s failed; it will be tried again.", self.storages[i].shown)
            took = self._clock() - begun
            if self._closed.wait(max(self._period, min(PAUSE_FACTOR * took, LONGEST_PAUSE))) or not self._is_watched(i):
                return

    def _is_watched(self, i: int) -> bool:
        with self._lock:
            watched = bool(self._listeners) or self._clock() - self._attended < ATTENTION
            if not watched:
                self._running.discard(i)
            return watched
