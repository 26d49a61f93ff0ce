"""The live feed: what all open pages are told of the studies, made once and sent to each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from starlette.concurrency import run_in_threadpool

from flexibo.dashboard.responses import json_bytes
from flexibo.dashboard.watcher import Watch

PULSE = 5.0
"""Seconds after which a page is told that nothing has changed."""
PAUSE = 0.25
"""Seconds between two messages at least, however much is written."""
MOST_PAGES = 64
"""So many pages follow at a time at most."""
FIRST_LOOK = 5.0
"""Seconds for which the first request waits until the storages have been looked at."""


class LiveFeed:
    """Messages for the pages that are open.

    Args:
        watch: Watches the storages.
        most: So many pages may follow at a time.
    """

    def __init__(self, watch: Watch, *, most: int = MOST_PAGES) -> None:
        self._watch = watch
        self._most = most
        self._followed = 0
        self._closed = False
        self._wake: set[asyncio.Event] = set()
        self._made: tuple[int, dict[str, Any]] = (-1, {})

    def close(self) -> None:
        """End all streams; called in the thread of the event loop."""
        self._closed = True
        for wake in self._wake:
            wake.set()

    def admit(self) -> bool:
        """Take a place among the pages that follow, where one is free; `leave` gives it back."""
        if self._followed >= self._most:
            return False
        self._followed += 1
        return True

    def leave(self) -> None:
        """Give a place back."""
        self._followed -= 1

    async def first_look(self) -> None:
        """Return when the storages have been looked at, or after a while: one of them may be slow."""
        self._watch.attend()
        end = asyncio.get_running_loop().time() + FIRST_LOOK
        while asyncio.get_running_loop().time() < end and not self._closed:
            if all(storage.looked is not None or storage.problem for storage in self._watch.storages):
                return
            await asyncio.sleep(0.02)

    async def stream(self) -> AsyncIterator[bytes]:
        """Server-sent events: all studies at once, then again when something has changed."""
        wake, loop = asyncio.Event(), asyncio.get_running_loop()
        self._wake.add(wake)
        forget = self._watch.listen(lambda: _soon(loop, wake))
        self._watch.attend()
        sent: dict[str, Any] = {}
        try:
            while not self._closed:
                wake.clear()
                summary = await self._summary()
                if _without_ages(summary) != _without_ages(sent):
                    yield _event("studies", summary)
                    sent = summary
                else:
                    yield self._pulse()
                await asyncio.sleep(PAUSE)
                while not self._closed and not await _waited(wake, PULSE):
                    yield self._pulse()
        finally:
            forget()
            self._wake.discard(wake)

    async def _summary(self) -> dict[str, Any]:
        """What the watch says, made once for all streams."""
        reports = self._watch.reports
        if self._made[0] != reports:
            self._made = reports, await run_in_threadpool(self._watch.summary)
        return self._made[1]

    def _pulse(self) -> bytes:
        """Nothing has changed; this is how old it is."""
        return _event("pulse", {"storages": [storage.summary() for storage in self._watch.storages]})


def _event(name: str, content: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), json_bytes(content))


def _without_ages(summary: dict[str, Any]) -> dict[str, Any]:
    storages = [{**storage, "seconds_since_read": None} for storage in summary.get("storages", ())]
    return {**summary, "storages": storages}


def _soon(loop: asyncio.AbstractEventLoop, wake: asyncio.Event) -> None:
    """Wake a stream from another thread; its loop may have ended."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(wake.set)


async def _waited(wake: asyncio.Event, seconds: float) -> bool:
    """Whether there was news within so many seconds."""
    try:
        await asyncio.wait_for(wake.wait(), seconds)
    except asyncio.TimeoutError:
        return False
    return True
