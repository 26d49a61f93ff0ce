"""Watching storages: one thread per storage looks about once a second, and only while somebody watches."""

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

PERIOD = 1.0
"""Seconds between two looks; more where a look takes long."""
EASE, LONGEST_REST = 4.0, 5.0
"""A look is followed by a rest that is so many times as long, but of no more than so many seconds."""
ATTENTION = 15.0
"""Seconds for which a request counts as watching."""

logger = logging.getLogger(__name__)


class StorageWatch:
    """The studies of one storage.

    Args:
        url: The storage.
        key: Tells it from others, without its secrets.
        report: Called after each look, and now and then during a long one.
        clock: Gives seconds and never goes back.
    """

    def __init__(
        self, url: str, key: str, report: Callable[[], None], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.shown = shown_url(url)
        self.problem = ""
        self.followers: dict[str, Follower] = {}
        self.looked: float | None = None
        """When the storage was last read without trouble."""
        self._url, self._key = url, key
        self._report = report
        self._clock = clock

    def look(self) -> None:
        """Find the studies and learn what was written to them; trouble is kept as the `problem`, for people."""
        try:
            found = stored_studies(self._url, patience=PATIENCE)
        except FlexiBOError as error:
            self.problem = printable_line(error)
        except Exception as error:
            logger.debug("%s could not be read.", self.shown, exc_info=True)
            self.problem = (
                f"{printable_line(self.shown)} could not be read ({type(error).__name__}); it is tried again."
            )
        else:
            self.problem = ""
            self.looked = self._clock()
            self._follow({study.name: study for study in found})
            self.looked = self._clock()
        self._report()

    def summary(self) -> dict[str, Any]:
        """What is said of the storage itself."""
        age = None if self.looked is None else self._clock() - self.looked
        return {"storage": self.shown, "problem": self.problem or None, "seconds_since_read": age}

    def _follow(self, stored: dict[str, StoredStudy]) -> None:
        followers = {
            name: self.followers.get(name) or Follower(self._url, name, self._key, clock=self._clock) for name in stored
        }
        self.followers = followers
        self._report()
        for name, follower in sorted(followers.items(), key=lambda item: stored[item[0]].events):  # quick ones first
            study = stored[name]
            if follower.is_behind(study.events, study.ends):
                follower.look(study.events, self._report, study.ends)
                self._report()


class Watch:
    """All storages of a dashboard.

    Args:
        urls: The storages.
        period: Seconds between two looks at a storage.
        clock: Gives seconds and never goes back.
    """

    def __init__(
        self, urls: Sequence[str], *, period: float = PERIOD, clock: Callable[[], float] = time.monotonic
    ) -> None:
        shown = [shown_url(url) for url in urls]
        keys = [f"{name}#{shown[:i].count(name)}" for i, name in enumerate(shown)]
        self.storages = tuple(
            StorageWatch(url, key, self._changed, clock=clock) for url, key in zip(urls, keys, strict=True)
        )
        self.reports = 0
        """Grows when something may have changed."""
        self._period = period
        self._clock = clock
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._attended = -ATTENTION
        self._listeners: set[Callable[[], None]] = set()
        self._closed = threading.Event()

    def followers(self) -> dict[str, tuple[Follower, StorageWatch]]:
        """The studies that were found, by id, each with its storage."""
        return {follower.id: (follower, storage) for storage in self.storages for follower in _each(storage)}

    def summary(self) -> dict[str, Any]:
        """All studies and storages in a few words each."""
        return {
            "studies": [f.summary(storage.shown) for storage in self.storages for f in _each(storage)],
            "storages": [storage.summary() for storage in self.storages],
        }

    def look(self) -> None:
        """Look at every storage once, now."""
        for storage in self.storages:
            storage.look()

    def attend(self) -> None:
        """Somebody watches: look regularly for the next while."""
        self._attended = self._clock()
        with self._lock:
            for i in set(range(len(self.storages))) - self._running:
                self._running.add(i)
                threading.Thread(target=self._keep_looking, args=(i,), name="flexibo-watch", daemon=True).start()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have a function called, from any thread, when something may have changed; returns what ends that."""
        with self._lock:
            self._listeners.add(listener)
        return lambda: self._forget(listener)

    def close(self) -> None:
        """Look no more."""
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
        """Look at one storage until nobody watches any more."""
        while True:
            begun = self._clock()
            try:
                self.storages[i].look()
            except Exception:  # the thread must not die: the page would show what is old for ever
                logger.exception("A look at %s failed; it is tried again.", self.storages[i].shown)
            took = self._clock() - begun
            if self._closed.wait(max(self._period, min(EASE * took, LONGEST_REST))) or not self._goes_on(i):
                return

    def _goes_on(self, i: int) -> bool:
        with self._lock:
            watched = bool(self._listeners) or self._clock() - self._attended < ATTENTION
            if not watched:
                self._running.discard(i)
            return watched


def _each(storage: StorageWatch) -> list[Follower]:
    return list(storage.followers.values())
