"""Events as they are stored: what is written is read again, and what this version does not know is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from flexibo import Evaluation, Space
from flexibo.errors import InvalidValueError
from flexibo.history.event_dicts import EVENTS, UnknownEventError, event_from_dict, event_to_dict, events_from_dicts
from flexibo.history.events import (
    LONGEST_TEXT,
    Added,
    Asked,
    BudgetSet,
    Changed,
    Created,
    Dequeued,
    Enqueued,
    Event,
    Failed,
    FailureKind,
    Forgiven,
    Noted,
    ReferenceFixed,
    Reissued,
    Released,
    RunnerUp,
    Spent,
    Stopped,
    StopSet,
    Told,
)

SPACE = Space({"x": (0.0, 1.0), "k": ["p", "q"]})
DESIGN = SPACE.design({"x": 0.25, "k": "q"})
RUNNER_UP = RunnerUp(SPACE.design({"x": 0.75, "k": "p"}), "b", 0.5, 2.0)
QUESTION = Evaluation(DESIGN, "a", None, 1.5, "a reason", 0, ("a", "b"), initial=True)
ALL: list[Event] = [
    Created({"seed": 3}, {"system": "lenet"}),
    Changed({"seed": 3}, ("the method",), {"system": "other"}, rule=True),
    Changed({"seed": 3}, ()),
    Asked(QUESTION, "w", 2.5),
    Asked(replace(QUESTION, gain=0.1, volume=7.0, attempt=2, then=("b",), initial=False, runner_up=RUNNER_UP)),
    Reissued(0, "w", 3.0, 1.0),
    Told(0, {"a": 0.1 + 0.2, "b": -0.0}, 1.0, "w", True),
    Failed(0, "no answer", 0.5, impossible=True),
    Asked(replace(QUESTION, start=3, stop=9)),
    Told(0, {"a": 0.1, "b": 2.0}, 1.0, reports=((1, 0.5), (3, 0.25))),
    Failed(0, "no answer", 0.5, reports=((1, 0.5),)),
    Released(0, "lost", 2.0),
    Spent(0, 1.0, "w"),
    Added(DESIGN, {"a": 1.0}, {}),
    Enqueued(DESIGN, ("b", "a"), 3, "a wish"),
    Asked(replace(QUESTION, initial=False, queued=0)),
    Dequeued(0, "too expensive"),
    ReferenceFixed({"a": 1.0, "b": 2.0}),
    ReferenceFixed({"a": 1.0, "b": 2.0}, found=True),
    BudgetSet(None),
    StopSet({"max_seconds": 3.0}),
    Forgiven(),
    Noted("a note"),
    Stopped("budget", "spent"),
]


@pytest.mark.parametrize("event", ALL, ids=lambda event: type(event).__name__)
def test_every_event_comes_back_from_json(event: Event) -> None:
    text = json.dumps(event_to_dict(event), allow_nan=False)
    assert event_from_dict(json.loads(text), SPACE) == event


def test_a_given_reference_is_stored_as_it_was_before_references_were_found() -> None:
    assert event_to_dict(ReferenceFixed({"a": 1.0})) == {"event": "reference", "values": {"a": 1.0}}
    old = event_from_dict({"event": "reference", "values": {"a": 1.0}}, SPACE)
    assert old == ReferenceFixed({"a": 1.0}, found=False)


def test_what_has_no_steps_is_stored_as_before_there_were_steps() -> None:
    stored = [event_to_dict(event) for event in (Asked(QUESTION), Told(0, {"a": 1.0}, 1.0), Failed(0, "no", 1.0))]
    assert not {"start", "stop", "reports"} & {name for content in stored for name in content}


def test_every_kind_of_event_is_tested_here() -> None:
    assert {event_to_dict(event)["event"] for event in ALL} == set(EVENTS)


def test_the_names_of_stored_events_stay_as_they_are() -> None:
    stored = {name: kind.__name__ for name, kind in EVENTS.items()}
    assert stored == {
        "created": "Created",
        "changed": "Changed",
        "asked": "Asked",
        "reissued": "Reissued",
        "told": "Told",
        "failed": "Failed",
        "released": "Released",
        "spent": "Spent",
        "added": "Added",
        "enqueued": "Enqueued",
        "dequeued": "Dequeued",
        "reference": "ReferenceFixed",
        "budget": "BudgetSet",
        "stop": "StopSet",
        "forgiven": "Forgiven",
        "note": "Noted",
        "stopped": "Stopped",
    }


def test_a_question_of_an_older_version_is_read_with_defaults() -> None:
    content = event_to_dict(Asked(QUESTION))
    for name in ("worker", "seconds", "attempt", "volume"):
        del content[name]
    assert "runner_up" not in content
    assert event_from_dict(content, SPACE) == Asked(QUESTION)


def test_the_time_of_an_event_is_for_people_alone() -> None:
    content = event_to_dict(Noted("a note"))
    assert event_from_dict(content | {"time": 1.5}, SPACE) == event_from_dict(content, SPACE)
    assert content == {"event": "note", "text": "a note"}


def test_a_kind_of_a_newer_version_is_told_from_damage() -> None:
    with pytest.raises(UnknownEventError, match="'exploded'"):
        event_from_dict({"event": "exploded"}, SPACE)
    for content in ({}, {"event": 7}, {"event": None}):
        with pytest.raises(InvalidValueError) as refused:
            event_from_dict(content, SPACE)
        assert not isinstance(refused.value, UnknownEventError)


@pytest.mark.parametrize("design", [{"x": 7.0, "k": "p"}, {"x": 0.5}, {"x": 0.5, "k": "p", "z": 1}])
def test_a_design_outside_the_space_is_refused(design: dict[str, Any]) -> None:
    for event in (Asked(QUESTION), Added(DESIGN, {"a": 1.0}, {})):
        with pytest.raises(InvalidValueError):
            event_from_dict(event_to_dict(event) | {"design": design}, SPACE)
    second = {"design": design, "objective": "a", "gain": 1.0, "cost": 1.0}
    with pytest.raises(InvalidValueError):
        event_from_dict(event_to_dict(Asked(QUESTION)) | {"runner_up": second}, SPACE)


def test_a_failure_keeps_its_kind_and_one_of_an_older_version_is_an_error() -> None:
    stored = json.loads(json.dumps(event_to_dict(Failed(3, "slow", 5.0, kind=FailureKind.TIMEOUT))))
    event = event_from_dict(stored, SPACE)
    assert isinstance(event, Failed)
    assert event.kind is FailureKind.TIMEOUT
    del stored["kind"]
    older = event_from_dict(stored, SPACE)
    assert isinstance(older, Failed)
    assert older.kind is FailureKind.ERROR
    with pytest.raises(InvalidValueError, match="'bored'"):
        event_from_dict(stored | {"kind": "bored"}, SPACE)


def test_added_failures_are_stored() -> None:
    event = Added(DESIGN, {}, {"a": 1.0}, {"a": "too large"})
    assert event_from_dict(json.loads(json.dumps(event_to_dict(event))), SPACE) == event


def test_a_long_text_that_is_stored_is_cut_when_it_is_read() -> None:
    read = event_from_dict({"event": "failed", "number": 0, "reason": "x" * 10**6, "cost": 0.0}, SPACE)
    assert isinstance(read, Failed)
    assert len(read.reason) == LONGEST_TEXT


def test_many_events_are_read_as_one_by_one() -> None:
    contents = [{**event_to_dict(event), "time": 1.0} for event in (Noted("a"), Added(DESIGN, {"a": 1.0}, {}))]
    assert events_from_dicts(contents, SPACE) == [event_from_dict(content, SPACE) for content in contents]
    with pytest.raises(InvalidValueError):
        events_from_dicts([*contents, {**contents[1], "design": {}}], SPACE)
