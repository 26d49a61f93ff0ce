"""Histories of edited studies that break one law each: the checker must find every one of them, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("benchmarks.soak", reason="the benchmarks lie beside the tests in the repository only")

from benchmarks.soak.deeds import Deed, deeds, deeds_wrong, questions_wrong
from benchmarks.soak.journal import Journal

NOTE = {"event": "note", "text": "n1"}
QUEUED = {"event": "enqueued", "why": "q1"}
TABLE = [{"event": "added", "values": {"energy": value}} for value in (-1.0, -2.0)]
ADDED = {"event": "added", "values": {"energy": 1.0}}


def settings(high: float, *objectives: str) -> dict[str, Any]:
    return {
        "space": {"options": [{"name": "k"}, {"name": "x", "low": 0.0, "high": high}]},
        "objectives": [{"name": name} for name in ("error", "energy", *objectives)],
    }


CREATED = {"event": "created", "settings": settings(1.0)}
CHANGED = {"event": "changed", "settings": settings(0.5, "noise")}


def asked(x: float = 0.5, objective: str = "energy") -> dict[str, Any]:
    return {"event": "asked", "number": 0, "objective": objective, "design": {"x": x}}


def rows(*events: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    return list(enumerate(events))


@pytest.mark.parametrize(
    ("events", "kind", "marks"),
    [
        ([NOTE], "note", ["n1"]),
        ([ADDED], "add", [1.0]),
        (TABLE, "learn", [-1.0, -2.0]),
        ([QUEUED], "enqueue", ["q1"]),
        ([CHANGED], "change", [0.5]),
    ],
)
def test_what_was_done_must_be_there_once_as_a_whole(events: list[Any], kind: str, marks: list[object]) -> None:
    def wrong(outcome: str, *found: dict[str, Any]) -> int:
        return len(deeds_wrong(rows(CREATED, *found), [Deed(kind, tuple(marks), outcome)]))

    assert [wrong(outcome, *events) for outcome in ("safe", "unknown", "refused")] == [0, 0, 1]
    assert [wrong(outcome) for outcome in ("safe", "unknown", "refused")] == [1, 0, 0]
    assert [wrong(outcome, *events, *events) for outcome in ("safe", "unknown", "refused")] == [1, 1, 1]


def test_a_table_is_not_added_in_part_or_in_pieces() -> None:
    done = [Deed("learn", (-1.0, -2.0), outcome) for outcome in ("safe", "unknown")]
    for found in (TABLE[:1], [TABLE[0], NOTE, TABLE[1]], TABLE[::-1]):
        assert len(deeds_wrong(rows(*found), done)) == 2


def test_a_question_must_be_one_of_the_study_at_that_moment() -> None:
    assert questions_wrong(rows(CREATED, asked(0.75), CHANGED, asked(0.5), asked(0.25, "noise"))) == []
    (beyond,) = questions_wrong(rows(CREATED, CHANGED, asked(0.75)))
    assert "0.75" in beyond
    (unknown,) = questions_wrong(rows(CREATED, asked(0.5, "noise"), CHANGED))
    assert "noise" in unknown


def test_a_question_is_given_back_by_who_has_no_function_for_it_alone() -> None:
    back = {"event": "released", "number": 0, "reason": "This worker has no function for this."}
    assert questions_wrong(rows(CREATED, CHANGED, asked(0.5, "noise"), back)) == []
    assert questions_wrong(rows(CREATED, asked(), back | {"reason": "Its worker vanished."})) == []
    assert len(questions_wrong(rows(CREATED, asked(), back))) == 1


def test_a_journal_says_what_was_done_and_what_its_process_was_killed_at(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    assert deeds(path) == []
    journal = Journal(path, sync=False)
    for number, heard in enumerate(("safe", "refused", "")):
        journal.write("means", number, kind="note", marks=[f"n{number}"])
        if heard:
            journal.write(heard, number)
    with path.open("a") as file:
        file.write('{"what": "safe", "num')
    expected = ["safe", "refused", "unknown"]
    assert deeds(path) == [Deed("note", (f"n{i}",), outcome) for i, outcome in enumerate(expected)]
