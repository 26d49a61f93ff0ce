"""The events of a study in its storage, and the history they add up to, kept in step."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flexibo._internal.interrupts import deferred_interrupts
from flexibo.history import History
from flexibo.history.events import Event, UnknownEventError, event_to_dict
from flexibo.storage import Storage
from flexibo.study.event_checks import DAMAGE, EventCheck, check_beginning, damaged_event


class EventLog:
    """Reads what others wrote, and writes with everything known that was written before.

    Args:
        storage: Where the events are kept.
        history: What they add up to; empty at first.
        notify: Told of every new event, in order.
        clock: Gives the time of day, which is written beside each event for people.
        name: The name of the study, for messages.
    """

    def __init__(
        self,
        storage: Storage,
        history: History,
        notify: Callable[[Event], None],
        *,
        clock: Callable[[], float] = time.time,
        name: str = "",
    ) -> None:
        self.history = history
        self._storage = storage
        self._notify = notify
        self._clock = clock
        self._whose = f"study {name!r}" if name else "the study"

    def unread(self) -> list[dict[str, Any]]:
        """What is stored and was not learned yet; a beginning is checked, because settings are made of it first."""
        known = len(self.history.events)
        contents = self._storage.read(known)
        if contents and not known:
            self._check_beginning(contents[0])
        return contents

    def begun(self, contents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Write the first events, unless others began the study meanwhile; returns what is stored, not yet learned."""
        written: list[dict[str, Any]] = []

        def decided(new: list[dict[str, Any]]) -> list[dict[str, Any]]:
            mine = [] if new else [dict(content) | {"time": self._clock()} for content in contents]
            written[:] = [*new, *mine]
            return mine

        self._storage.commit(0, decided)
        self._check_beginning(written[0])
        return written

    def learn(self, contents: Sequence[Mapping[str, Any]], *, news: bool = True) -> None:
        """Learn events that were read from the storage; nobody is told of what is no news."""
        with deferred_interrupts():
            events = self._learned(contents)
        if news:
            self._tell(events)

    def refresh(self) -> None:
        """Learn what others wrote."""
        self.learn(self.unread())

    def commit(self, decide: Callable[[], Sequence[Event]]) -> None:
        """Write the events that `decide` returns; it is called when everything is known that was written before.

        They are safe when this returns. What `decide` raises is passed on, and nothing is written.
        """
        events: list[Event] = []
        mine: list[Event] = []

        def decided(new: list[dict[str, Any]]) -> list[dict[str, Any]]:
            events.extend(self._learned(new))
            mine[:] = decide()
            return [event_to_dict(event) | {"time": self._clock()} for event in mine]

        self.refresh()  # nobody else can write while events are learned there
        try:
            with deferred_interrupts():  # what is stored and what is remembered must not part
                self._storage.commit(len(self.history.events), decided)
                for event in mine:
                    self.history.append(event)
                events.extend(mine)
        finally:
            self._tell(events)

    def _learned(self, contents: Sequence[Mapping[str, Any]]) -> list[Event]:
        """Learn all of these events, or none if one is damaged."""
        check = EventCheck(self.history)
        events: list[Event] = []
        for content in contents:
            try:
                events.append(check.event(content))
            except UnknownEventError:
                raise
            except DAMAGE as error:
                number = len(self.history.events) + len(events)
                raise damaged_event(number, self._whose, error, self._remedy(content)) from None
        for event in events:
            self.history.append(event)
        return events

    def _check_beginning(self, content: Mapping[str, Any]) -> None:
        try:
            check_beginning(content)
        except DAMAGE as error:
            raise damaged_event(0, self._whose, error) from None

    def _remedy(self, content: Mapping[str, Any]) -> str:
        if self.history.space.valid is not None and "design" in content:
            return "Open the study with the rule that it was created with, or restore a copy of it."
        return "Restore a copy of it."

    def _tell(self, events: Sequence[Event]) -> None:
        for event in events:
            self._notify(event)
