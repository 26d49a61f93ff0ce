"""What can still be read of damaged studies, and which of it is certain: the digests tell."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flexibo.storage._chain import DIGEST_BYTES, next_digest
from flexibo.storage._sqlite_inspection import check_place
from flexibo.storage._sqlite_pages import readable_rows
from flexibo.storage.base import Content, StorageError, parsed_object
from flexibo.storage.sql import file_of, stored_rows


class Verdict(enum.Enum):
    """What is known of an event that can be read."""

    CHECKED = "agrees with its checksum"
    UNCHECKED = "cannot be checked"
    CHANGED = "does not agree with its checksum"


@dataclass(frozen=True, slots=True)
class FoundEvent:
    """An event that can be read."""

    number: int
    content: Content
    verdict: Verdict


@dataclass(slots=True)
class _Copies:
    """All texts and digests that were found for one event: some may be out of date, or damaged."""

    digests: dict[str, set[str]] = field(default_factory=dict)  # by text


def found_events(rows: Iterable[Any]) -> dict[str, list[FoundEvent]]:
    """The events in rows of any tables, by study and in order; of several copies, the one that fits the chain."""
    copies: dict[str, dict[int, _Copies]] = defaultdict(dict)
    for row in rows:
        if not _is_event(row):
            continue
        study, number, text = row[:3]
        digest = row[4] if len(row) > 4 and isinstance(row[4], str) else ""
        one = copies[study].setdefault(number, _Copies())
        one.digests.setdefault(text, set()).update({digest} - {""})
    return {study: _judged(_plausible(found)) for study, found in sorted(copies.items())}


def readable_events(url: str) -> dict[str, list[FoundEvent]]:
    """What can be read of the studies in a database; of a SQLite file page by page, as it may not open."""
    path = file_of(url)
    try:
        if path is not None:
            check_place(path, create=False)  # a device may have no end
        return found_events(stored_rows(url) if path is None else readable_rows(path))
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}.") from None


def _is_event(row: Any) -> bool:
    if not 3 <= len(row) <= 5:
        return False
    study, number, text = row[:3]
    if not isinstance(study, str) or type(number) is not int or number < 0:
        return False
    if not isinstance(text, str):
        return False
    # Of a damaged text with a digest, the digest is of use: what follows can be checked by it.
    is_complete = len(row) == 5 and isinstance(row[4], str) and len(row[4]) == 2 * DIGEST_BYTES
    return is_complete or "event" in (parsed_object(text) or {})


def _plausible(copies: Mapping[int, _Copies]) -> Mapping[int, _Copies]:
    """Without numbers so large that they can only be damage."""
    return {number: one for number, one in copies.items() if number < 1000 + 100 * len(copies)}


def _judged(copies: Mapping[int, _Copies]) -> list[FoundEvent]:
    """The best copy of each event, and what is known of it.

    An event is certain if its stored digest follows from the one before it, or if that of the next one follows from it.
    """
    found: list[FoundEvent] = []
    digests: dict[str, str] = {"": ""}  # what may be the digest of the event before, and the text that it belongs to
    before = -1
    for number in sorted(copies):
        one = copies[number]
        digests = digests if number == before + 1 else {}
        text, used = _fitting(one, digests)
        if used is not None and found and number == before + 1 and found[-1].verdict is not Verdict.CHECKED:
            # What did not agree with its own digest leads to the digest of this one.
            found[-1] = _event(before, digests[used], Verdict.CHECKED) if digests[used] else found[-1]
        if used is not None:
            verdict = Verdict.CHECKED
            digests = {next_digest(used, text): ""}
        else:
            is_changed = bool(digests and one.digests[text]) or parsed_object(text) is None
            verdict = Verdict.CHANGED if is_changed else Verdict.UNCHECKED
            computed = {next_digest(digest, other): other for digest in digests for other in one.digests}
            digests = {digest: "" for stored in one.digests.values() for digest in stored} | computed
        found.append(_event(number, text, verdict))
        before = number
    return found


def _fitting(one: _Copies, digests: Mapping[str, str]) -> tuple[str, str | None]:
    """The copy whose digest follows from one of these, and from which; without such, the first with a digest."""
    stored = set().union(*one.digests.values())
    for text in one.digests:
        for digest in digests:
            if next_digest(digest, text) in stored:
                return text, digest
    return max(one.digests, key=lambda text: len(one.digests[text])), None


def _event(number: int, text: str, verdict: Verdict) -> FoundEvent:
    return FoundEvent(number, parsed_object(text) or {}, verdict)
