"""Studies exported as events and imported: the same events, the same next question, or nothing at all."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.unit.transfer.studies import answered, asked, exported

from flexibo import Study
from flexibo.errors import InvalidValueError
from flexibo.storage import StorageError, open_storage
from flexibo.transfer import import_events, read_events


def changed(lines: list[bytes], at: int, **fields: Any) -> list[bytes]:
    """The lines, one of them with other fields."""
    content = {**json.loads(lines[at]), **fields}
    return [*lines[:at], json.dumps(content).encode(), *lines[at + 1 :]]


def position(lines: list[bytes], kind: str) -> int:
    return next(i for i, line in enumerate(lines) if json.loads(line).get("event") == kind)


def test_an_imported_study_has_the_same_events_and_asks_the_same_next_questions(url: str, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path / 'other.db'}"
    assert import_events(read_events(exported(url), "net.jsonl"), other) == "net"
    assert open_storage(other, "net").read() == open_storage(url, "net").read()
    studies = [Study.load(url), Study.load(other)]
    assert studies[0].events == studies[1].events
    for _ in range(4):
        first, second = (asked(study) for study in studies)
        assert first == second
        answered(studies[0], first)
        answered(studies[1], second)


def test_a_study_is_not_imported_over_another(url: str) -> None:
    before = open_storage(url, "net").read()
    found = read_events(exported(url), "net.jsonl")
    with pytest.raises(StorageError, match=r"study\.db.*'net' already"):
        import_events(found, url)
    assert open_storage(url, "net").read() == before
    assert import_events(found, url, "copy") == "copy"
    assert open_storage(url, "copy").read() == before


@pytest.mark.parametrize(
    ("kind", "fields", "facts"),
    [
        ("asked", {"number": 7}, r"evaluation 7\b.*-1"),
        ("asked", {"objective": "errror"}, "'errror'.*objective"),
        ("asked", {"objective": "ms"}, "'ms'.*objective.*asked"),
        ("asked", {"design": {"x": 2.0, "k": 1, "mode": "fast"}}, r"'x' is 2\.0"),
        ("asked", {"seconds": "soon"}, "'seconds' is 'soon'"),
        ("asked", {"then": ["weight"]}, "'weight'.*objective"),
        ("asked", {"yields": ["weight"]}, "yields weight"),
        ("asked", {"surprise": 1}, "'surprise'.*newer version"),
        ("told", {"number": 99}, r"evaluation 99\b.*asked"),
        ("told", {"number": -1}, "'number' is -1"),
        ("told", {"values": {"weight": 1.0}}, "no objective 'weight'"),
        ("told", {"values": {"error": 1e200}}, "field 'values'"),
        ("told", {"cost": -1.0}, r"'cost' is -1\.0"),
        ("told", {"event": "guessed"}, "event 'guessed'.*newer version"),
        ("failed", {"reason": ["x"]}, "field 'reason'"),
        ("added", {"costs": {"error": -4.0}}, "field 'costs'"),
        ("note", {"event": "created", "settings": {}}, "created once"),
        ("created", {"settings": {}}, "no setting 'space'"),
        ("budget", {"budget": -1e308}, r"'budget' is -1e\+308"),
        ("budget", {"budget": "much"}, "'budget' is 'much'"),
        ("note", {"event": "stop", "rules": {"moon": 1}, "text": None}, "'text'.*unknown"),
        ("created", {"event": "note"}, "begins.*'created'"),
    ],
)
def test_a_damaged_event_is_refused_with_its_line(url: str, kind: str, fields: dict[str, Any], facts: str) -> None:
    lines = exported(url)
    at = position(lines, kind)
    with pytest.raises(InvalidValueError) as caught:
        read_events(changed(lines, at, **fields), "net.jsonl")
    assert re.search(rf"^Line {at + 1} of net\.jsonl .*{facts}", str(caught.value))


@pytest.mark.parametrize(
    ("event", "facts"),
    [
        ({"event": "reissued", "number": 0, "worker": "w", "seconds": 0.0, "cost": 0.0}, r"evaluation 0\b.*pending"),
        ({"event": "released", "number": 0}, r"evaluation 0\b.*pending"),
        ({"event": "stop", "rules": {"moon": 1}}, "stop rule 'moon'"),
        ({"event": "stop", "rules": {"max_evaluations": -1}}, "'max_evaluations'.*limit -1"),
        ({"event": "reference", "values": {"error": 1.0}}, "no value.*'joules'"),
    ],
)
def test_an_event_that_cannot_follow_is_refused_with_its_line(url: str, event: Any, facts: str) -> None:
    lines = changed(exported(url), 0, events=len(exported(url)))
    with pytest.raises(InvalidValueError) as caught:
        read_events([*lines, json.dumps(event).encode()], "net.jsonl")
    assert re.search(rf"^Line {len(lines) + 1} of net\.jsonl .*{facts}", str(caught.value))


@pytest.mark.parametrize(
    ("setting", "value", "facts"),
    [
        ("n_given", "two", "'n_given' is 'two'"),
        ("n_given", 99, "'n_given' is 99,"),
        ("seed", None, "'seed' is None"),
        ("space", {"options": [{"kind": "real"}]}, "'space' is .*'real'"),
        ("space", {"options": [{"name": "x"}]}, "KeyError: 'kind'"),
        ("objectives", [{"name": "error", "colour": "red"}], "TypeError.*'colour'"),
    ],
)
def test_a_damaged_setting_is_refused_with_its_line(url: str, setting: str, value: Any, facts: str) -> None:
    lines = exported(url)
    settings = json.loads(lines[1])["settings"] | {setting: value}
    with pytest.raises(InvalidValueError) as caught:
        read_events(changed(lines, 1, settings=settings), "net.jsonl")
    assert re.search(rf"^Line 2 of net\.jsonl .*{facts}", str(caught.value))


@pytest.mark.parametrize(
    "line", [b"{", b"[1]", b"\xff\xfe", b"", b"[" * 100_000, b'{"event": "budget", "budget": NaN}', b"null"]
)
def test_a_line_that_is_no_event_at_all_is_refused_with_its_number(url: str, line: bytes) -> None:
    lines = exported(url)
    lines[4] = line
    with pytest.raises(InvalidValueError, match=r"^Line 5 of net\.jsonl "):
        read_events(lines, "net.jsonl")


def test_a_file_that_is_cut_off_or_no_export_or_of_the_future_is_refused(url: str) -> None:
    lines = exported(url)
    with pytest.raises(InvalidValueError, match=rf"^net\.jsonl has {len(lines) - 2} events .*\b{len(lines) - 1}\b"):
        read_events(lines[:-1], "net.jsonl")
    with pytest.raises(InvalidValueError, match=rf"^net\.jsonl has {len(lines)} events .*\b{len(lines) - 1}\b"):
        read_events([*lines, lines[-1].replace(b'"number": 11', b'"number": 12')], "net.jsonl")
    for foreign in ([], [b"{}"], [b"x,y\n", b"1,2\n"], [b'{"format": "flexibo-events"}'], lines[1:]):
        with pytest.raises(InvalidValueError, match=r"^net\.jsonl .*flexibo export"):
            read_events(foreign, "net.jsonl")
    with pytest.raises(InvalidValueError, match=r"newer version.*format 2\b.*\b1\b"):
        read_events(changed(lines, 0, version=2), "net.jsonl")
    with pytest.raises(InvalidValueError, match=r"^Line 1 of net\.jsonl .*no study"):
        read_events(changed(lines, 0, study=None), "net.jsonl")
