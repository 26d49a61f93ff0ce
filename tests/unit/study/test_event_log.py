"""The log of a study and its history stay in step; a damaged study is refused wherever it is read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.unit.study.damaged_logs import ASKED, TOLD, filled, holding, position
from typer.testing import CliRunner

from flexibo import Study
from flexibo.cli import app
from flexibo.history import History
from flexibo.history.events import Noted
from flexibo.storage import MemoryStorage, StorageError, open_storage
from flexibo.storage._chain import next_digest
from flexibo.storage.base import Decide, SnapshotStorage
from flexibo.study import event_log
from flexibo.study.event_log import EventLog


def test_no_event_is_learned_beside_a_damaged_one(contents: list[dict[str, Any]]) -> None:
    study = filled(MemoryStorage())
    history = History(study.space, study.objectives)
    log = EventLog(MemoryStorage(), history, name="net")
    log.learn(contents)
    before = len(history.events), history.spent
    reissued = {"event": "reissued", "number": ASKED - 1, "worker": "w", "seconds": 0.0, "cost": 0.0}
    with pytest.raises(StorageError, match=r"^Event 16 of study 'net' .*evaluation 5 .*not pending"):
        log.learn([reissued, TOLD, reissued])
    assert (len(history.events), history.spent) == before
    log.learn([reissued, TOLD])
    assert history.spent == before[1] + 1.0


def test_a_rule_that_was_changed_is_named_as_a_remedy(contents: list[dict[str, Any]]) -> None:
    contents[0]["settings"]["space"]["has_rule"] = True
    at = position(contents, "asked")
    contents[at]["design"] |= {"x": 0.875}
    with pytest.raises(StorageError, match=rf"^Event {at} .* Open .*\brule\b"):
        Study.load(holding(contents), valid=lambda design: design["x"] != 0.875)


def written(path: Path, study: str, text: str) -> None:
    """Put an event behind those of a study, past all checks."""
    with closing(sqlite3.connect(path)) as connection, connection:
        query = "SELECT number, digest FROM flexibo_events WHERE study = ? ORDER BY number DESC"
        last, digest = connection.execute(query, (study,)).fetchone()
        row = (study, last + 1, text, None, next_digest(digest, text))
        connection.execute("INSERT INTO flexibo_events VALUES (?, ?, ?, ?, ?)", row)


def test_a_study_that_is_damaged_does_not_hide_the_others(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    url = f"sqlite:///{path}"
    bad = ["[" * 100_000, "[]", json.dumps(TOLD | {"number": 99}), '{"event": "budget", "budget": "x"}', "1"]
    for i, text in enumerate(bad):
        filled(url, f"bad {i}")
        written(path, f"bad {i}", text)
    filled(url, "good")
    shown = CliRunner().invoke(app, ["list", "--storage", url, "--json"])
    assert shown.exit_code == 0, shown.output
    rows = json.loads(shown.output)
    assert [row["name"] for row in rows if "error" not in row] == ["good"]
    assert all(row["error"].startswith("Event 14 of ") for row in rows if "error" in row)


class Crossed(MemoryStorage):
    """Something happens between the last look of a writer and its lock; knows whether it is locked."""

    def __init__(self) -> None:
        super().__init__()
        self.crossing: list[Callable[[], object]] = []
        self.locked = 0

    def commit(self, after: int, decide: Decide) -> None:
        if self.crossing:
            self.crossing.pop(0)()

        def decided(new: list[dict[str, Any]]) -> Sequence[Mapping[str, Any]]:
            self.locked += 1
            try:
                return decide(new)
            finally:
                self.locked -= 1

        super().commit(after, decided)


def replays_while_locked(storage: Crossed, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each replay of all events from now on: whether others wait for it."""
    found: list[bool] = []
    replay = History.changed_to

    def noted(history: History, *given: Any, **more: Any) -> History:
        found.append(bool(storage.locked))
        return replay(history, *given, **more)

    monkeypatch.setattr(History, "changed_to", noted)
    return found


def test_nobody_waits_while_the_events_of_a_changed_study_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = Crossed()
    worker, boss = filled(storage), Study.load(storage)
    locked = replays_while_locked(storage, monkeypatch)
    boss.change(options={"x": (0.0, 0.5)})
    assert locked
    storage.crossing = [partial(boss.change, options={"x": (0.0, 0.25)}), lambda: boss.note("meanwhile")]
    worker.note("late")
    assert not any(locked)
    assert [event.text for event in worker.events if isinstance(event, Noted)] == ["meanwhile", "late"]
    assert worker.events == Study.load(storage).events
    assert worker.settings == boss.settings


def test_a_writer_is_not_overtaken_by_changes_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = Crossed()
    worker, boss = filled(storage), Study.load(storage)
    locked = replays_while_locked(storage, monkeypatch)
    storage.crossing = [partial(boss.change, options={"x": (0.0, 1 / (2 + i))}) for i in range(20)]
    storage.crossing = [step for each in storage.crossing for step in (each, lambda: None)]  # a change commits, too
    worker.note("at last")
    assert any(locked)
    assert worker.events == Study.load(storage).events
    assert len(storage.crossing) > 20


def test_the_snapshot_of_a_grown_study_is_renewed_when_it_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "LEAST_BETWEEN", 10)
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = filled(url)
    study.change(options={"x": (0.0, 0.5)})
    changed = len(study.events)
    with closing(open_storage(url, "study")) as storage:
        assert isinstance(storage, SnapshotStorage)
        snapshot = storage.snapshot(event_log.HISTORY)
        assert snapshot is not None
        assert snapshot.events == changed
    monkeypatch.setattr(EventLog, "_keep", lambda *given: None)  # as if killed
    study.change(options={"x": (0.0, 0.25)})
    monkeypatch.undo()
    monkeypatch.setattr(event_log, "LEAST_BETWEEN", 10)
    locked = replays_while_locked(Crossed(), monkeypatch)
    with Study.load(url) as other:
        other.note("the next one that writes")
    assert len(locked) == 1
    with Study.load(url) as last:
        assert len(locked) == 1
        assert last.events == other.events
