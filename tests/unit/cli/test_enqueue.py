"""``flexibo enqueue``."""

from __future__ import annotations

import json

import pytest
from tests.command_line import asked_by_hand, begun, good, history, mentions, refusal, worked

from flexibo import Study

URL = "sqlite:///study.db"


@pytest.fixture(autouse=True)
def _stored() -> None:
    begun(budget=20, space={"x": (0.0, 1.0), "k": [1, 2, 3], "mode": ["fast", "$(touch pwned)"]}).close()


def queued() -> list[tuple[int, dict[str, object], tuple[str, ...]]]:
    return [(one.number, dict(one.design), one.objectives) for one in history().queue]


def test_a_design_is_put_next_in_line_and_asked_first() -> None:
    shown = good("enqueue", "x=0.25", "k=2", "mode=$(touch pwned)")
    assert mentions(shown, "0", "error, energy", "x=0.25", "k=2", "flexibo ask")
    design = {"x": 0.25, "k": 2, "mode": "$(touch pwned)"}
    assert queued() == [(0, design, ("error", "energy"))]
    (asked,) = asked_by_hand()
    assert (asked["design"], asked["objective"]) == (design, "error")


def test_a_design_may_be_json_and_the_answer_too() -> None:
    design = {"x": 0.5, "k": 1, "mode": "fast"}
    flags = ("--objectives", "energy", "--readings", 2, "--why", "as sold", "--json")
    found = json.loads(good("enqueue", json.dumps(design), *flags))
    assert found["study"] == "net"
    expected = {"number": 0, "design": design, "objectives": ["energy"], "readings": 2, "why": "as sold"}
    assert found["queued"] == [expected]


def test_the_status_shows_the_queue() -> None:
    good("enqueue", "x=0.25", "k=2", "mode=fast", "--why", "red\x1b[31m")
    asked_by_hand()
    shown = good("status", "--no-front")
    assert "\x1b" not in shown
    assert mentions(shown, "0", "energy", "x=0.25")
    (row,) = json.loads(good("status", "--no-front", "--json"))["queued"]
    assert (row["number"], row["objectives"], row["in_flight"]) == (0, ["error", "energy"], ["error"])


def test_a_queued_design_that_is_in_flight_is_shown_with_its_objectives() -> None:
    worked(Study.load("sqlite:///study.db"), 4)  # costs are known
    good("enqueue", "x=0.25", "k=2", "mode=fast")
    asked_by_hand()
    last = good("status", "--no-front").partition("Queued next:")[2]
    assert mentions(last, "0", "error, energy", "x=0.25", "in flight: error;", "1")
    asked_by_hand()
    last = good("status", "--no-front").partition("Queued next:")[2]
    assert mentions(last, "0", "error, energy", "x=0.25", "in flight: error, energy")
    assert "cost" not in last


def test_what_is_left_out_is_said_with_the_reason() -> None:
    good("enqueue", "x=0.25", "k=2", "mode=fast", "--objectives", "energy")
    shown = good("enqueue", "x=0.25", "k=2", "mode=fast")
    assert mentions(shown, "1", "error of", "'energy'", "queued already")
    with Study.load("sqlite:///study.db") as study:
        study.add({"x": 0.5, "k": 1, "mode": "fast"}, {"error": 1.0})
        study.add({"x": 0.75, "k": 1, "mode": "fast"}, {}, failed="energy")
    found = json.loads(good("enqueue", "x=0.5", "k=1", "mode=fast", "--json"))
    assert list(found["left_out"]) == ["error"]
    assert mentions(good("enqueue", "x=0.75", "k=1", "mode=fast"), "'energy'", "failed for good")


def test_what_was_queued_is_withdrawn() -> None:
    for k in (1, 2, 3):
        good("enqueue", "x=0.25", f"k={k}", "mode=fast")
    assert mentions(good("enqueue", "--withdraw", 1), "1")
    assert [number for number, *_ in queued()] == [0, 2]
    assert mentions(refusal("enqueue", "--withdraw", 1), "1", "0, 2")
    assert json.loads(good("enqueue", "--withdraw", "all", "--json"))["withdrawn"] == [0, 2]
    assert queued() == []


@pytest.mark.parametrize(
    ("typed", "facts"),
    [
        ((), ["OPTION=VALUE"]),
        (("x=0.25", "k=2", "mode=fast", "--withdraw", "0"), ["--withdraw"]),
        (("x=0.25", "k=2"), ["mode"]),
        (("x=0.25", "k=9", "mode=fast"), ["k", "9", "1, 2, 3"]),
        (("x=2", "k=1", "mode=fast"), ["x", "2"]),
        (("x=", "k=1", "mode=fast"), ["x"]),
        (("x=0.25", "k=2", "k=1", "mode=fast"), ["k"]),
        (("x=0.25", "k=2", "mode=fast", "z=1"), ["z"]),
        (("0.25",), ["0.25", "x, k, mode"]),
        (("{x: 1}",), ["JSON"]),
        (('{"x": 1}',), ["k"]),
        (("{" * 5000,), ["JSON"]),
        (("x=0.25", "k=2", "mode=fast", "--objectives", "nope"), ["nope", "energy, error"]),
        (("x=0.25", "k=2", "mode=fast", "--budget", "never"), ["--budget", "never"]),
        (("x=0.25", "k=2", "mode=fast", "--readings", "20000"), ["--readings", "20000", "10,000"]),
        (("--withdraw", "-1"), ["-1"]),
        (("--withdraw", "0"), ["0"]),
    ],
)
def test_a_mistake_is_one_sentence_and_changes_nothing(typed: tuple[str, ...], facts: list[str]) -> None:
    before = history().events
    assert mentions(refusal("enqueue", *typed), *facts)
    assert history().events == before


def test_all_mistakes_are_reported_at_once() -> None:
    typed = ("x=2", "k=9", "z=1", "fast", "--objectives", "nope", "--budget", "never")
    said = refusal("enqueue", *typed)
    for fact in ("'fast'", "'z'", "'x'", "'k'", "'mode'", "'nope'", "--budget"):
        assert fact in said
    assert queued() == []


def test_more_readings_are_asked_for_by_their_option() -> None:
    design = {"x": 0.25, "k": 2, "mode": "fast"}
    with Study.load(URL) as study:
        study.add(design, {"energy": 1.0})
    typed = [f"{name}={value}" for name, value in design.items()]
    assert mentions(refusal("enqueue", *typed, "--objectives", "energy"), "'energy'", "--readings")


def test_in_a_study_that_is_spent_more_must_be_granted() -> None:
    with Study.load(URL) as study:
        for cost in (8.0, 12.0):
            study.tell(study.ask(1)[0], 1.0, cost=cost)
    design = ("x=0.25", "k=2", "mode=fast")
    assert mentions(refusal("enqueue", *design), "0")
    assert mentions(refusal("enqueue", *design, "--budget", "5s"), "5", "--budget")
    shown = good("enqueue", *design, "--objectives", "error", "--budget", "15s")
    assert mentions(shown, "20", "35")
    assert history().budget == 35.0
