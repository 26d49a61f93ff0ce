"""The tables of a study database, their version, and the migration from older versions."""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from flexibo.storage._chain import DIGEST_BYTES, next_digest
from flexibo.storage.base import LogReplacedError, NewerSchemaError

SCHEMA = 3  # version of the tables; stored in the database when it is created

metadata = sa.MetaData()
info = sa.Table("flexibo", metadata, sa.Column("schema", sa.Integer, nullable=False))
studies = sa.Table("flexibo_studies", metadata, sa.Column("study", sa.String(200), primary_key=True))
"""One row per study: the row that a writer locks."""
events = sa.Table(
    "flexibo_events",
    metadata,
    sa.Column("study", sa.String(200), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("token", sa.String(32)),
    sa.Column("digest", sa.String(2 * DIGEST_BYTES), nullable=False),
)
"""One row per event: its position in the study from 0, JSON, the transaction that added it, and the chained digest."""
workers = sa.Table(
    "flexibo_workers",
    metadata,
    sa.Column("study", sa.String(200), primary_key=True),
    sa.Column("worker", sa.String(200), primary_key=True),
    sa.Column("beat", sa.BigInteger, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("lease", sa.Double, nullable=False),
    sa.Column("about", sa.Text, nullable=False),
)
"""The latest heartbeat of each worker of a study."""
snapshots = sa.Table(
    "flexibo_snapshots",
    metadata,
    sa.Column("study", sa.String(200), primary_key=True),
    sa.Column("kind", sa.String(20), primary_key=True),
    sa.Column("events", sa.Integer, nullable=False),
    sa.Column("digest", sa.String(2 * DIGEST_BYTES), nullable=False),
    sa.Column("checksum", sa.String(2 * DIGEST_BYTES), nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
"""What was computed from the first events of a study: it saves time, and nothing is lost without it."""


def version(connection: sa.Connection) -> int | None:
    if not sa.inspect(connection).has_table(info.name):
        return None
    found: int | None = connection.execute(sa.select(info.c.schema)).scalar()
    return 1 if found is None else found  # version 1 wrote its number after its tables


def check_known(found: int | None, shown: str) -> None:
    if found is not None and found > SCHEMA:
        raise NewerSchemaError(
            f"{shown} was written by a newer version of flexibo (schema {found}, this one knows {SCHEMA}); "
            "update flexibo."
        )


def check_current(connection: sa.Connection, shown: str) -> None:
    """Refuse to write to tables of another version; within a transaction, as another process may migrate them."""
    found: int | None = connection.exec_driver_sql("SELECT schema FROM flexibo").scalar()
    check_known(found, shown)
    if found != SCHEMA:
        raise LogReplacedError(
            f"{shown} has tables of an older version than when it was opened: it was replaced, perhaps by an older "
            "copy. Nothing was changed; open the study again."
        )


def bring_up_to_date(connection: sa.Connection, shown: str) -> None:
    """Create the tables, or migrate older ones, within a transaction that holds a lock."""
    found = version(connection)
    check_known(found, shown)
    if found is None:
        metadata.create_all(connection)
        connection.execute(info.insert(), {"schema": SCHEMA})
        return
    if found < SCHEMA and found > 1 and connection.dialect.name == "postgresql":
        # Who writes holds a lock on the row of its study: wait for it, and let others wait.
        connection.execute(sa.text("LOCK TABLE flexibo_studies IN EXCLUSIVE MODE"))
    for migrate in MIGRATIONS[found - 1 :]:
        migrate(connection)
    if found < SCHEMA:
        connection.execute(info.delete())
        connection.execute(info.insert(), {"schema": SCHEMA})


def _from_1(connection: sa.Connection) -> None:
    """Version 2 has a token per event, a row per study to lock, and heartbeats."""
    connection.execute(sa.text("ALTER TABLE flexibo_events ADD COLUMN token VARCHAR(32)"))
    studies.create(connection)
    workers.create(connection)
    connection.execute(studies.insert().from_select(["study"], sa.select(events.c.study).distinct()))


def _from_2(connection: sa.Connection) -> None:
    """Version 3 has a digest per event, without which nothing can be added: older versions no longer write."""
    is_sqlite = connection.dialect.name == "sqlite"
    table = events.to_metadata(sa.MetaData(), name="flexibo_events_3") if is_sqlite else events
    if is_sqlite:  # which cannot add a column that is never empty
        table.create(connection)
    else:
        connection.execute(sa.text(f"ALTER TABLE flexibo_events ADD COLUMN digest VARCHAR({2 * DIGEST_BYTES})"))
    for study in connection.execute(sa.select(events.c.study).distinct()).scalars().all():
        digest, number = "", -1
        while rows := connection.execute(_STEP, {"of": study, "after": number}).mappings().all():
            changed = []
            for row in rows:
                digest, number = next_digest(digest, str(row["content"])), row["number"]
                changed.append({**row, "digest": digest})
            if is_sqlite:
                connection.execute(table.insert(), changed)
            else:
                connection.execute(
                    _ADD_DIGEST, [{"of": study, "at": row["number"], "is": row["digest"]} for row in changed]
                )
    if is_sqlite:
        connection.execute(sa.text("DROP TABLE flexibo_events"))
        connection.execute(sa.text("ALTER TABLE flexibo_events_3 RENAME TO flexibo_events"))
    else:
        connection.execute(sa.text("ALTER TABLE flexibo_events ALTER COLUMN digest SET NOT NULL"))


_STEP = (
    sa.select(events.c.study, events.c.number, events.c.content, events.c.token)
    .where((events.c.study == sa.bindparam("of")) & (events.c.number > sa.bindparam("after")))
    .order_by(events.c.number)
    .limit(1000)
)
_ADD_DIGEST = (
    events.update()
    .where((events.c.study == sa.bindparam("of")) & (events.c.number == sa.bindparam("at")))
    .values(digest=sa.bindparam("is"))
)
MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (
    _from_1,
    _from_2,
)  # the steps from version 1 to 2, 2 to 3, ...
