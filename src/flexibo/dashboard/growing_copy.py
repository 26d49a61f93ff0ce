"""A copy of a stored study that grows: new events are replayed without reading the whole study again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from flexibo.history.events import Event
from flexibo.storage import MemoryStorage, Sign
from flexibo.storage.base import Content
from flexibo.study import Study
from flexibo.study.event_checks import check_first
from flexibo.study.event_log import EventLog
from flexibo.transfer import Record, StudyCopy
from flexibo.transfer.evaluations import RecordKeeper
from flexibo.transfer.study_copies import copy_of, time_of


class GrowingCopy:
    """A study in memory that follows a stored one. Not thread-safe."""

    def __init__(self, first: Content, name: str) -> None:
        check_first(first, name)
        self._contents: list[Content] = [first]
        self._copy = copy_of(self._contents, name)
        self._log = EventLog(MemoryStorage(), self.study.history, name=name)
        self._keeper = RecordKeeper(self.study.history)
        self._take(self.study.history.events)

    def __len__(self) -> int:
        return len(self._contents)

    @property
    def study(self) -> Study:
        """The study after all events so far."""
        return self._copy.study

    @property
    def last(self) -> Content:
        """The last event."""
        return self._contents[-1]

    @property
    def records(self) -> list[Record]:
        """The state of each evaluation, then the added results."""
        return [*self._keeper.evaluations, *self._keeper.added]

    @property
    def failures(self) -> list[Record]:
        """The evaluations that failed or are impossible."""
        return [record for record in self._keeper.evaluations if record.state in ("failed", "impossible")]

    def pending(self) -> list[Record]:
        """The evaluations that are being measured."""
        return [self._keeper.evaluations[number] for number in sorted(self.study.history.pending)]

    def copy(self, workers: Mapping[str, Sign]) -> StudyCopy:
        """The study as a `StudyCopy` with these signs of life; it grows with this one."""
        return replace(self._copy, workers=workers)

    def learn(self, contents: Sequence[Content]) -> None:
        """Replay the events that follow: all of them, or none and an error if one is damaged."""
        known = len(self.study.history.events)
        self._log.learn(contents)
        self._contents.extend(contents)
        self._take(self.study.history.events[known:])

    def _take(self, events: Sequence[Event]) -> None:
        start = len(self._contents) - len(events)
        for event, content in zip(events, self._contents[start:], strict=True):
            self._keeper.take(event, time_of(content))
