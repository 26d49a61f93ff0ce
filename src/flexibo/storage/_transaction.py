"""Adding events exactly once, to the log that the writer knows, even if the connection breaks during the commit."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.storage._chain import Mark, Marks, checked_contents, extended, lost_events
from flexibo.storage._database import Database, Trouble
from flexibo.storage._schema import check_current, events, studies
from flexibo.storage.base import Content, Decide


@dataclass(slots=True)
class Transaction:
    """The events that one commit adds to a study.

    If a connection breaks during a commit, it is unknown whether the database committed. So the events carry a token:
    if it is stored at their position, the commit is done; if another token or none is there, it is tried again.
    """

    _database: Database
    _study: str
    _known: int
    _decide: Decide
    _marks: Marks
    _token: str = field(default_factory=lambda: uuid.uuid4().hex, init=False)
    _in_doubt: Mark | None = field(default=None, init=False)  # the end of the log if the last commit was done
    _is_waiting: bool = field(default=False, init=False)  # whether the database was busy at the last attempt

    def tried(self, connection: sa.Connection) -> None:
        """Add the events; can be called again after any error of the database."""
        if self._is_waiting:
            self._learn(connection)
        self._is_waiting = True
        self._database.begin(connection, self._study)
        self._is_waiting = False
        with self._database.examined(connection, self._study) as place:
            rows, new, end = self._checked(connection, place)
        if self._in_doubt is not None and any(row.number == self._known and row.token == self._token for row in rows):
            self._database.roll_back(connection)
            self._marks.add(self._in_doubt)
            return
        self._in_doubt = None
        self._known = end.events
        self._marks.add(end)
        texts = [json_text(event) for event in self._decide(new)]
        if not texts:
            self._database.roll_back(connection)
            return
        self._write(connection, texts, end)

    def _checked(self, connection: sa.Connection, place: Mark | None) -> tuple[Sequence[Any], list[Content], Mark]:
        """The rows of the log that were read, the events among them that are new, and its end.

        They are read from the last event that is known, or from an earlier place.
        """
        check_current(connection, self._database.shown)
        seen = self._marks.seen(self._known)
        if place is not None:
            seen = seen.since(place)
        rows = connection.execute(_WITH_TOKEN, {"of": self._study, "after": max(seen.known.events - 1, 0)}).all()
        checked = [row[:3] for row in rows]
        new, end = checked_contents(checked, seen, self._known, study=self._study, where=self._database.shown)
        if end.events < self._known:
            raise lost_events(self._known, self._study, self._database.shown)
        return rows, new, end

    def _learn(self, connection: sa.Connection) -> None:
        """Learn without the lock what others add while this one waits for it; what is decided may change until then."""
        if self._known and self._in_doubt is None:  # who knows nothing is about to create the study
            where = self._database.shown
            new = stored_events(connection, self._study, self._known, self._marks, has_digests=True, where=where)
            if new:
                self._known += len(new)
                self._decide(new)

    def ending(self) -> str:
        if self._in_doubt is not None:
            return "; it is unknown whether the last events were stored, so open the study again."
        return ". Nothing was changed."

    def _write(self, connection: sa.Connection, texts: Sequence[str], end: Mark) -> None:
        row = sa.select(studies.c.study).where(studies.c.study == self._study)
        if self._known == 0 and connection.execute(row).scalar() is None:
            connection.execute(studies.insert(), {"study": self._study})
        marks = extended(end, texts)
        same = {"study": self._study, "token": self._token}
        connection.execute(
            events.insert(),
            [
                {**same, "number": mark.events - 1, "content": text, "digest": mark.digest}
                for mark, text in zip(marks, texts, strict=True)
            ],
        )
        self._in_doubt = marks[-1]
        try:
            connection.exec_driver_sql("COMMIT")
        except DBAPIError as error:
            if self._database.trouble(error) is Trouble.FINAL:  # refused, so nothing was committed
                self._in_doubt = None
            raise
        self._marks.add(marks[-1])
        self._in_doubt = None


def stored_events(
    connection: sa.Connection, study: str, after: int, marks: Marks, *, has_digests: bool, where: str
) -> list[Content]:
    """The events of a study in order, without the first `after`."""
    seen = marks.seen(after)
    query = _WITH_DIGEST if has_digests else _EVENTS
    rows = connection.execute(query, {"of": study, "after": max(seen.known.events - 1, 0)}).all()
    if not has_digests:
        rows = [(*row, None) for row in rows]  # type: ignore[misc]  # plain tuples in place of rows
    contents, end = checked_contents(rows, seen, after, study=study, where=where)
    marks.add(end)
    return contents


def json_text(content: Mapping[str, Any]) -> str:
    try:
        return json.dumps(content, allow_nan=False)
    except ValueError as error:
        raise InvalidValueError(f"{content!r} cannot be stored: {error}.") from None
    except TypeError as error:
        raise InvalidTypeError(f"{content!r} cannot be stored: {error}.") from None


_EVENTS = (
    sa.select(events.c.number, events.c.content)
    .where((events.c.study == sa.bindparam("of")) & (events.c.number >= sa.bindparam("after")))
    .order_by(events.c.number)
)
_WITH_DIGEST = _EVENTS.add_columns(events.c.digest)
_WITH_TOKEN = _WITH_DIGEST.add_columns(events.c.token)
