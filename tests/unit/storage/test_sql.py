"""Studies in a database: what is listed, and which URLs can be used."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from flexibo.errors import FlexiBOError, InvalidTypeError, InvalidValueError
from flexibo.storage import Sign, open_storage
from flexibo.storage._sqlite import SQLite
from flexibo.storage.sql import SQLStorage, StoredStudy, existing_storage, stored_studies


@pytest.mark.parametrize(
    "url",
    [
        "study.db",
        "",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///study.db?mode=ro",
        "sqlite+aiosqlite:///study.db",
        "mysql://me:secret@host/db",
        "nodatabase://me:secret@host/db",
        "postgresql://me:secret@host:port/db",
        "me:secret@host/db",
        "host=h password=secret",
        "sqlite+pysqlcipher://:secret@/study.db",
    ],
)
def test_a_url_that_cannot_be_used_is_one_sentence_with_an_example_and_no_password(url: str) -> None:
    with pytest.raises(FlexiBOError, match=r"sqlite:///study\.db") as caught:
        open_storage(url, "study")
    assert isinstance(caught.value, ValueError)
    assert "secret" not in repr(caught.value)
    assert not os.path.exists("study.db")


def test_studies_are_listed_by_name_with_what_identifies_them(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    for name, events in (("net", 2), ("a net", 1)):
        SQLStorage(url, name).commit(0, lambda _, events=events: [{"n": n} for n in range(events)])
    before = {study.name: study for study in stored_studies(url)}
    assert list(before.values()) == [StoredStudy("a net", 1), StoredStudy("net", 2)]
    SQLStorage(url, "net").commit(2, lambda _: [{"n": 2}])
    after = {study.name: study for study in stored_studies(url)}
    assert after["a net"].ends == before["a net"].ends
    assert after["net"].ends[0] == before["net"].ends[0]
    assert after["net"].ends[1] != before["net"].ends[1]


def test_another_study_with_as_many_events_has_other_ends(tmp_path: Path) -> None:
    found = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        url = f"sqlite:///{tmp_path / folder / 'study.db'}"
        SQLStorage(url, "net").commit(0, lambda _, folder=folder: [{"folder": folder}])
        found += stored_studies(url)
    assert found[0] == found[1]
    assert found[0].ends != found[1].ends


@pytest.mark.parametrize(
    ("worker", "error"), [(7, InvalidTypeError), ("", InvalidValueError), ("x" * 201, InvalidValueError)]
)
def test_a_worker_whose_name_cannot_be_stored_is_refused(tmp_path: Path, worker: Any, error: type[Exception]) -> None:
    storage = SQLStorage(f"sqlite:///{tmp_path / 'study.db'}", "study")
    with pytest.raises(error, match="worker is "):
        storage.sign(worker, Sign(1, 0.0, 60.0))
    assert storage.workers() == {}


def test_a_storage_shows_its_file_and_its_study(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    assert repr(SQLStorage(f"sqlite:///{path}", "net")) == f"SQLStorage({str(path)!r}, 'net')"


def test_a_study_is_chosen_among_the_names_of_all_and_its_file_is_looked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/studies.db"
    for name in ("b", "a%", "a_", "A"):
        with closing(SQLStorage(url, name)) as storage:
            storage.commit(0, lambda new: [{"event": "created"}])
    looked: list[Path] = []
    monkeypatch.setattr(SQLite, "schema", lambda self, schema=SQLite.schema: looked.append(self.path) or schema(self))
    with closing(existing_storage(url, lambda names: names[-2])) as storage:
        assert (storage.study, len(storage.read()), len(looked)) == ("a_", 1, 1)
