"""The chain of digests by which a log of events is recognised: lost, replaced and changed events are noticed.

The digest of an event is a hash of its exact text and of the digest before it. So two logs with the same digest at the
same place have the same events up to there, and whoever knows the digest of the last event that it read can tell
whether a database still holds the log that it knows.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flexibo.storage.base import Content, DamagedStudyError, LogReplacedError, parsed_object

DIGEST_BYTES = 16
_REMEMBERED = 100


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a log: the number of events before it, and the digest of the last of them."""

    events: int = 0
    digest: str = ""


def next_digest(before: str, text: str) -> str:
    """The digest of an event, given the one before it and its exact text.

    >>> next_digest("", '{"event": "created"}')
    '60769610ffdf9c6deac4fe9da7bd4b19'
    """
    return hashlib.blake2b(f"{before}\n{text}".encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).hexdigest()


def extended(mark: Mark, texts: Iterable[str]) -> list[Mark]:
    """The places after each of these events, which follow a mark."""
    marks = []
    for text in texts:
        mark = Mark(mark.events + 1, next_digest(mark.digest, text))
        marks.append(mark)
    return marks


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of a log before it is read: the log must still go through all these places.

    Attributes:
        known: The last place after at most as many events as the reader knows; it is read from there.
        later: The digests of places after more events.
    """

    known: Mark = field(default_factory=Mark)
    later: Mapping[int, str] = field(default_factory=dict)

    def since(self, place: Mark) -> Seen:
        """The same for who must read from a place on: from the beginning, if other events were seen before it."""
        seen = {**self.later, self.known.events: self.known.digest}
        if seen.get(place.events, place.digest) != place.digest:
            place = Mark()
        seen[place.events] = place.digest
        first = min(seen)
        return Seen(Mark(first, seen.pop(first)), seen)


class Marks:
    """The last places of a log that were seen, for any thread."""

    def __init__(self) -> None:
        self._digests: dict[int, str] = {}
        self._lock = threading.Lock()

    def seen(self, events: int) -> Seen:
        """What was seen until now, by a reader that knows this many events.

        To be called before the log is read: meanwhile other threads may see more than that reading does.
        """
        with self._lock:
            nearest = events if events in self._digests else max((n for n in self._digests if n < events), default=0)
            later = {n: digest for n, digest in self._digests.items() if n > events}
            return Seen(Mark(nearest, self._digests.get(nearest, "")), later)

    def add(self, mark: Mark) -> None:
        """Remember a place that was seen."""
        with self._lock:
            self._digests.pop(mark.events, None)
            self._digests[mark.events] = mark.digest
            if len(self._digests) > _REMEMBERED:
                del self._digests[next(iter(self._digests))]


def checked_contents(
    rows: Sequence[Any], seen: Seen, after: int, *, study: str, where: str
) -> tuple[list[Content], Mark]:
    """The events of rows without the first `after` of the study, and the place after the last row.

    Args:
        rows: Number, text and digest of each stored event from the last one before `seen.known`; the digest is None
            where the tables are of a version without digests.
        seen: What was seen before the rows were read.
        after: How many events the caller knows.
        study: The name of the study, for messages.
        where: The database, for messages.
    """
    known, later = seen.known, dict(seen.later)
    if known.events:
        if not rows or rows[0][0] != known.events - 1:
            raise lost_events(known.events, study, where)
        if rows[0][2] not in (known.digest, None):
            raise _replaced(known.events, study, where)
    found: list[Content] = []
    digest = known.digest
    rows = rows[1:] if known.events else rows
    for expected, (number, text, stored) in enumerate(rows, start=known.events):
        if number != expected:
            raise _damaged(expected, "is missing", study, where)
        if not isinstance(text, str):
            raise _damaged(expected, "cannot be read", study, where)
        digest = next_digest(digest, text)
        if stored is not None and stored != digest:
            raise _damaged(expected, "does not agree with its checksum", study, where)
        if later and later.pop(number + 1, digest) != digest:
            raise _replaced(number + 1, study, where)
        if number >= after:
            content = parsed_object(text)
            if content is None:
                raise _damaged(expected, "cannot be read", study, where)
            found.append(content)
    if later:
        raise lost_events(max(later), study, where)
    return found, Mark(known.events + len(rows), digest)


def lost_events(events: int, study: str, where: str) -> LogReplacedError:
    """The error for a log that has fewer events than were read from it before."""
    return LogReplacedError(
        f"{where} no longer holds the {events} events of study {study!r} that were read from it before: it was "
        "replaced, perhaps by an older copy. Nothing was changed; open the study again."
    )


def _damaged(number: int, what: str, study: str, where: str) -> DamagedStudyError:
    return DamagedStudyError(f"Event {number} of study {study!r} {what}: {where} is damaged.", where)


def _replaced(events: int, study: str, where: str) -> LogReplacedError:
    return LogReplacedError(
        f"{where} holds other events of study {study!r} than the {events} that were read from it before: some were "
        "lost, and others were added in their place. Nothing was changed; open the study again."
    )
