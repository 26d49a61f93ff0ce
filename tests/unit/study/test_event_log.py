"""A log that was damaged or edited is refused in one sentence, wherever it is read; nothing of it is believed."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flexibo import Study
from flexibo.cli import app
from flexibo.history import History
from flexibo.history.events import UnknownEventError
from flexibo.storage import MemoryStorage, Storage, StorageError, open_storage, stored_studies
from flexibo.storage._sqlite import schema_of
from flexibo.study.event_log import EventLog

SPACE = {"x": (0.0, 1.0), "k": ["a", "b"]}
ASKED = 6
"""Questions of the study; the last one has no answer."""


def filled(storage: str | Storage, name: str = "study") -> Study:
    """A study with answers, and an open question."""
    study = Study(SPACE, ["a", "b"], method="random", seed=0, n_initial=2, budget=100, storage=storage, name=name)
    for _ in range(ASKED - 1):
        evaluation = study.ask()
        assert evaluation is not None
        study.tell(evaluation, float(evaluation.design["x"]), cost=1.0)
    study.ask()
    study.close()
    return study


@pytest.fixture
def contents() -> list[dict[str, Any]]:
    storage = MemoryStorage()
    filled(storage)
    return json.loads(json.dumps(storage.read()))  # type: ignore[no-any-return]


def holding(contents: list[Any]) -> MemoryStorage:
    """A storage that gives back what it is given, be it events or not."""

    class Held(MemoryStorage):
        def read(self, after: int = 0) -> list[Any]:
            return contents[after:]

    return Held()


def position(contents: list[dict[str, Any]], kind: str) -> int:
    return next(i for i, content in enumerate(contents) if content["event"] == kind)


TOLD = {"event": "told", "number": ASKED - 1, "values": {"a": 1.0}, "cost": 1.0}


@pytest.mark.parametrize(
    ("event", "facts"),
    [
        (TOLD | {"number": 99}, "evaluation 99 .*never"),
        (TOLD | {"number": -1}, r"'number' is -1\."),
        (TOLD | {"number": "x"}, r"'number' is 'x'\."),
        (TOLD | {"number": True}, r"'number' is True\."),
        (TOLD | {"cost": -1000}, r"'cost' is -1000\."),
        (TOLD | {"cost": "lots"}, r"'cost' is 'lots'\."),
        (TOLD | {"cost": None}, r"'cost' is None\."),
        (TOLD | {"cost": float("nan")}, r"'cost' is nan\."),
        (TOLD | {"cost": float("inf")}, r"'cost' is inf\."),
        (TOLD | {"cost": 10**400}, "'cost' is 1000"),
        (TOLD | {"values": {"a": "big"}}, r"'values' is {'a': 'big'}\."),
        (TOLD | {"values": {"a": float("nan")}}, r"'values' is {'a': nan}\."),
        (TOLD | {"values": [1]}, r"'values' is \[1\]\."),
        (TOLD | {"values": {"zzz": 1.0}}, "no objective 'zzz'"),
        (TOLD | {"time": "yesterday"}, r"'time' is 'yesterday'\."),
        (TOLD | {"colour": "red"}, "'colour' is unknown.*newer version"),
        ({"event": "told", "number": 0, "values": {}}, "no field 'cost'"),
        ({"event": "failed", "number": 5, "reason": 5, "cost": 0.0}, r"'reason' is 5\."),
        ({"event": "note", "text": 5}, r"'text' is 5\."),
        ({"event": "budget", "budget": "x"}, r"'budget' is 'x'\."),
        ({"event": "budget", "budget": -5}, r"'budget' is -5\."),
        ({"event": "budget", "budget": 0}, r"'budget' is 0\."),
        ({"event": "stop", "rules": {"zzz": 3}}, "stop rule 'zzz'"),
        ({"event": "stop", "rules": {"max_seconds": -3}}, "'max_seconds' .*-3;"),
        ({"event": "stop", "rules": [1]}, r"'rules' is \[1\]\."),
        ({"event": "reference", "values": {"zzz": 3}}, "no objective 'zzz'"),
        ({"event": "reference", "values": {"a": 3}}, "no value of 'b'"),
        ({"event": "reissued", "number": 0, "worker": "w", "seconds": 0.0, "cost": 0.0}, "evaluation 0 .*not pending"),
        ({"event": "reissued", "number": 55, "worker": "w", "seconds": 0.0, "cost": 0.0}, "evaluation 55 .*never"),
        ({"event": "released", "number": 0}, "evaluation 0 .*not pending"),
        ({"event": "added", "design": {"x": 0.5, "k": "a"}, "values": {"zzz": 1.0}, "costs": {}}, "no objective 'zzz'"),
        ({"event": "added", "design": [1], "values": {"a": 1.0}, "costs": {}}, r"'design' is \[1\]\."),
        ({"event": ["told"]}, "no kind of"),
        ({}, "no kind of"),
        ([1, 2], "JSON object"),
        (7, "JSON object"),
    ],
)
def test_a_damaged_event_is_refused_with_its_number(contents: list[Any], event: Any, facts: str) -> None:
    with pytest.raises(StorageError, match=rf"^Event {len(contents)} of study 'study' .*{facts}.*\bcopy\b"):
        Study.load(holding([*contents, event]))


@pytest.mark.parametrize(
    ("fields", "facts"),
    [
        ({"design": {"x": 7.0, "k": "a"}}, r"Option 'x' is 7\.0"),
        ({"number": 17}, r"evaluation 17 .* -1\."),
        ({"objective": "zzz"}, "'zzz' .*objective"),
        ({"then": ["zzz"]}, "'zzz' .*objective"),
        ({"yields": []}, "yields nothing"),
        ({"seconds": "x"}, r"'seconds' is 'x'\."),
        ({"cost": None}, r"'cost' is None\."),
        ({"runner_up": {"design": {}}}, r"'runner_up' is {'design': {}}\."),
        (
            {"runner_up": {"design": {"x": 7.0, "k": "a"}, "objective": "f", "gain": 1.0, "cost": 1.0}},
            r"Option 'x' is 7\.0",
        ),
        (
            {"runner_up": {"design": {"x": 0.5, "k": "a"}, "objective": "zzz", "gain": 1.0, "cost": 1.0}},
            "'zzz' .*objective",
        ),
    ],
)
def test_a_damaged_question_is_refused_with_its_number(
    contents: list[dict[str, Any]], fields: Mapping[str, Any], facts: str
) -> None:
    at = position(contents, "asked")
    contents[at] |= fields
    with pytest.raises(StorageError, match=rf"^Event {at} of study 'study' .*{facts}"):
        Study.load(holding(contents))


def test_a_study_is_created_once_and_first(contents: list[dict[str, Any]]) -> None:
    with pytest.raises(StorageError, match=r"^Event 14 of study 'study' .* created once"):
        Study.load(holding([*contents, contents[0]]))
    for opened in (lambda found: Study.load(found), lambda found: Study(SPACE, ["a", "b"], storage=found)):
        with pytest.raises(StorageError, match=r"^Event 0 of .* begins .*'created'"):
            opened(holding(contents[1:]))
        with pytest.raises(StorageError, match=r"^Event 0 of .*'settings' is None\."):
            opened(holding([contents[0] | {"settings": None}]))
        with pytest.raises(StorageError, match=r"^Event 0 of .*no setting 'space'"):
            opened(holding([contents[0] | {"settings": {}}]))


def test_an_event_of_a_newer_version_is_no_damage(contents: list[Any]) -> None:
    with pytest.raises(UnknownEventError, match=r"'exploded'.*newer version"):
        Study.load(holding([*contents, {"event": "exploded"}]))


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
        (number,) = connection.execute("SELECT count(*) FROM flexibo_events WHERE study = ?", (study,)).fetchone()
        connection.execute("INSERT INTO flexibo_events VALUES (?, ?, ?, NULL)", (study, number, text))


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


def test_a_file_that_rests_is_checked_once(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    open_storage(f"sqlite:///{path}", "study").commit(0, lambda _: [{"event": "a", "text": "x" * 200_000}])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    asked: list[str] = []
    stale = path.stat().st_mtime - 3600
    os.utime(path, (stale, stale))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", _recording(sqlite3.connect, asked))
        assert schema_of(path)
        first = len(asked)
        for _ in range(3):
            assert schema_of(path)
        assert (first, len(asked)) == (1, 1)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + bytes(4096) + whole[len(whole) // 2 + 4096 :])
    with pytest.raises(StorageError, match=r"study\.db is damaged"):
        stored_studies(f"sqlite:///{path}")


def _recording(connect: Any, asked: list[str]) -> Any:
    """Connections that remember how often a file was checked."""

    def connected(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        connection.set_trace_callback(lambda text: asked.append(text) if "_check" in text else None)
        return connection

    return connected
