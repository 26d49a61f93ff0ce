"""The live feed: the summary of all studies, made once and sent to every open page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from starlette.concurrency import run_in_threadpool

from flexibo.dashboard.responses import json_bytes
from flexibo.dashboard.watcher import Watcher

PULSE = 5.0  # seconds between two messages if nothing has changed
PAUSE = 0.25  # the minimum number of seconds between two messages
MOST_PAGES = 64  # the maximum number of pages that follow at a time
FIRST_LOOK = 5.0  # the maximum number of seconds that the first request waits until the storages have been read


class LiveFeed:
    """Messages for the pages that are open."""

    def __init__(self, watcher: Watcher, *, most: int = MOST_PAGES) -> None:
        self._watcher = watcher
        self._most = most
        self._followed = 0
        self._closed = False
        self._wake: set[asyncio.Event] = set()
        self._made: tuple[int, dict[str, Any]] = (-1, {})

    def close(self) -> None:
        """End all streams; call it in the thread of the event loop."""
        self._closed = True
        for wake in self._wake:
            wake.set()

    def admit(self) -> bool:
        """Take a place for one more page if there is one; `leave` frees it."""
        if self._followed >= self._most:
            return False
        self._followed += 1
        return True

    def leave(self) -> None:
        """Free a place."""
        self._followed -= 1

    async def first_look(self) -> None:
        """Wait until the storages have been read, but not long: one of them may be slow."""
        await self.look_until(lambda: all(s.looked is not None or s.problem for s in self._watcher.storages))

    async def look_until(self, is_enough: Callable[[], bool]) -> None:
        """Have the storages read, and wait a while until that is enough."""
        self._watcher.attend()
        end = asyncio.get_running_loop().time() + FIRST_LOOK
        while asyncio.get_running_loop().time() < end and not self._closed and not is_enough():
            await asyncio.sleep(0.02)

    async def stream(self) -> AsyncIterator[bytes]:
        """Server-sent events: all studies at first, then again when something has changed."""
        wake, loop = asyncio.Event(), asyncio.get_running_loop()
        self._wake.add(wake)
        forget = self._watcher.listen(lambda: _soon(loop, wake))
        self._watcher.attend()
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
        """The summary of all studies, made once for all streams."""
        reports = self._watcher.reports
        if self._made[0] != reports:
            self._made = reports, await run_in_threadpool(self._watcher.summary)
        return self._made[1]

    def _pulse(self) -> bytes:
        """A message that nothing has changed, with the age of the data."""
        return _event("pulse", {"storages": [storage.summary() for storage in self._watcher.storages]})


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
    try:
        await asyncio.wait_for(wake.wait(), seconds)
    except asyncio.TimeoutError:
        return False
    return True
