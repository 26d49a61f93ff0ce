"""Snapshots in a database: what was computed from the first events of a study, so that opening it takes little time.

A snapshot names the number of its events and the digest of the last one. It is used only if the log still has that
digest there, and if its own checksum is right; otherwise it is as if there were none.
"""

from __future__ import annotations

import hashlib
from typing import Any

import sqlalchemy as sa

from flexibo.storage._chain import DIGEST_BYTES, Mark, Marks, Seen, checked_contents
from flexibo.storage._database import Database
from flexibo.storage._schema import check_current, events, snapshots
from flexibo.storage.base import Content, Snapshot


def some_events(connection: sa.Connection, study: str, start: int, stop: int, where: str) -> list[Content]:
    """The events from number `start` up to `stop`, each checked against its digest."""
    rows = connection.execute(_BETWEEN, {"of": study, "start": max(start - 1, 0), "stop": stop}).all()
    known = Mark(start, str(rows[0].digest)) if start and rows else Mark()
    found, _ = checked_contents(rows, Seen(known), start, study=study, where=where)
    return found


def found_snapshot(connection: sa.Connection, study: str, kind: str, marks: Marks) -> Snapshot | None:
    """The snapshot of this kind, if it belongs to the log and is undamaged; the end of its events is then a mark."""
    if not sa.inspect(connection).has_table(snapshots.name):
        return None
    row = connection.execute(_SNAPSHOT, {"of": study, "is": kind}).first()
    if row is None or not _is_row(row) or _checksum(row.events, row.digest, row.content) != row.checksum:
        return None
    digest = connection.execute(_DIGEST, {"of": study, "number": row.events - 1}).scalar()
    if digest != row.digest:
        return None
    marks.add(Mark(row.events, row.digest))
    return Snapshot(row.events, bytes(row.content))


def keep(connection: sa.Connection, database: Database, study: str, kind: str, snapshot: Snapshot, mark: Mark) -> None:
    """Replace the snapshot of this kind, unless one of more events is there."""
    database.begin(connection, study)
    check_current(connection, database.shown)
    snapshots.create(connection, checkfirst=True)
    mine = (snapshots.c.study == study) & (snapshots.c.kind == kind)
    there = connection.execute(sa.select(snapshots.c.events).where(mine)).scalar()
    digest = connection.execute(_DIGEST, {"of": study, "number": snapshot.events - 1}).scalar()
    is_older = isinstance(there, int) and there > snapshot.events and kind == "history"
    if digest != mark.digest or is_older:
        database.roll_back(connection)
        return
    row: dict[str, Any] = {"events": snapshot.events, "digest": mark.digest, "content": snapshot.content}
    row["checksum"] = _checksum(**row)
    if there is None:
        connection.execute(snapshots.insert(), {"study": study, "kind": kind, **row})
    else:
        connection.execute(snapshots.update().where(mine), row)
    connection.exec_driver_sql("COMMIT")


def _is_row(row: sa.Row[Any]) -> bool:
    """Whether the columns have the right types: SQLite stores anything in any column."""
    return isinstance(row.events, int) and isinstance(row.digest, str) and isinstance(row.content, bytes | memoryview)


def _checksum(events: int, digest: str, content: bytes) -> str:
    return hashlib.blake2b(f"{events} {digest} ".encode() + bytes(content), digest_size=DIGEST_BYTES).hexdigest()


_BETWEEN = (
    sa.select(events.c.number, events.c.content, events.c.digest)
    .where(
        (events.c.study == sa.bindparam("of"))
        & (events.c.number >= sa.bindparam("start"))
        & (events.c.number < sa.bindparam("stop"))
    )
    .order_by(events.c.number)
)
_SNAPSHOT = sa.select(snapshots).where(
    (snapshots.c.study == sa.bindparam("of")) & (snapshots.c.kind == sa.bindparam("is"))
)
_DIGEST = sa.select(events.c.digest).where(
    (events.c.study == sa.bindparam("of")) & (events.c.number == sa.bindparam("number"))
)
