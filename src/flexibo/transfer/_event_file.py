"""The events of a study as lines of JSON, exported and imported as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from flexibo.errors import InvalidValueError
from flexibo.storage import Storage, StorageError, open_storage, rescue_advice, shown_url
from flexibo.storage.base import Content
from flexibo.study.event_checks import DAMAGE, EventCheck, check_beginning, check_meaning, damage, is_whole
from flexibo.transfer.study_copies import StudyCopy, copy_of

FORMAT = "flexibo-events"
SUFFIX = ".jsonl"
VERSION = 1  # the version of the format; a newer one is refused


@dataclass(frozen=True, slots=True)
class Exported:
    """A study that was read from lines."""

    name: str  # where it was exported
    contents: Sequence[Content]


class DamagedExportError(InvalidValueError):
    """An export of a study has lines that cannot be read or that do not fit together.

    Args:
        damage: A sentence about what is wrong.
        source: The file, or a description of another source.
    """

    def __init__(self, damage: str, source: str) -> None:
        super().__init__(damage, source)
        self.damage = damage
        self.source = source

    def __str__(self) -> str:
        is_file = self.source.endswith(SUFFIX)
        advice = rescue_advice(self.source) if is_file else "Export the study again."
        return f"{self.damage} Nothing was changed. {advice}"


def event_lines(copy: StudyCopy) -> Iterator[str]:
    """The events of a study, one per line exactly as they are stored, after a heading."""
    heading = {"format": FORMAT, "version": VERSION, "study": copy.name, "events": len(copy.contents)}
    for content in (heading, *copy.contents):
        yield json.dumps(content, allow_nan=False) + "\n"


def read_events(lines: Iterable[bytes], source: str) -> Exported:
    """The study that `event_lines` wrote; every line is checked, and all events are replayed."""
    numbered = enumerate(lines, start=1)
    heading = _heading(next(numbered, (1, b""))[1], source)
    contents: list[Content] = []
    check: EventCheck | None = None
    for number, line in numbered:
        try:
            content = _parsed(line)
            if check is None:
                check = _begun(content)
            else:
                check.history.append(check.event(content))
        except DAMAGE as error:
            raise DamagedExportError(f"Line {number} of {source} is damaged: {damage(error)}", source) from None
        contents.append(content)
    if not contents or len(contents) != heading["events"]:
        raise DamagedExportError(
            f"{source} has {len(contents)} events and should have {heading['events']}: lines are missing, or more was "
            "written to it.",
            source,
        )
    return Exported(heading["study"], contents)


def readable_lines(lines: Iterable[bytes], source: str) -> tuple[str, int | None, dict[int, Content]]:
    """What can be read of a damaged file: the name of the study, how many events it had, and events by their number.

    The name is empty, and the count None, if the heading is damaged. A file without any event is an error.
    """
    name, count = "", None
    found: dict[int, Content] = {}
    number = -1
    for line in lines:
        content = _parsed_or_none(line)
        if content is not None and "event" in content:
            number = max(number, 0)  # the heading is lost if an event is first
            found[number] = content
        elif number == -1 and content is not None and content.get("format") == FORMAT:
            heading = _heading(line, source)
            name, count = heading["study"], heading["events"]
        number += 1
    if not found:
        raise _no_export(source)
    return name, count, found


def import_events(exported: Exported, storage: str | Storage, name: str | None = None) -> str:
    """Create a study from exported events, all of them or none; returns its name."""
    name = name or exported.name
    where = shown_url(storage) if isinstance(storage, str) else "The storage"

    def decide(new: list[Content]) -> Sequence[Content]:
        if new:
            raise StorageError(f"{where} holds a study {name!r} already; import under another name.")
        return exported.contents

    open_storage(storage, name).commit(0, decide)
    return name


def _heading(line: bytes, source: str) -> Mapping[str, Any]:
    try:
        heading = _parsed(line)
    except DAMAGE:
        heading = {}
    version: Any = heading.get("version")
    if heading.get("format") != FORMAT or not is_whole(version) or not is_whole(heading.get("events")):
        raise _no_export(source)
    if version > VERSION:
        raise InvalidValueError(
            f"{source} was written by a newer version of flexibo (format {version}, this one knows {VERSION}); "
            "update flexibo."
        )
    if not isinstance(heading.get("study"), str):
        raise DamagedExportError(f"Line 1 of {source} is damaged: it names no study.", source)
    return heading


def _no_export(source: str) -> InvalidValueError:
    return InvalidValueError(f"{source} is not an export of a study; give a file that 'flexibo export' wrote.")


def _parsed_or_none(line: bytes) -> Content | None:
    try:
        return _parsed(line)
    except DAMAGE:
        return None


def _parsed(line: bytes) -> Content:
    content = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    if not isinstance(content, dict):
        raise InvalidValueError("it is not a JSON object.")
    return content


def _no_number(constant: str) -> NoReturn:
    raise InvalidValueError(f"{constant} is not a number.")


def _begun(first: Content) -> EventCheck:
    check_beginning(first)
    check_meaning(first["settings"])
    return EventCheck(copy_of([first], "study").study.history)
