"""The log of a study and its history stay in step; a damaged study is refused wherever it is read."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.unit.study.damaged_logs import ASKED, TOLD, filled, holding, position
from typer.testing import CliRunner

from flexibo import Study
from flexibo.cli import app
from flexibo.history import History
from flexibo.storage import MemoryStorage, StorageError
from flexibo.storage._chain import next_digest
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
