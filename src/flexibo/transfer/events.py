"""The events of a study as lines of JSON, and back: all of a study, or nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from flexibo.errors import FlexiBOError, InvalidValueError
from flexibo.events import Asked, Event, event_from_dict
from flexibo.history import History
from flexibo.objectives import LARGEST
from flexibo.storage import Storage, StorageError, open_storage, shown_url
from flexibo.storage.base import Content
from flexibo.transfer.copies import StudyCopy, copy_of

FORMAT = "flexibo-events"
VERSION = 1
"""Of the lines; a file of a newer version is refused."""
_DAMAGE = (FlexiBOError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError)
"""What a damaged event raises somewhere on its way into a history."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A study that was read from lines.

    Attributes:
        name: The name that it had where it was exported.
        contents: Its events as they were stored.
    """

    name: str
    contents: Sequence[Content]


def event_lines(copy: StudyCopy) -> Iterator[str]:
    """The events of a study, one per line exactly as they are stored, after a line that says what this is."""
    heading = {"format": FORMAT, "version": VERSION, "study": copy.name, "events": len(copy.contents)}
    for content in (heading, *copy.contents):
        yield json.dumps(content, allow_nan=False) + "\n"


def read_events(lines: Iterable[bytes], source: str) -> Exported:
    """The study that `event_lines` wrote; every line is checked, and all events are replayed.

    Args:
        lines: The lines of a file that was opened in binary mode.
        source: What to call it in messages.
    """
    numbered = enumerate(lines, start=1)
    heading = _heading(next(numbered, (1, b""))[1], source)
    contents: list[Content] = []
    history: History | None = None
    for number, line in numbered:
        try:
            content = _parsed(line)
            history = _appended(content, history)
        except _DAMAGE as error:
            raise InvalidValueError(
                f"Line {number} of {source} is damaged: {_said(error)} Nothing was changed."
            ) from None
        contents.append(content)
    if not contents or len(contents) != heading["events"]:
        raise InvalidValueError(
            f"{source} has {len(contents)} events and should have {heading['events']}: its end is cut off, or more "
            "was written to it. Nothing was changed; export the study again."
        )
    return Exported(heading["study"], contents)


def import_events(exported: Exported, storage: str | Storage, name: str | None = None) -> str:
    """Make a new study of exported events, all of them or none; returns its name.

    Args:
        exported: What `read_events` returned.
        storage: A database URL such as ``sqlite:///study.db``.
        name: Another name for it.
    """
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
    except _DAMAGE:
        heading = {}
    version: Any = heading.get("version")
    if heading.get("format") != FORMAT or not _is_whole(version) or not _is_whole(heading.get("events")):
        raise InvalidValueError(f"{source} is no export of a study; give a file that 'flexibo export' wrote.")
    if version > VERSION:
        raise InvalidValueError(
            f"{source} was written by a newer version of flexibo (format {version}, this one knows {VERSION}); "
            "update flexibo."
        )
    if not isinstance(heading.get("study"), str):
        raise InvalidValueError(f"Line 1 of {source} is damaged: it names no study. Nothing was changed.")
    return heading


def _parsed(line: bytes) -> Content:
    content = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    if not isinstance(content, dict):
        raise InvalidValueError("it is no JSON object.")
    return content


def _no_number(constant: str) -> NoReturn:
    raise InvalidValueError(f"{constant} is no number.")


def _appended(content: Content, history: History | None) -> History:
    """The history with one event more, which is checked."""
    _check_fields(content)
    if history is None:
        if content.get("event") != "created":
            raise InvalidValueError("a study begins with the event 'created'.")
        return copy_of([content], "study").study.history
    if content.get("event") == "created":
        raise InvalidValueError("a study is created once.")
    event = event_from_dict(content, history.space)
    _check_event(event, history)
    history.append(event)
    return history


def _check_fields(content: Content) -> None:
    """Refuse a field of a wrong type: some are used long after the event was read."""
    for name, value in content.items():
        if name in _FIELDS and not _FIELDS[name](value):
            raise InvalidValueError(f"its field {name!r} is {value!r}.")


def _check_event(event: Event, history: History) -> None:
    """Refuse an event that cannot follow the ones before it."""
    for name in (*getattr(event, "values", ()), *getattr(event, "costs", ())):
        if name not in history.names:
            raise InvalidValueError(f"there is no objective {name!r}.")
    if isinstance(event, Asked):
        question = event.evaluation
        leads = [purchase.objective for purchase in history.purchases]
        if question.number != len(history.asked):
            raise InvalidValueError(f"evaluation {question.number} does not follow {len(history.asked) - 1}.")
        for name in (question.objective, *question.then):
            if name not in leads:
                raise InvalidValueError(f"{name!r} is no objective that can be asked for.")
        if not question.yields or not set(question.yields) <= set(history.names):
            raise InvalidValueError(f"it yields {', '.join(question.yields) or 'nothing'}.")
    elif hasattr(event, "number") and event.number >= len(history.asked):
        raise InvalidValueError(f"evaluation {event.number} was never asked.")


def _said(error: BaseException) -> str:
    """What is wrong, as the rest of a sentence."""
    if isinstance(error, FlexiBOError):
        return str(error)
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return "it is no JSON."
    return f"it is no event of a study ({type(error).__name__}: {error})."


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_price(value: object) -> bool:
    return _is_number(value) and 0 <= value <= LARGEST  # type: ignore[operator]  # it is a number


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _are_numbers(value: object) -> bool:
    return isinstance(value, dict) and all(_is_number(one) and abs(one) <= LARGEST for one in value.values())


def _are_prices(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_price, value.values()))


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


_FIELDS: Mapping[str, Callable[[Any], bool]] = {
    "time": _is_number,
    "number": _is_whole,
    "attempt": _is_whole,
    "cost": _is_price,
    "seconds": _is_price,
    "budget": lambda value: value is None or _is_number(value),
    "gain": lambda value: value is None or _is_number(value),
    "volume": lambda value: value is None or _is_number(value),
    "objective": _is_text,
    "worker": _is_text,
    "reason": _is_text,
    "text": _is_text,
    "why": _is_text,
    "timed": _is_flag,
    "impossible": _is_flag,
    "initial": _is_flag,
    "yields": _are_texts,
    "then": _are_texts,
    "values": _are_numbers,
    "costs": _are_prices,
    "settings": lambda value: isinstance(value, dict),
    "origin": lambda value: isinstance(value, dict),
    "rules": _are_numbers,
}
