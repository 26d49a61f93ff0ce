"""The events of a study in its storage, and the history that is their replay, kept in step."""

from __future__ import annotations

import logging
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from flexibo._internal.interrupts import deferred_interrupts
from flexibo._internal.version import __version__
from flexibo.errors import InvalidValueError
from flexibo.history import History
from flexibo.history.event_dicts import UnknownEventError, event_to_dict, events_from_dicts
from flexibo.history.events import Changed, Event, Failed, Told
from flexibo.history.state import packed, restore
from flexibo.storage import Storage, StorageError
from flexibo.storage.base import Snapshot, SnapshotStorage, first_event, place_of
from flexibo.study.event_checks import (
    DAMAGE,
    EventCheck,
    check_beginning,
    check_fields,
    check_meaning,
    check_settings,
    damage,
    damaged_event,
)
from flexibo.surrogates.fit_memory import FitMemory

CHANGED = "changed"  # the kind of event that changes the settings
ANSWERS = ("told", "failed", "spent")  # the kinds of events that answer an attempt
Notify: TypeAlias = Callable[[Event], object]
HISTORY, FITS = "history", "fits"  # the kinds of snapshots
LEAST_BETWEEN = 2_000  # a snapshot is stored after at least this many events,
SHARE_BETWEEN = 20  # and after at least one event in this many
TRIES = 3  # how often a study may be changed while events are being written, until others must wait for the replay
_VERSION = __version__.encode()
logger = logging.getLogger(__name__)


def _changing(contents: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The events among these that change the settings."""
    return [one for one in contents if isinstance(one, dict) and one.get("event") == CHANGED]


def _ignore(event: Event) -> None:
    """Nobody is notified."""


class EventLog:
    """Reads the events that other processes wrote, and writes events once all earlier ones are known.

    It is given what to notify of new events at each call and keeps none of it, so a log keeps no study alive.
    """

    def __init__(
        self, storage: Storage, history: History, *, clock: Callable[[], float] = time.time, name: str = ""
    ) -> None:
        self.history = history
        self._storage = storage
        self._clock = clock
        self._subject = f"study {name!r}" if name else "the study"
        self._snapshot_at = 0
        self._is_changed = False  # whether the last snapshot is of other settings: then all events are replayed

    def first(self) -> dict[str, Any] | None:
        """The event that the stored study begins with, checked, as settings are made of it; None if there is none."""
        found = first_event(self._storage)
        if found is not None:
            self._check_beginning(found)
        return found

    def begin_as(self, content: Mapping[str, Any], *, own: bool = True) -> None:
        """Make the history, still empty, that of the study that this first event begins; see `History.begin_as`."""
        try:
            check_meaning(content["settings"])
            self.history.begin_as(content["settings"], own=own)
        except DAMAGE as error:
            raise damaged_event(0, self._subject, error, place_of(self._storage)) from None

    def begin(self) -> None:
        """Learn all stored events: from a snapshot as far as there is one, else by replaying them."""
        if isinstance(self._storage, SnapshotStorage):
            self._begin_with_snapshot(self._storage)
        contents = self.unread()
        self.learn(contents)
        self._is_changed = bool(self._snapshot_at and _changing(contents))

    def _begin_with_snapshot(self, storage: SnapshotStorage) -> None:
        """Give the history the state that is stored, if there is one that this version can use."""
        try:
            found = storage.snapshot(HISTORY)
            if found is None:
                return
            version, _, state = found.content.partition(b"\n")
            if version == _VERSION:
                with deferred_interrupts():
                    restore(self.history, state, events=found.events, load=self._loaded)
                    self._snapshot_at = found.events
        except (*DAMAGE, zipfile.BadZipFile, zlib.error, EOFError) as error:  # replaying the events is enough
            logger.warning("A snapshot of %s cannot be used, its events are replayed: %s", self._subject, error)

    def stored_fits(self) -> bytes | None:
        """What the fits of other processes found; None if that is not stored."""
        try:
            found = self._storage.snapshot(FITS) if isinstance(self._storage, SnapshotStorage) else None
        except StorageError:
            return None
        version, _, content = (b"", b"", b"") if found is None else found.content.partition(b"\n")
        return content if version == _VERSION else None

    def keep_fits(self, fits: FitMemory) -> None:
        """Store what fits found, if that is new, so that the next process need not search for it."""
        if fits.changed and isinstance(self._storage, SnapshotStorage):
            self._keep(self._storage, FITS, fits.packed())
        fits.changed = False

    def _loaded(self, start: int, stop: int) -> list[Event]:
        """Events that were learned before, read again."""
        assert isinstance(self._storage, SnapshotStorage)
        contents = self._storage.between(start, stop)
        try:
            return events_from_dicts(contents, self.history.space)
        except DAMAGE as error:
            raise damaged_event(start, self._subject, error, place_of(self._storage)) from None

    def _keep_snapshot(self) -> None:
        """Store the state of the history if it has grown enough since the last time, or was changed."""
        events, storage = len(self.history.events), self._storage
        due = max(LEAST_BETWEEN, events // SHARE_BETWEEN)
        is_due = events - self._snapshot_at >= due or (self._is_changed and events >= LEAST_BETWEEN)
        if not is_due or not isinstance(storage, SnapshotStorage):
            return
        self._snapshot_at, self._is_changed = events, False
        self._keep(storage, HISTORY, packed(self.history))

    def _keep(self, storage: SnapshotStorage, kind: str, content: bytes) -> None:
        try:
            storage.keep_snapshot(kind, Snapshot(len(self.history.events), _VERSION + b"\n" + content))
        except StorageError as error:  # it only saves time
            logger.info("No snapshot of %s was stored: %s", self._subject, error)

    @property
    def unstored(self) -> Path | None:
        """The file for answers that could not be stored; None if the study lives in memory."""
        return getattr(self._storage, "unstored", None)

    @property
    def place(self) -> str:
        """The file or the URL of the study, without secrets; empty if it lives in memory."""
        return str(getattr(self._storage, "place", ""))

    def lost_answers(self) -> list[Told | Failed]:
        """The answers, of any worker, that were stored and are not any more: the storage lost them.

        If it can no longer be read, these are all that are remembered.
        """
        read_anew = getattr(self._storage, "read_anew", None)
        if read_anew is None:
            return []
        try:
            contents = read_anew()
        except StorageError as error:  # the error before this one matters more
            logger.warning("Which answers were lost cannot be found out, so all that are known are kept: %s", error)
            contents = []
        stored = {(one["number"], one.get("token")) for one in contents if one.get("event") in ANSWERS}
        recent = self.history.events.in_memory()  # what is older is read from the storage, and would not differ
        known = [event for event in recent if isinstance(event, Told | Failed) and event.token]
        return [event for event in known if (event.number, event.token) not in stored]

    def close(self) -> None:
        """Close the storage: its file may then be moved or replaced. A later use opens it again."""
        if (close := getattr(self._storage, "close", None)) is not None:
            close()

    def unread(self) -> list[dict[str, Any]]:
        """The stored events that are not in the history yet; a first event is checked, as settings are made of it."""
        known = len(self.history.events)
        contents = self._storage.read(known)
        if contents and not known:
            self._check_beginning(contents[0])
        return contents

    def create(self, contents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Write the first events unless another process did so first; returns the stored ones, for `learn`."""
        written: list[dict[str, Any]] = []

        def decided(new: list[dict[str, Any]]) -> list[dict[str, Any]]:
            mine = [] if new else [dict(content) | {"time": self._clock()} for content in contents]
            written[:] = [*new, *mine]
            return mine

        self._storage.commit(0, decided)
        self._check_beginning(written[0])
        return written

    def learn(self, contents: Sequence[Mapping[str, Any]], notify: Notify = _ignore) -> None:
        """Add events that were read from the storage to the history: all of them, or none if one is damaged."""
        with deferred_interrupts():
            events = self._learn(contents)
        for event in events:
            notify(event)

    def refresh(self, notify: Notify = _ignore) -> None:
        """Learn the events that other processes wrote."""
        self.learn(self.unread(), notify)

    def commit(self, decide: Callable[[], Sequence[Event]], notify: Notify = _ignore) -> None:
        """Write the events that `decide` returns; it is called once all earlier events are known.

        They are stored durably when this returns. If `decide` raises, nothing is written and the error propagates.
        """
        for tries_left in reversed(range(TRIES)):
            if self._is_committed(decide, notify, learns_changes=not tries_left):
                break
        self._keep_snapshot()

    def _is_committed(self, decide: Callable[[], Sequence[Event]], notify: Notify, *, learns_changes: bool) -> bool:
        """Write the events that `decide` returns; False if another process has changed the study: nothing is written.

        A change is learned while the storage is locked only if that is said: it replays all events, and others wait.
        """
        events: list[Event] = []
        mine: list[Event] = []
        is_late = False

        def decided(new: list[dict[str, Any]]) -> list[dict[str, Any]]:
            nonlocal is_late
            is_late = is_late or (not learns_changes and bool(_changing(new)))
            if is_late:
                mine.clear()
                return []
            events.extend(self._learn(new))
            mine[:] = decide()
            return [event_to_dict(event) | {"time": self._clock()} for event in mine]

        self.refresh(notify)  # before the storage is locked, so that little is left to learn while it is
        try:
            with deferred_interrupts():  # the storage and the history must stay in step
                self._storage.commit(len(self.history.events), decided)
                for event in mine:
                    self.history.append(event)
                events.extend(mine)
        finally:
            for event in events:
                notify(event)
        self._is_changed = self._is_changed or any(isinstance(event, Changed) for event in mine)
        return not is_late

    def _learn(self, contents: Sequence[Mapping[str, Any]]) -> list[Event]:
        history = self._following(contents)
        try:
            events = EventCheck(history).checked(contents)
        except DAMAGE:
            events = self._learned_one_by_one(contents)  # which finds the event to blame
        history.extend(events)
        if history is not self.history:
            self.history.become(history)
        return events

    def _following(self, contents: Sequence[Mapping[str, Any]]) -> History:
        """The history that these events are added to: if they change the study, its replay with the last change."""
        changes = _changing(contents)
        if not changes:
            return self.history
        try:
            check_fields(changes[-1], CHANGED)
            check_settings(changes[-1]["settings"])
            return self.history.changed_to(changes[-1]["settings"], changes=len(changes))
        except DAMAGE:
            return self.history  # the check of the events finds what is wrong

    def _learned_one_by_one(self, contents: Sequence[Mapping[str, Any]]) -> list[Event]:
        check = EventCheck(self.history)
        events: list[Event] = []
        for content in contents:
            try:
                events.append(check.event(content))
            except UnknownEventError:
                raise
            except DAMAGE as error:
                number = len(self.history.events) + len(events)
                if self.history.space.valid is not None and "design" in content:
                    error = InvalidValueError(f"{damage(error)} Open the study with the rule it was created with.")
                raise damaged_event(number, self._subject, error, place_of(self._storage)) from None
        return events

    def _check_beginning(self, content: Mapping[str, Any]) -> None:
        try:
            check_beginning(content)
        except DAMAGE as error:
            raise damaged_event(0, self._subject, error, place_of(self._storage)) from None
