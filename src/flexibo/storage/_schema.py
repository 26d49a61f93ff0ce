"""The tables of a study database, their version, and the migration from older versions."""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from flexibo.storage.base import StorageError

SCHEMA = 2  # version of the tables; stored in the database when it is created

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
)
"""One row per event: its position in the study from 0, JSON, and the transaction that added it."""
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


def version(connection: sa.Connection) -> int | None:
    if not sa.inspect(connection).has_table(info.name):
        return None
    found: int | None = connection.execute(sa.select(info.c.schema)).scalar()
    return 1 if found is None else found  # version 1 wrote its number after its tables


def check_known(found: int | None, shown: str) -> None:
    if found is not None and found > SCHEMA:
        raise StorageError(
            f"{shown} was written by a newer version of flexibo (schema {found}, this one knows {SCHEMA}); "
            "update flexibo."
        )


def bring_up_to_date(connection: sa.Connection, shown: str) -> None:
    """Create the tables, or migrate older ones, within a transaction that holds a lock."""
    found = version(connection)
    check_known(found, shown)
    if found is None:
        metadata.create_all(connection)
        connection.execute(info.insert(), {"schema": SCHEMA})
        return
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


MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (_from_1,)  # the steps from version 1 to 2, 2 to 3, ...
