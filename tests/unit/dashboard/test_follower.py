"""Following stored studies: what is new is learned, what is old stays, and nothing is written."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from flexibo import Study
from flexibo.dashboard.follower import RETRY_SECONDS, Follower
from flexibo.dashboard.growing_copy import GrowingCopy
from flexibo.dashboard.study_details import LONGEST, SHOWN, StudyDetails
from flexibo.dashboard.watcher import StorageWatcher, Watcher
from flexibo.storage import open_storage
from flexibo.transfer import records, study_copy
from flexibo.views import spending_view

Functions = dict[str, Callable[..., object]]


def nothing() -> None:
    """A report that nobody hears."""


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/study.db"


def follower_of(url: str, name: str = "study", **more: object) -> Follower:
    return Follower(url, name, "key", **more)  # type: ignore[arg-type]


def test_a_copy_that_grows_is_the_copy_that_is_made_at_once(
    make_study: Callable[..., Study], functions: Functions, url: str
) -> None:
    make_study(storage=url, budget=60).run(functions)
    whole = study_copy(url)
    growing = GrowingCopy(dict(whole.contents[0]), "study")
    for i in range(1, len(whole.contents), 7):
        growing.learn(whole.contents[i : i + 7])
    assert len(growing) == len(whole.contents)
    assert growing.records == records(whole.study.history, whole.times)
    assert growing.study.front() == whole.study.front()
    assert growing.study.spent == whole.study.spent
    assert growing.copy({}).times == whole.times


def test_only_what_is_new_is_read(make_study: Callable[..., Study], url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from flexibo.storage.sql import SQLStorage

    asked: list[int] = []
    read = SQLStorage.read
    monkeypatch.setattr(SQLStorage, "read", lambda self, after=0: asked.append(after) or read(self, after))
    study = make_study(storage=url)
    follower = follower_of(url)
    follower.look(2, nothing)
    asked.clear()
    study.tell(study.ask(), 0.5, cost=1.0)
    asked.clear()
    before = len(follower.contents)
    follower.look(before + 2, nothing)
    assert asked == [before - 1]
    assert len(follower.contents) == before + 2
    assert follower.summary("")["spent"] == 1.0


def test_there_is_no_look_where_nothing_can_have_changed(make_study: Callable[..., Study], url: str) -> None:
    study = make_study(storage=url)
    follower = follower_of(url)
    assert follower.is_behind(2)
    follower.look(2, nothing)
    assert not follower.is_behind(2)
    assert follower.is_behind(3)
    with study:
        study.ask()
        follower.look(3, nothing)
        assert follower.is_behind(3), "a worker is there, and its signs may change"


def test_another_study_in_its_place_is_read_from_the_beginning(
    make_study: Callable[..., Study], functions: Functions, tmp_path: Path
) -> None:
    url, path = f"sqlite:///{tmp_path}/study.db", tmp_path / "study.db"
    make_study(storage=url, budget=40).run(functions)
    follower = follower_of(url)
    follower.look(1, nothing)
    before = follower.version
    path.unlink()
    make_study(storage=url, budget=77, seed=3)
    follower.look(2, nothing)
    assert follower.problem == ""
    assert follower.summary("")["budget"] == 77
    assert follower.version != before
    assert len(follower.contents) == len(study_copy(url).contents)


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


def test_a_version_is_that_of_the_events_in_every_dashboard(make_study: Callable[..., Study], tmp_path: Path) -> None:
    versions = []
    for name, budget in (("one", 40), ("one", 40), ("two", 77)):
        url = f"sqlite:///{tmp_path}/{name}.db"
        make_study(storage=url, budget=budget).close()
        follower = follower_of(url)
        follower.look(2, nothing)
        assert len(follower.contents) == 2
        versions.append(follower.version)
    assert versions[0] == versions[1], "a dashboard that was started again need not send it again"
    assert versions[0] != versions[2]


def test_what_runs_is_expected_to_cost_the_same_wherever_it_is_said(make_study: Callable[..., Study], url: str) -> None:
    with make_study(storage=url, budget=1000) as study:
        for cost in (1.0, 2.0, 1.5, 2.5):
            study.tell(study.ask(), cost, cost=cost)
        waiting = study.ask(2)
        study.tell(study.ask(), 1.0, cost=100.0)
        study.tell(study.ask(), 1.0, cost=100.0)
        follower = follower_of(url)
        follower.look(1, nothing)
        copy = study_copy(url)
    said = StudyDetails(follower, "here").to_dict()["reserved"]
    assert said == spending_view(copy.study).reserved
    assert said == pytest.approx(sum(evaluation.cost for evaluation in waiting))


def test_a_pipe_is_no_storage(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "study.db")
    watch = StorageWatcher(f"sqlite:///{tmp_path}/study.db", "key", nothing)
    watch.look()
    assert "is no file" in watch.problem


def test_a_damaged_event_is_a_sentence_and_what_came_before_it_stays(
    make_study: Callable[..., Study], url: str, tmp_path: Path
) -> None:
    study = make_study(storage=url)
    study.tell(study.ask(), 0.5, cost=1.0)
    seconds = [0.0]
    follower = follower_of(url, clock=lambda: seconds[0])
    follower.look(4, nothing)
    open_storage(url, "study").commit(0, lambda _: [{"event": "told", "number": 99, "values": {}, "cost": 1.0}])
    follower.look(5, nothing)
    assert "is damaged" in follower.problem
    assert follower.summary("")["spent"] == 1.0
    assert not follower.is_behind(5), "it is not read again at once"
    seconds[0] += RETRY_SECONDS
    assert follower.is_behind(5)


def test_a_beginning_that_is_no_study_is_a_sentence(url: str) -> None:
    open_storage(url, "odd").commit(0, lambda _: [{"event": "told"}])
    follower = follower_of(url, "odd")
    follower.look(1, nothing)
    assert "is damaged" in follower.problem
    assert follower.state() == "unreadable"


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


def test_facts_are_limited_and_count_what_they_leave_out(make_study: Callable[..., Study], url: str) -> None:
    study = make_study(storage=url)
    for i in range(SHOWN + 5):
        study.note(f"note {i}")
    study.note("x" * (LONGEST + 100))
    study.fail(study.ask(), "the board is on fire", cost=2.0)
    follower = follower_of(url)
    follower.look(1, nothing)
    facts = StudyDetails(follower, "here").to_dict()
    assert (len(facts["notes"]), facts["notes_in_all"]) == (SHOWN, SHOWN + 6)
    assert len(facts["notes"][0]["text"]) == LONGEST + 1
    assert [row["reason"] for row in facts["failures"]] == ["the board is on fire"]
    assert facts["overview"]["spent"] == 2.0
    assert facts["state"] in ("waiting", "silent")


def test_only_the_last_failures_are_sent(
    make_study: Callable[..., Study], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flexibo.dashboard.study_details.SHOWN", 2)
    study = make_study(storage=url)
    for i in range(4):
        study.fail(study.ask(), f"failure {i}", cost=1.0)
    follower = follower_of(url)
    follower.look(1, nothing)
    facts = StudyDetails(follower, "here").to_dict()
    assert [row["reason"] for row in facts["failures"]] == ["failure 3", "failure 2"]
    assert facts["failures_in_all"] == 4


def test_the_queue_says_who_measures_since_when_and_under_which_lease(
    make_study: Callable[..., Study], url: str
) -> None:
    with make_study(storage=url, lease=45) as study:
        evaluation = study.ask()
        follower = follower_of(url)
        follower.look(1, nothing)
        (row,) = StudyDetails(follower, "here").to_dict()["queue"]
    assert (row["number"], row["objective"]) == (evaluation.number, evaluation.objective)
    assert row["worker"]["pid"] == os.getpid()
    assert (row["worker"]["state"], row["worker"]["lease"]) == ("alive", 45)
    assert row["seconds"] >= 0
    assert follower.state() == "running"


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
