"""Following a stored study: new events are read, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flexibo import Study
from flexibo.dashboard.follower import RETRY_SECONDS, Follower
from flexibo.storage import open_storage
from flexibo.transfer import study_copy

Functions = dict[str, Callable[..., object]]


def nothing() -> None:
    """A report that nobody hears."""


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/study.db"


def follower_of(url: str, name: str = "study", **more: object) -> Follower:
    return Follower(url, name, "key", **more)  # type: ignore[arg-type]


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
    url = f"sqlite:///{tmp_path}/study.db"
    make_study(storage=url, budget=40).run(functions)
    follower = follower_of(url)
    follower.look(1, nothing)
    before = follower.version
    for file in tmp_path.glob("study.db*"):
        file.unlink()
    make_study(storage=url, budget=77, seed=3)
    follower.look(2, nothing)
    assert follower.problem == ""
    assert follower.summary("")["budget"] == 77
    assert follower.version != before
    assert len(follower.contents) == len(study_copy(url).contents)


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
