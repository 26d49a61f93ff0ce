"""A stored event that was damaged or edited is refused with its number, and nothing of it is believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.study.damaged_logs import SPACE, TOLD, holding, position

from flexibo import Study
from flexibo.history.event_dicts import UnknownEventError
from flexibo.storage import StorageError


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
        ({"event": "reference", "values": {"a": 3, "b": 3}, "found": 1}, "'found' is 1"),
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
