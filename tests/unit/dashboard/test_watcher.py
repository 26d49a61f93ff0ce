"""Watching storages: errors are messages, and nothing is written."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from flexibo import Study
from flexibo.dashboard.watcher import StorageWatcher, Watcher


def nothing() -> None:
    """A report that nobody hears."""


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/study.db"


def test_another_study_with_as_many_events_in_its_place_is_seen(
    make_study: Callable[..., Study], tmp_path: Path
) -> None:
    url, path = f"sqlite:///{tmp_path}/study.db", tmp_path / "study.db"
    make_study(storage=url, budget=40).close()
    watch = StorageWatcher(url, "key", nothing)
    watch.look()
    before = watch.followers["study"].version
    path.unlink()
    make_study(storage=url, budget=77, seed=3).close()
    watch.look()
    follower = watch.followers["study"]
    assert follower.summary("")["read"] == 2, "as many as before"
    assert follower.summary("")["budget"] == 77
    assert follower.version != before


def test_a_pipe_is_no_storage(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "study.db")
    watch = StorageWatcher(f"sqlite:///{tmp_path}/study.db", "key", nothing)
    watch.look()
    assert f"{tmp_path / 'study.db'} is a pipe" in watch.problem


def test_a_storage_that_vanishes_keeps_what_was_seen_and_recovers(
    make_study: Callable[..., Study], tmp_path: Path
) -> None:
    url, path = f"sqlite:///{tmp_path}/study.db", tmp_path / "study.db"
    make_study(storage=url).note("before")
    watch = StorageWatcher(url, "key", nothing)
    watch.look()
    shutil.move(path, tmp_path / "away.db")
    watch.look()
    assert "no file" in watch.problem
    assert [follower.name for follower in watch.followers.values()] == ["study"]
    shutil.move(tmp_path / "away.db", path)
    make_study(storage=url).note("after")
    watch.look()
    assert watch.problem == ""
    assert watch.followers["study"].summary("")["events"] == 4


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"", os.urandom(8192)])
def test_a_file_that_is_no_storage_is_a_sentence_and_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "study.db"
    path.write_bytes(content)
    watch = StorageWatcher(f"sqlite:///{path}", "key", nothing)
    watch.look()
    assert watch.followers == {}
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["study.db"]
    assert bool(watch.problem) == bool(content), "an empty file holds no studies yet"


def test_a_locked_storage_is_a_sentence_until_it_is_free(
    make_study: Callable[..., Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    make_study(storage=url)
    monkeypatch.setattr("flexibo.dashboard.watcher.PATIENCE", 0.0)
    watch = StorageWatcher(url, "key", nothing)
    greedy = sqlite3.connect(tmp_path / "study.db", isolation_level=None)
    greedy.execute("PRAGMA locking_mode=EXCLUSIVE")
    greedy.execute("BEGIN EXCLUSIVE")
    watch.look()
    assert watch.problem
    greedy.rollback()
    greedy.close()
    watch.look()
    assert watch.problem == ""
    assert list(watch.followers) == ["study"]


def test_looking_makes_no_file_and_leaves_no_connection(make_study: Callable[..., Study], tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    make_study(storage=url).close()
    import gc

    gc.collect()
    before = (sorted(os.listdir(tmp_path)), (tmp_path / "study.db").read_bytes())
    watch = Watcher([url, f"sqlite:///{tmp_path}/other.db"])
    for _ in range(3):
        watch.look()
    assert (sorted(os.listdir(tmp_path)), (tmp_path / "study.db").read_bytes()) == before


def test_ids_hold_no_name_and_tell_the_same_name_in_two_storages_apart(
    make_study: Callable[..., Study], tmp_path: Path
) -> None:
    urls = [f"sqlite:///{tmp_path}/{name}.db" for name in ("one", "two")]
    for url in urls:
        make_study(storage=url, name="../secret")
    watch = Watcher(urls)
    watch.look()
    ids = [study["id"] for study in watch.summary()["studies"]]
    assert len(set(ids)) == 2
    assert all(len(id_) == 16 and set(id_) <= set("0123456789abcdef") for id_ in ids)
    again = Watcher(urls)
    again.look()
    assert [study["id"] for study in again.summary()["studies"]] == ids


def test_passwords_of_storages_are_in_nothing_that_is_sent() -> None:
    url = "postgresql://ada:s3cret-pass@127.0.0.1:1/studies?connect_timeout=2"
    watch = Watcher([url])
    watch.look()
    said = str(watch.summary())
    assert "s3cret-pass" not in said
    assert "***" in said
    assert watch.summary()["storages"][0]["problem"]


def test_nobody_looks_when_nobody_watches(make_study: Callable[..., Study], url: str) -> None:
    make_study(storage=url)
    seconds = [0.0]
    watch = Watcher([url], period=0.0, clock=lambda: seconds[0])
    heard = watch.listen(nothing)
    assert watch._is_watched(0)
    heard()
    assert watch._is_watched(0) is False
    watch.attend()
    assert watch._is_watched(0)
    seconds[0] += 60.0
    assert watch._is_watched(0) is False
    watch.close()


def test_a_name_that_no_storage_takes_is_a_sentence_and_hides_no_other_study(
    make_study: Callable[..., Study], tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    make_study(storage=url)
    with sqlite3.connect(tmp_path / "study.db") as forged:
        forged.execute("UPDATE flexibo_events SET study = ?", ("a\nflexibo: all is well\x1b[2J",))
    forged.close()
    make_study(storage=url)
    watch = Watcher([url])
    watch.look()
    said = {study["name"]: study for study in watch.summary()["studies"]}
    assert said["study"]["state"] != "unreadable"
    (other,) = said.keys() - {"study"}
    assert said[other]["state"] == "unreadable"
    assert "\n" not in said[other]["problem"]
    assert "\x1b" not in said[other]["problem"]
