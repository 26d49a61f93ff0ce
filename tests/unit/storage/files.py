"""What the tests of stored files and databases share."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from flexibo.storage import StorageError
from flexibo.storage.sql import SQLStorage, stored_studies

FROZEN = Path(__file__).parents[2] / "assets" / "study-schema-1.db"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def lose_last(url: str) -> None:
    """Lose the last event of the study, as a fail-over to a copy that lags behind does."""
    execute(
        url, "DELETE FROM flexibo_events WHERE number = (SELECT max(number) FROM flexibo_events WHERE study = 'study')"
    )


def execute(url: str, statement: str) -> None:
    """Change a database without the library."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


def refused(path: Path) -> str:
    """The one sentence with which a file is refused, however it is opened, without a change to it or beside it."""
    before = contents(path.parent) if path.parent.is_dir() else {}
    said = set()
    for opened in (
        lambda: SQLStorage(f"sqlite:///{path}", "study").read(),
        lambda: SQLStorage(f"sqlite:///{path}", "study", create=False).read(),
        lambda: stored_studies(f"sqlite:///{path}"),
    ):
        with pytest.raises(StorageError) as caught:
            opened()
        said.add(str(caught.value))
    assert (contents(path.parent) if path.parent.is_dir() else {}) == before
    assert all(sentence.startswith(str(path)) and sentence.endswith(".") and "\n" not in sentence for sentence in said)
    return said.pop()


def old_events(path: Path) -> list[str]:
    """The events of study lenet as they stand in the file."""
    query = "SELECT content FROM flexibo_events WHERE study = 'lenet' ORDER BY number"
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        return [content for (content,) in connection.execute(query)]
