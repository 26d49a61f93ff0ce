"""Events in memory: for quick use and for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class MemoryStorage:
    """A list of events that lasts as long as the process."""

    def __init__(self) -> None:
        self._events: list[dict[str, Any]] = []

    def append(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Add events at the end."""
        self._events.extend(dict(event) for event in events)

    def read(self) -> list[dict[str, Any]]:
        """All events, in order."""
        return [dict(event) for event in self._events]
