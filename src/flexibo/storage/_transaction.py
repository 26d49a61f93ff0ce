"""Adding events exactly once, even if the connection breaks during the commit."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.storage._database import Database, Trouble
from flexibo.storage._schema import events, studies
from flexibo.storage.base import Content, Decide, StorageError


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
    _token: str = field(default_factory=lambda: uuid.uuid4().hex, init=False)
    _in_doubt: bool = field(default=False, init=False)

    def tried(self, connection: sa.Connection) -> None:
        """Add the events; can be called again after any error of the database."""
        self._database.begin(connection, self._study)
        added = connection.execute(_WITH_TOKEN, {"of": self._study, "after": max(self._known - 1, 0)}).all()
        if self._known:  # the last known event must still be there
            if not added or added[0].number != self._known - 1:
                raise self._older_copy()
            added = added[1:]
        if self._in_doubt and added and added[0].token == self._token:
            self._database.roll_back(connection)
            return
        self._in_doubt = False
        new = _contents(added, self._study, self._known)
        self._known += len(new)
        texts = [json_text(event) for event in self._decide(new)]
        if not texts:
            self._database.roll_back(connection)
            return
        self._write(connection, texts)

    def ending(self) -> str:
        if self._in_doubt:
            return "; it is unknown whether the last events were stored, so open the study again."
        return ". Nothing was changed."

    def _write(self, connection: sa.Connection, texts: Sequence[str]) -> None:
        row = sa.select(studies.c.study).where(studies.c.study == self._study)
        if self._known == 0 and connection.execute(row).scalar() is None:
            connection.execute(studies.insert(), {"study": self._study})
        connection.execute(
            events.insert(),
            [
                {"study": self._study, "number": self._known + i, "content": text, "token": self._token}
                for i, text in enumerate(texts)
            ],
        )
        self._in_doubt = True
        try:
            connection.exec_driver_sql("COMMIT")
        except DBAPIError as error:
            self._in_doubt = self._database.trouble(error) is not Trouble.FINAL  # refused, so nothing was committed
            raise
        self._in_doubt = False

    def _older_copy(self) -> StorageError:
        return StorageError(
            f"{self._database.shown} no longer holds the {self._known} events of study {self._study!r} that were read "
            "from it before: it was replaced, perhaps by an older copy. Nothing was changed; open the study again."
        )


def stored_events(connection: sa.Connection, study: str, after: int) -> list[Content]:
    """The events of a study in order, without the first `after`."""
    return _contents(connection.execute(_EVENTS, {"of": study, "after": after}).all(), study, after)


def json_text(content: Mapping[str, Any]) -> str:
    try:
        return json.dumps(content, allow_nan=False)
    except ValueError as error:
        raise InvalidValueError(f"{content!r} cannot be stored: {error}.") from None
    except TypeError as error:
        raise InvalidTypeError(f"{content!r} cannot be stored: {error}.") from None


def parsed_object(text: object) -> Content | None:
    """A dictionary that was stored as JSON; None if that is damaged."""
    try:
        found = json.loads(text)  # type: ignore[arg-type]  # what is no text is damaged, too
    except (ValueError, TypeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _contents(rows: Iterable[Any], study: str, after: int) -> list[Content]:
    """The events of rows; an error if one is missing or damaged."""
    contents = []
    for i, (number, content, *_) in enumerate(rows, start=after):
        event = parsed_object(content) if number == i else None
        if event is None:
            what = "cannot be read" if number == i else "is missing"
            raise StorageError(f"Event {i} of study {study!r} {what}: the database is damaged, restore a copy of it.")
        contents.append(event)
    return contents


_EVENTS = (
    sa.select(events.c.number, events.c.content)
    .where((events.c.study == sa.bindparam("of")) & (events.c.number >= sa.bindparam("after")))
    .order_by(events.c.number)
)
_WITH_TOKEN = _EVENTS.add_columns(events.c.token)
