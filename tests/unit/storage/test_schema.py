"""The tables of a database: their version, and how older ones are brought up to date."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.unit.storage.files import FROZEN, old_events, refused

from flexibo.storage import Sign, StorageError
from flexibo.storage._schema import SCHEMA, bring_up_to_date, events, info, studies, version
from flexibo.storage.sql import SQLStorage, StoredStudy, stored_studies


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    shutil.copy(FROZEN, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE flexibo SET schema = 99")
    assert re.search(rf"schema 99,.* {SCHEMA}\b", refused(path))


def test_a_file_of_schema_1_is_brought_up_to_date_with_its_events_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    shutil.copy(FROZEN, path)
    before = old_events(path)
    storage = SQLStorage(f"sqlite:///{path}", "lenet")
    assert [json.dumps(event) for event in storage.read()] == before
    assert len(before) == 30
    storage.commit(30, lambda _: [{"event": "new"}])
    storage.sign("ada", Sign(1, 0.0, 60.0))
    del storage
    assert old_events(path) == [*before, '{"event": "new"}']
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT schema FROM flexibo").fetchall() == [(SCHEMA,)]
        assert connection.execute("SELECT study FROM flexibo_studies").fetchall() == [("lenet",)]


def test_a_reader_leaves_a_file_of_schema_1_as_it_is_until_it_writes(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    shutil.copy(FROZEN, path)
    storage = SQLStorage(f"sqlite:///{path}", "lenet", create=False)
    assert len(storage.read()) == 30
    assert storage.workers() == {}
    assert stored_studies(f"sqlite:///{path}") == [StoredStudy("lenet", 30)]
    del storage
    assert path.read_bytes() == FROZEN.read_bytes()
    storage = SQLStorage(f"sqlite:///{path}", "lenet", create=False)
    storage.commit(30, lambda _: [{"event": "new"}])
    assert len(storage.read()) == 31
    assert storage.workers() == {}


@pytest.fixture
def connection() -> Iterator[sa.Connection]:
    """A connection to an empty database in memory."""
    engine = sa.create_engine("sqlite://", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def test_an_empty_database_has_no_version_and_gets_the_newest(connection: sa.Connection) -> None:
    assert version(connection) is None
    for _ in range(2):
        bring_up_to_date(connection, "study.db")
        assert version(connection) == SCHEMA
    assert len(connection.execute(sa.select(info)).all()) == 1


def test_a_version_1_that_was_killed_before_it_wrote_its_number_is_brought_up_to_date(
    connection: sa.Connection,
) -> None:
    connection.exec_driver_sql("CREATE TABLE flexibo (schema INTEGER NOT NULL)")
    connection.exec_driver_sql("CREATE TABLE flexibo_events (study VARCHAR(200), number INTEGER, content TEXT)")
    connection.exec_driver_sql("INSERT INTO flexibo_events VALUES ('net', 0, '{}'), ('net', 1, '{}')")
    assert version(connection) == 1
    bring_up_to_date(connection, "study.db")
    assert version(connection) == SCHEMA
    assert connection.execute(sa.select(studies.c.study)).all() == [("net",)]
    assert connection.execute(sa.select(events.c.token)).all() == [(None,), (None,)]


def test_a_newer_version_is_named_and_left_alone(connection: sa.Connection) -> None:
    bring_up_to_date(connection, "study.db")
    connection.execute(info.update(), {"schema": SCHEMA + 5})
    with pytest.raises(StorageError, match=rf"study\.db .*schema {SCHEMA + 5},.* {SCHEMA}\b"):
        bring_up_to_date(connection, "study.db")
    assert version(connection) == SCHEMA + 5
