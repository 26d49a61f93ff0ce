"""Why a study has stopped: as the last call here found out, or as it is stored."""

from __future__ import annotations

from flexibo.history import History
from flexibo.history.events import Event, Noted, Stopped
from flexibo.optimizer.stop import Stop, StopKind


class LastStop:
    """The stop of the last call that asked, for as long as nothing has happened since."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._stop: Stop | None = None
        self._after = 0  # how many events there were

    def remember(self, stop: Stop | None) -> None:
        """Remember the stop of a call that ended now; None if there was something to ask."""
        self._stop, self._after = stop, len(self._history.events)

    def known(self) -> Stop | None:
        """The remembered stop or else the stored one; None if something happened since."""
        since = self._history.events[self._after :]
        if self._stop is not None and all(isinstance(event, Noted | Stopped) for event in since):
            return self._stop
        stored = self._history.stopped
        return None if stored is None else Stop(StopKind(stored.kind), stored.reason)


def stopped_events(history: History, stop: Stop) -> list[Event]:
    """The event that stores why a study stopped; nothing if the same kind of stop is stored already."""
    last = history.stopped
    return [Stopped(stop.kind.value, stop.reason)] if last is None or last.kind != stop.kind.value else []
