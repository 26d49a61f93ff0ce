"""Events in memory."""

from __future__ import annotations

import threading

from flexibo.storage.base import Content, Decide, Sign


class MemoryStorage:
    """Events that last as long as the process. Its threads may share it."""

    def __init__(self) -> None:
        self._events: list[Content] = []
        self._workers: dict[str, Sign] = {}
        self._lock = threading.RLock()

    def read(self, after: int = 0) -> list[Content]:
        """The events in order, without the first `after`."""
        with self._lock:
            return [dict(event) for event in self._events[after:]]

    def commit(self, after: int, decide: Decide) -> None:
        """Append what `decide` returns for the events after the first `after`."""
        with self._lock:
            self._events += [dict(event) for event in decide(self.read(after))]

    def sign(self, worker: str, sign: Sign | None) -> None:
        """Store a worker's latest heartbeat; None when it signs off."""
        with self._lock:
            self._workers.pop(worker, None)
            if sign is not None:
                self._workers[worker] = sign

    def workers(self) -> dict[str, Sign]:
        """The latest heartbeat of each worker that has not signed off."""
        with self._lock:
            return dict(self._workers)
