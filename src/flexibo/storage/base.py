"""The contract of a storage: an append-only log of events, in two methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Storage(Protocol):
    """Keeps the events of one study, as dictionaries ready for JSON."""

    def append(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Add events at the end, all or none; they are safe when this returns."""
        ...

    def read(self) -> list[dict[str, Any]]:
        """All events, in order."""
        ...
