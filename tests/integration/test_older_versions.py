"""Stored studies of every version of the tables open, keep their numbers, and continue: on SQLite and PostgreSQL."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.postgres import server

from flexibo import Study
from flexibo.history.event_dicts import EVENTS
from flexibo.storage._schema import SCHEMA
from flexibo.storage.sql import SQLStorage, stored_studies

ASSETS = Path(__file__).parents[1] / "assets"
FILES = sorted(ASSETS.glob("study-schema-*.db"))
EXPECTED = {1: ("lenet", 30, 175.0, 11), 2: ("net", 56, 28.5, 20), 3: ("net", 56, 28.5, 20)}
"""By version: the name of the study, its events, what it spent, its measurements."""
CHANGED, CHANGED_HAS = ASSETS / "study-changed.db", ("net", 74, 31.5, 26)
"""The study of the last version after two changes: an option, an objective and a limit more, a narrower range."""


def version_of(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])


def copied(path: Path, kind: str, folder: Path) -> str:
    """The URL of a copy of a SQLite file, or of a PostgreSQL database with the same tables and rows."""
    if kind == "sqlite":
        shutil.copy(path, folder / "study.db")
        return f"sqlite:///{folder / 'study.db'}"
    import psycopg

    url = server().new_database()
    with (
        closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as old,
        psycopg.connect(url.replace("+psycopg", "")) as new,
    ):
        for name, statement in old.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall():
            new.execute(statement.replace("DOUBLE", "DOUBLE PRECISION"))
            rows: list[Any] = old.execute(f"SELECT * FROM {name}").fetchall()
            for row in rows:
                new.execute(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(row))})", row)
    return url


def test_there_is_a_study_of_every_version() -> None:
    assert [version_of(path) for path in FILES] == list(range(1, SCHEMA + 1))


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("path", [*FILES, CHANGED], ids=lambda path: path.stem)
def test_a_study_of_any_version_opens_with_its_numbers_and_continues(path: Path, kind: str, tmp_path: Path) -> None:
    name, events, spent, measurements = CHANGED_HAS if path == CHANGED else EXPECTED[version_of(path)]
    url = copied(path, kind, tmp_path)
    before = SQLStorage(url, name, create=False).read()
    assert [study.events for study in stored_studies(url)] == [events]
    study = Study.load(url)
    assert (study.name, len(study.events), study.spent) == (name, events, spent)
    assert len(study.history.measurements) == measurements
    study.budget = None
    for pending in study.pending:
        study.release(pending)
    evaluation = study.ask()
    assert evaluation is not None
    study.tell(evaluation, 1.0, cost=0.5)
    study.close()
    again = Study.load(url)
    assert again.spent == spent + 0.5
    assert len(again.history.measurements) == measurements + 1
    assert SQLStorage(url, name).read()[:events] == before


@pytest.mark.parametrize("path", FILES[1:], ids=lambda path: path.stem)
def test_the_stored_studies_have_every_kind_of_event_that_there_was(path: Path) -> None:
    storage = SQLStorage(f"sqlite:///{path}", EXPECTED[version_of(path)][0], create=False)
    assert {event["event"] for event in storage.read()} == set(EVENTS) - {"changed"}


def test_a_study_that_was_changed_has_its_changes_and_can_be_changed_again(tmp_path: Path) -> None:
    study = Study.load(copied(CHANGED, "sqlite", tmp_path))
    assert {type(event) for event in study.events} == set(EVENTS.values())
    assert (study.space.names, study.history.names) == (("filters", "ghz", "cores"), ("error", "energy", "memory"))
    assert (study.method.name, study.objectives[2].at_most) == ("parego", 9.0)
    assert {design["cores"] for design in study.history.known_designs} == {2}
    assert len(study.history.designs) < len(study.history.known_designs)  # the range is narrower than it was
    before = study.history.measurements[0].values
    study.change(options={"ghz": (0.5, 2.0)}, method="flexibo")
    assert len(study.history.designs) == len(study.history.known_designs)
    assert study.history.measurements[0].values == before
