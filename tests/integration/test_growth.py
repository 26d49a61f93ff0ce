"""A study that has grown opens from a snapshot, and is the same study as without one."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from benchmarks.growth import write_study

from flexibo import Study
from flexibo.history import History
from flexibo.study import event_log

EVALUATIONS = 60


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A stored study that has a snapshot of its first events, and some events after it."""
    monkeypatch.setattr(event_log, "LEAST_BETWEEN", 50)
    url = f"sqlite:///{tmp_path}/study.db"
    write_study(url, EVALUATIONS)
    study = Study.load(url)
    study.note("a snapshot is due")
    study.note("and this comes after it")
    return url


def replays(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events each history is extended by."""
    counts: list[int] = []
    extend = History.extend

    def counted(self: History, events: list[object]) -> None:
        counts.append(len(events))
        extend(self, events)  # type: ignore[arg-type]

    monkeypatch.setattr(History, "extend", counted)
    return counts


def without_snapshots(url: str) -> Study:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    with connection:
        connection.execute("DELETE FROM flexibo_snapshots")
    connection.close()
    return Study.load(url)


def test_a_study_opens_from_its_snapshot_and_asks_what_a_replay_would_ask(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = replays(monkeypatch)
    study = Study.load(url)
    assert sum(counts) == 1, "only what came after the snapshot is replayed"
    other = without_snapshots(url)
    assert sum(counts) > 2 * EVALUATIONS
    assert study._mind.optimizer.ask(study.history) == other._mind.optimizer.ask(other.history)
    assert study.front() == other.front()
    assert study.events == other.events
    assert list(study.history.measurements) == list(other.history.measurements)
    assert list(study.trace()) == list(other.trace())


def test_it_goes_on_from_a_snapshot(url: str) -> None:
    study = Study.load(url)
    evaluation = study.ask()
    assert evaluation is not None
    study.tell(evaluation, 0.5, cost=1.0)
    again = without_snapshots(url)
    assert again.spent == study.spent
    assert again.history.answered == study.history.answered


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE flexibo_snapshots SET content = x'00'",
        "UPDATE flexibo_snapshots SET events = 7",
        "UPDATE flexibo_snapshots SET digest = 'another'",
    ],
)
def test_a_damaged_snapshot_is_as_if_there_were_none(url: str, damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = Study.load(url)
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    with connection:
        connection.execute(damage)
    connection.close()
    counts = replays(monkeypatch)
    study = Study.load(url)
    assert sum(counts) > 2 * EVALUATIONS
    assert (study.spent, len(study.events)) == (wanted.spent, len(wanted.events))


def test_a_snapshot_of_another_version_is_not_used(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "_VERSION", b"another")
    counts = replays(monkeypatch)
    Study.load(url)
    assert sum(counts) > 2 * EVALUATIONS


def test_a_state_that_cannot_be_read_is_replaced_by_a_replay(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("no such field")

    monkeypatch.setattr(event_log, "restore", broken)
    assert len(Study.load(url).history.asked) == EVALUATIONS
    assert "no such field" in caplog.text


def test_looking_at_a_study_stores_no_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    write_study(url, EVALUATIONS)
    monkeypatch.setattr(event_log, "LEAST_BETWEEN", 50)
    before = (tmp_path / "study.db").read_bytes()
    Study.load(url).front()
    assert (tmp_path / "study.db").read_bytes() == before
