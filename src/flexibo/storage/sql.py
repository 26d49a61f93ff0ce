"""Events in a database, through SQLAlchemy Core: one row per event, JSON text, no pickle."""

from __future__ import annotations

import json
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, IntegrityError, SQLAlchemyError

from flexibo.errors import FlexiBOError, InvalidValueError, MissingExtraError

SCHEMA = 1
"""Version of the tables; written into the database when it is made."""
TRIES = 5
_metadata = sa.MetaData()
_info = sa.Table("flexibo", _metadata, sa.Column("schema", sa.Integer, nullable=False))
_events = sa.Table(
    "flexibo_events",
    _metadata,
    sa.Column("study", sa.String(200), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("content", sa.Text, nullable=False),
)


class StorageError(FlexiBOError):
    """The storage cannot be read or written."""


class SQLStorage:
    """The events of one study in a database.

    Args:
        url: A database URL such as ``sqlite:///study.db``.
        study: The name of the study.
    """

    def __init__(self, url: str, study: str) -> None:
        try:
            self._engine = sa.create_engine(url)
        except ImportError as error:
            raise MissingExtraError(f"The storage needs a package that is not installed: {error.name}.") from None
        except SQLAlchemyError:
            raise InvalidValueError(
                "The storage is no database URL that can be used; give one like sqlite:///study.db."
            ) from None
        weakref.finalize(self, self._engine.dispose)  # close the file when the storage is forgotten
        self._shown = self._engine.url.render_as_string(hide_password=True)
        self._study = study
        self._known = 0
        if self._engine.dialect.name == "sqlite":
            sa.event.listen(self._engine, "connect", _make_durable)
        self._prepare()

    def append(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Add events in one transaction; they are on disk when this returns."""
        rows = [
            {"study": self._study, "number": self._known + i, "content": json.dumps(event, allow_nan=False)}
            for i, event in enumerate(events)
        ]
        try:
            with self._engine.begin() as connection:
                connection.execute(_events.insert(), rows)
        except IntegrityError:
            raise StorageError(
                f"Another process wrote to study {self._study!r} in {self._shown}; open the study again to go on."
            ) from None
        except DatabaseError as error:
            raise StorageError(f"{self._shown} cannot be written: {error.orig}. Nothing was changed.") from None
        self._known += len(rows)

    def read(self) -> list[dict[str, Any]]:
        """All events of the study, in order."""
        query = sa.select(_events.c.content).where(_events.c.study == self._study).order_by(_events.c.number)
        with self._engine.connect() as connection:
            contents = connection.execute(query).scalars().all()
        self._known = len(contents)
        return [json.loads(content) for content in contents]

    def _schema(self) -> int | None:
        """The version of the tables, after making them if there are none; None if they are new."""
        for attempt in range(TRIES):
            try:
                with self._engine.begin() as connection:
                    _metadata.create_all(connection)
                    schema: int | None = connection.execute(sa.select(_info.c.schema)).scalar()
                    if schema is None:
                        connection.execute(_info.insert(), {"schema": SCHEMA})
                    return schema
            except DatabaseError as error:
                # Another process may have made the tables between our look and our making.
                if attempt == TRIES - 1 or "already exists" not in str(error.orig):
                    raise StorageError(f"{self._shown} cannot be used: {error.orig}.") from None
        return None

    def _prepare(self) -> None:
        """Make the tables where there are none; refuse those of a newer version."""
        schema = self._schema()
        if schema is not None and schema > SCHEMA:
            raise StorageError(
                f"{self._shown} was written by a newer version of flexibo (schema {schema}, this one knows {SCHEMA}); "
                "update flexibo."
            )


def _make_durable(connection: Any, _record: Any) -> None:
    """SQLite: readers do not block the writer, and a commit survives a power loss."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA busy_timeout=30000")
    cursor.close()
