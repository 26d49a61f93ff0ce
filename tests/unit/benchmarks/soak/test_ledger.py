"""A question may be asked again once it was given back; asked twice, it is found."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("benchmarks.soak", reason="the benchmarks lie beside the tests in the repository only")

from benchmarks.soak.ledger import replayed

DESIGN = {"x": 0.5, "k": 1, "n": 9}


def asked(number: int, worker: str, **fields: Any) -> dict[str, Any]:
    question = {"event": "asked", "number": number, "objective": "noise", "design": DESIGN, "worker": worker}
    return question | {"token": f"{worker}{number}"} | fields


def answered(number: int, worker: str, **fields: Any) -> dict[str, Any]:
    answer = {"event": "told", "number": number, "values": {"noise": 1.0}, "cost": 1.0, "worker": worker}
    return answer | {"token": f"{worker}{number}"} | fields


def released(number: int, reason: str = "This worker has no function for 'noise'.") -> dict[str, Any]:
    return {"event": "released", "number": number, "reason": reason, "cost": 0.0}


def wrong(*events: dict[str, Any]) -> list[str]:
    return replayed(list(enumerate(events))).wrong


def test_a_question_that_its_worker_gave_back_is_asked_again() -> None:
    events = [asked(0, "ada"), released(0), asked(1, "bob"), released(1), asked(2, "cid"), answered(2, "cid")]
    assert wrong(*events) == []
    assert replayed(list(enumerate(events))).taken == []
    assert replayed(list(enumerate([asked(0, "ada"), released(0, "Its worker vanished.")]))).taken == ["ada"]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([asked(0, "ada"), asked(1, "bob")], id="asked twice"),
        pytest.param([asked(0, "ada"), asked(1, "bob"), released(0)], id="given back too late"),
        pytest.param([asked(0, "ada"), answered(0, "ada"), asked(1, "bob")], id="known"),
        pytest.param(
            [asked(0, "ada"), released(0), asked(1, "bob"), asked(2, "cid")], id="twice after it was given back"
        ),
        pytest.param([asked(0, "ada"), released(0), released(0)], id="given back twice"),
    ],
)
def test_a_question_that_is_asked_twice_is_found(events: list[dict[str, Any]]) -> None:
    assert len(wrong(*events)) == 1
