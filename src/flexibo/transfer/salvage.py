"""Whether a stored study is whole, and a new study from what can be read of a damaged one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from flexibo.errors import InvalidValueError
from flexibo.history import History
from flexibo.storage import NoSuchStorageError, StorageError, open_storage, stored_studies
from flexibo.storage.base import Content, NewerSchemaError
from flexibo.storage.recovery import FoundEvent, Verdict, readable_events
from flexibo.study.event_checks import (
    DAMAGE,
    EventCheck,
    check_beginning,
    check_fields,
    check_meaning,
    check_settings,
    damage,
)
from flexibo.study.event_log import CHANGED
from flexibo.transfer._event_file import DamagedExportError, read_events, readable_lines
from flexibo.transfer.study_copies import copy_of

ANSWERS = ("told", "failed", "released", "reissued", "spent")


@dataclass(frozen=True, slots=True)
class Verified:
    """Whether a stored study is whole.

    Attributes:
        name: The study.
        events: How many can be read and were not changed.
        measurements: How many measurements they hold.
        problem: What is wrong; empty if it is whole.
        missing: The numbers of events that are not there although later ones are.
        changed: The numbers of events that do not agree with their checksum.
        has_checksums: Whether it was written by a version that stores them; otherwise only its form can be checked.
    """

    name: str
    events: int
    measurements: int
    problem: str = ""
    missing: tuple[int, ...] = ()
    changed: tuple[int, ...] = ()
    has_checksums: bool = True


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What is left of a damaged study.

    Attributes:
        name: The study.
        contents: The events of a study without what is lost; questions are numbered anew where some are missing.
        measurements: How many measurements they hold.
        budget: The budget that they set, which may be an earlier one.
        missing: The numbers of events that are lost although later ones are there. What was lost at the end is unknown.
        changed: The numbers of events that do not agree with their checksum; they are left out.
        unchecked: The numbers of events that were brought out unchecked, as the event before them is lost.
        dropped: By the number of an event that was left out, why it makes no sense without what is lost.
        has_checksums: Whether it was written by a version that stores them; otherwise nothing could be checked.
        problem: What is wrong with the whole storage, so that events at the end may be lost; empty if nothing is.
        cost_unit: The unit of the budget; empty if it is not known.
    """

    name: str
    contents: Sequence[Content]
    measurements: int = 0
    budget: float | None = None
    missing: tuple[int, ...] = ()
    changed: tuple[int, ...] = ()
    unchecked: tuple[int, ...] = ()
    dropped: Mapping[int, str] = field(default_factory=dict)
    has_checksums: bool = True
    problem: str = ""
    cost_unit: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is known to be lost or uncertain."""
        return not (self.missing or self.changed or self.unchecked or self.dropped or self.problem)


def verified(url: str, name: str = "") -> list[Verified]:
    """Each study of a database, or the named one, read and replayed; a damaged file is no error."""
    try:
        names = [study.name for study in stored_studies(url)]
        problem = ""
    except (NoSuchStorageError, NewerSchemaError):
        raise
    except StorageError as error:
        names, problem = list(readable_events(url)), damage(error)
        if not names:
            raise
    _check_name(url, name, names)
    wanted = [name] if name else names
    return [_damaged(url, one, problem) if problem else _verified(url, one) for one in wanted]


def salvaged(url: str, name: str = "") -> list[Salvaged]:
    """What is left of each study of a database, or of the named one."""
    found = readable_events(url)  # before SQLite opens the file and changes its log
    _check_name(url, name, found)
    try:
        stored, problem = {study.name: study.events for study in stored_studies(url)}, ""
    except StorageError as error:
        stored, problem = {}, damage(error)
    if any(len(found.get(one, ())) < count for one, count in stored.items()):  # others may have added some meanwhile
        found |= {one: events for one, events in readable_events(url).items() if len(events) > len(found.get(one, ()))}
    left = [_salvaged(one, events) for one, events in found.items() if name in ("", one)]
    return [replace(one, problem=problem or _fewer(len(found[one.name]), stored.get(one.name, 0))) for one in left]


def verified_lines(lines: Iterable[bytes], source: str) -> Verified:
    """Whether an export of a study, which has no checksums, can be read and fits together."""
    content = list(lines)
    try:
        exported = read_events(content, source)
    except DamagedExportError as error:
        left = salvaged_lines(content, source)
        events = len(left.contents) + len(left.dropped)
        return Verified(left.name, events, left.measurements, error.damage, left.missing, has_checksums=False)
    history = copy_of(exported.contents, exported.name).study.history
    return Verified(exported.name, len(exported.contents), len(history.measurements), has_checksums=False)


def salvaged_lines(lines: Iterable[bytes], source: str) -> Salvaged:
    """What is left of an export of a study, line by line; without a heading it has the name of its file."""
    name, count, found = readable_lines(lines, source)
    events = [FoundEvent(number, content, Verdict.UNCHECKED) for number, content in found.items()]
    left = _salvaged(name or PurePath(source).stem, events, may_have_gaps=len(found) != count)
    if count is None:
        return replace(left, problem=f"The first line of {source} is damaged, so how many events it had is unknown.")
    more = f"It holds {len(found)} events and should hold {count}." if len(found) > count else ""
    return replace(left, problem=more or _fewer(len(found), count))


def _fewer(found: int, stored: int) -> str:
    """What is wrong where fewer events can be read than the storage counts."""
    return f"It holds {stored} events, of which {found} can be read." if found < stored else ""


def _verified(url: str, name: str) -> Verified:
    storage = open_storage(url, name, create=False)
    try:
        contents = storage.read()
        history = copy_of(contents, name).study.history
    except (NoSuchStorageError, NewerSchemaError):
        raise
    except DAMAGE as error:
        return _damaged(url, name, damage(error))
    return Verified(
        name, len(contents), len(history.measurements), has_checksums=getattr(storage, "has_digests", False)
    )


def _damaged(url: str, name: str, problem: str) -> Verified:
    events = readable_events(url).get(name, [])
    left = _salvaged(name, events)
    readable = len(events) - len(left.changed)
    return Verified(name, readable, left.measurements, problem, left.missing, left.changed, left.has_checksums)


def _check_name(url: str, name: str, names: Sequence[str] | Mapping[str, object]) -> None:
    if not names:
        raise NoSuchStorageError("No study can be read from the storage; check it, or restore a copy of it.")
    if name and name not in names:
        raise InvalidValueError(f"There is no study {name!r}; there is {', '.join(map(repr, names))}.")


def _salvaged(name: str, events: Sequence[FoundEvent], *, may_have_gaps: bool = False) -> Salvaged:
    """A study from the events that agree with their checksum, or that cannot be checked.

    If it `may_have_gaps`, events may be lost of which the numbers do not tell.
    """
    numbers = {event.number for event in events}
    missing = tuple(number for number in range(max(numbers, default=-1) + 1) if number not in numbers)
    changed = tuple(event.number for event in events if event.verdict is Verdict.CHANGED)
    good = [event for event in events if event.verdict is not Verdict.CHANGED]
    has_checksums = any(event.verdict is not Verdict.UNCHECKED for event in events)
    unchecked = tuple(e.number for e in good if e.verdict is Verdict.UNCHECKED) if has_checksums else ()
    dropped: dict[int, str] = {}
    try:
        if not good or good[0].number:
            raise InvalidValueError("What the study was created with is lost.")
        replay = _Replay(good[0].content, name, [e.content for e in good if e.content.get("event") == CHANGED])
    except DAMAGE as error:
        dropped = {event.number: damage(error) for event in good}
        return Salvaged(name, (), 0, None, missing, changed, (), dropped, has_checksums)
    first_lost = min(missing + changed, default=len(good))
    for event in good[1:]:
        has_gaps = bool(dropped) or event.number > first_lost
        try:
            replay.add(event.content, has_gaps=has_gaps)
        except DAMAGE as error:
            if may_have_gaps and not has_gaps and replay.fits_after_gap(event.content):
                first_lost = event.number
            else:
                dropped[event.number] = damage(error)
    history = replay.history
    left = tuple(number for number in unchecked if number not in dropped)
    count, budget = len(history.measurements), history.budget
    return Salvaged(
        name,
        replay.contents,
        count,
        budget,
        missing,
        changed,
        left,
        dropped,
        has_checksums,
        cost_unit=history.cost_unit,
    )


def _latest(history: History, changes: Sequence[Content]) -> History:
    """A history with the settings of the last change that can be read, with which all events are replayed."""
    for count in range(len(changes), 0, -1):
        try:
            check_fields(changes[count - 1], CHANGED)
            check_settings(changes[count - 1]["settings"])
            return history.changed_to(changes[count - 1]["settings"], changes=count)
        except DAMAGE:
            continue
    return history


class _Replay:
    """A study that grows by what fits it; questions are numbered anew where some are lost."""

    def __init__(self, first: Content, name: str, changes: Sequence[Content]) -> None:
        check_beginning(first)
        check_meaning(first["settings"])
        self.contents = [first]
        self._check = EventCheck(_latest(copy_of([first], name).study.history, changes))
        self._numbers: dict[int, int] = {}

    @property
    def history(self) -> History:
        return self._check.history

    def add(self, content: Content, *, has_gaps: bool) -> None:
        """Add an event, or raise one of `DAMAGE` if it makes no sense without what is lost."""
        kind, asked = content.get("event"), len(self.history.asked)
        changed: dict[str, Any] = dict(content)
        if has_gaps and kind == "asked":
            changed |= {"number": asked, "queued": self._queued(content)}
        elif has_gaps and kind in ANSWERS:
            if content.get("number") not in self._numbers:
                raise InvalidValueError(f"the question {content.get('number')} that it belongs to is lost.")
            changed["number"] = self._numbers[content["number"]]
            if kind != "reissued" and changed.get("token") not in self.history.tokens(changed["number"]):
                changed.pop("token", None)  # the attempt was begun by an event that is lost
        elif has_gaps and kind == "dequeued":
            raise InvalidValueError("which queued design it withdraws is unknown, as events are lost.")
        self.history.append(self._check.event(changed))
        if kind == "asked":
            self._numbers[content["number"]] = asked
        self.contents.append(changed)

    def fits_after_gap(self, content: Content) -> bool:
        """Add an event that did not fit as if others were lost before it, if it fits then."""
        try:
            self.add(content, has_gaps=True)
        except DAMAGE:
            return False
        return True

    def _queued(self, content: Content) -> int | None:
        """The number of the queued design that a question belongs to, if that was brought out."""
        if content.get("queued") is None:
            return None
        return next((q.number for q in self.history.queue if dict(q.design) == content["design"]), None)
