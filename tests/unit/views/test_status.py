"""The status of a stored study: its numbers, what is in flight and with whom, failures and notes."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from flexibo import Objective, Study
from flexibo.optimizer import StopKind
from flexibo.storage import MemoryStorage, Sign
from flexibo.storage.processes import about_this_process
from flexibo.transfer import StudyCopy, records, study_copy
from flexibo.views import status

OBJECTIVES = [Objective("a", unit="J", at_most=9.0), Objective("b", measured_with="a"), Objective("c", "max")]
WORKER = {"host": "board", "pid": 7}


def opened(storage: MemoryStorage, **settings: Any) -> Study:
    space = {"x": [1, 2, 3, 4], "k": ["p", "q"]}
    return Study(space, OBJECTIVES, storage=storage, seed=0, n_initial=4, budget=50, method="random", **settings)


@pytest.fixture
def copy() -> StudyCopy:
    """A study with answers of every kind: two measured, one failed, one impossible, one given back, one added."""
    storage = MemoryStorage()
    with opened(storage, stop={"max_evaluations": 40}) as study:
        for answer in (2.0, 3.0):
            (evaluation,) = study.ask(1, only=["a"])
            study.tell(evaluation, {"a": answer, "b": 1.0}, cost=answer)
        study.fail(study.ask(1, only=["c"])[0], "too hot", cost=0.5)
        study.fail(study.ask(1, only=["c"])[0], "too wide", cost=0.25, impossible=True)
        study.release(study.ask(1, only=["c"])[0])
        study.add({"x": 4, "k": "q"}, {"c": 1.0}, cost=100.0)
        study.note("a new fan")
    return study_copy(storage)


def found(copy: StudyCopy) -> list[Any]:
    return records(copy.study.history, copy.times)


def test_the_evaluations_of_each_objective_are_counted_by_state(copy: StudyCopy) -> None:
    numbers = status.overview(copy, found(copy))
    assert json.loads(json.dumps(numbers, allow_nan=False)) == numbers
    assert (numbers["spent"], numbers["budget"], numbers["method"]) == (5.75, 50.0, "random")
    a, b, c = numbers["objectives"]
    assert (a["measured"], a["values"], a["cost"], a["mean_cost"]) == (2, 2, 5.0, 2.5)
    assert (a["unit"], a["at_most"], a["direction"]) == ("J", 9.0, "min")
    assert (b["measured"], b["values"], b["mean_cost"], b["measured_with"]) == (0, 2, None, "a")
    assert (c["failed"], c["impossible"], c["released"], c["added"], c["values"]) == (2, 1, 1, 1, 1)
    assert (c["cost"], c["lost_cost"]) == (0.0, 0.75), "what was known before cost this study nothing"
    assert numbers["spent"] == sum(one["cost"] + one["lost_cost"] for one in numbers["objectives"])
    assert c["mean_cost"] is None, "failures say nothing about what a value costs"


def test_a_study_whose_events_have_no_times_has_none(copy: StudyCopy) -> None:
    times = [content.pop("time") for content in copy.contents]
    assert len(times) == len(copy.contents)
    numbers = status.overview(copy, records(copy.study.history, copy.times))
    assert (numbers["begun"], numbers["last_event"]) == (None, None)
    assert status.notes(copy) == [{"text": "a new fan", "time": None}]


def test_failures_come_with_the_latest_first(copy: StudyCopy) -> None:
    rows = status.failures(found(copy))
    assert [(row["state"], row["reason"], row["cost"]) for row in rows] == [
        ("impossible", "too wide", 0.25),
        ("failed", "too hot", 0.5),
    ]


def test_settings_say_what_the_study_was_created_with(copy: StudyCopy) -> None:
    shown = status.settings(copy)
    assert (shown["seed"], shown["options"], shown["designs"], shown["initial_designs"]) == (0, ["x", "k"], 8, 4)
    assert shown["stop"] == {"max_evaluations": 40}
    assert shown["not_stored"] == []
    storage = MemoryStorage()
    Study({"x": (0.0, 1.0)}, ["a", "b"], storage=storage, cost=lambda design, objective: 1.0).close()
    endless = status.settings(study_copy(storage))
    assert (endless["designs"], endless["not_stored"]) == (None, ["cost"])


def in_flight(sign: Sign | None, waited: float = 30.0) -> dict[str, Any]:
    """The only evaluation in flight, as it is shown this many seconds after it was asked; `sign` is its worker's."""
    storage = MemoryStorage()
    study = opened(storage)
    study.ask()
    (holder,) = study.history.assignments.values()
    storage.sign(holder.worker, sign)
    copy = study_copy(storage)
    (record,) = found(copy)
    assert record.asked is not None
    (row,) = status.in_flight(copy, [record], record.asked + waited)
    assert row["worker"]["id"] == holder.worker
    return row


def test_an_evaluation_in_flight_says_since_when_and_with_whom() -> None:
    row = in_flight(Sign(3, 20.0, 60.0, WORKER))
    assert (row["number"], row["attempt"], row["seconds"]) == (0, 1, pytest.approx(30.0))
    worker = row["worker"]
    assert (worker["state"], worker["host"], worker["pid"], worker["lease"]) == ("alive", "board", 7, 60.0)
    assert worker["silent_seconds"] == pytest.approx(10.0, abs=1.0)


@pytest.mark.parametrize(
    ("sign", "waited", "state"),
    [
        (None, 1.0, "gone"),
        (Sign(3, 20.0, 60.0, WORKER), 100.0, "silent"),
        (Sign(3, 20.0, math.inf, WORKER), 1e9, "alive"),
        (Sign(3, 20.0, 60.0, {**about_this_process(), "pid": 2**22 + 1}), 1.0, "dead"),
    ],
)
def test_the_state_of_a_worker_follows_from_its_last_heartbeat(sign: Sign | None, waited: float, state: str) -> None:
    worker = in_flight(sign, waited)["worker"]
    assert worker["state"] == state
    json.dumps(worker, allow_nan=False)


def test_what_a_worker_says_of_itself_is_shown_only_if_it_is_plain() -> None:
    worker = in_flight(Sign(3, 20.0, 60.0, {"host": ["board"], "pid": {"n": 1}}))["worker"]
    assert (worker["host"], worker["pid"]) == (None, None)


def test_the_queue_says_what_is_missing_and_what_it_is_expected_to_cost() -> None:
    storage = MemoryStorage()
    with opened(storage) as study:
        study.tell(study.ask(1, only=["a"])[0], {"a": 1.0, "b": 1.0}, cost=4.0)
        study.enqueue({"x": 2, "k": "q"}, why="as sold")
        study.enqueue({"x": 3, "k": "q"}, ["a"])
        study.ask()
    first, second = status.queued(study_copy(storage))
    assert first == {
        "number": 0,
        "design": {"x": 2, "k": "q"},
        "objectives": ["a", "c"],
        "in_flight": ["a"],
        "readings": 1,
        "expected_cost": None,  # nothing is known of c
        "why": "as sold",
    }
    assert (second["objectives"], second["expected_cost"]) == (["a"], 4.0)


@pytest.mark.parametrize(
    ("cost", "stop", "kind"),
    [(25.0, None, StopKind.BUDGET), (1.0, {"max_evaluations": 2}, StopKind.RULE), (1.0, None, None)],
)
def test_a_study_that_stored_no_stop_has_the_kind_that_its_history_tells(
    cost: float, stop: dict[str, float] | None, kind: StopKind | None
) -> None:
    storage = MemoryStorage()
    with opened(storage, stop=stop) as study:
        for _ in range(2):
            (evaluation,) = study.ask(1, only=["c"])
            study.tell(evaluation, 1.0, cost=cost)
    found = status.stop(study_copy(storage, study.name))
    assert found["stop_kind"] == kind
    assert bool(found["stopped"]) == (kind is not None)
