from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from flexibo.errors import FlexiBOError
from flexibo.storage import MemoryStorage, Storage, open_storage
from flexibo.storage.sql import SQLStorage

Make = Callable[[], Storage]


@pytest.fixture(params=["memory", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "memory":
        return MemoryStorage()
    return SQLStorage(f"sqlite:///{tmp_path / 'study.db'}", "study")


def test_events_come_back_in_order(storage: Storage) -> None:
    assert storage.read() == []
    storage.append([{"event": "a", "x": 1.5}, {"event": "b", "text": "ü'; DROP TABLE events; --"}])
    storage.append([{"event": "c", "nested": {"list": [1, None, True]}}])
    assert [event["event"] for event in storage.read()] == ["a", "b", "c"]
    assert storage.read()[1]["text"] == "ü'; DROP TABLE events; --"
    assert storage.read()[2]["nested"] == {"list": [1, None, True]}


def test_what_was_read_can_be_changed_without_harm(storage: Storage) -> None:
    storage.append([{"event": "a"}])
    storage.read()[0]["event"] = "changed"
    assert storage.read() == [{"event": "a"}]


def test_two_studies_share_a_file_without_mixing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    first, second = SQLStorage(url, "first"), SQLStorage(url, "second")
    first.append([{"event": "a"}])
    second.append([{"event": "b"}])
    assert first.read() == [{"event": "a"}]
    assert second.read() == [{"event": "b"}]


def test_a_second_writer_is_told_and_nothing_is_overwritten(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    first, second = SQLStorage(url, "study"), SQLStorage(url, "study")
    assert first.read() == second.read() == []
    first.append([{"event": "a"}])
    with pytest.raises(FlexiBOError, match="Another process wrote"):
        second.append([{"event": "b"}])
    assert second.read() == [{"event": "a"}]


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    SQLStorage(url, "study")
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE flexibo SET schema = 99"))
    engine.dispose()
    with pytest.raises(FlexiBOError, match="newer version"):
        SQLStorage(url, "study")


def test_a_foreign_file_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, not a database\n" * 40)
    before = path.read_bytes()
    with pytest.raises(FlexiBOError, match="cannot be used"):
        SQLStorage(f"sqlite:///{path}", "study")
    assert path.read_bytes() == before


def test_a_password_in_a_url_is_never_shown() -> None:
    with pytest.raises(FlexiBOError) as caught:
        open_storage("nodatabase://me:secret@host/db", "study")
    assert "secret" not in str(caught.value)
