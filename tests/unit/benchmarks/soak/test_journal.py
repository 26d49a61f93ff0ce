from __future__ import annotations

import math
from pathlib import Path

import pytest

pytest.importorskip("benchmarks.soak", reason="the benchmarks lie beside the tests in the repository only")

from benchmarks.soak.journal import Journal, account

QUESTION = {"worker": "w1", "objective": "energy", "design": {"x": 0.5}}
MEANT = {"kind": "told", "values": {"energy": 2.0}, "cost": 1.5}


def test_a_journal_gives_back_what_was_asked_answered_and_heard(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "ada.jsonl")
    for token in ("a", "b", "c"):
        journal.write("asked", 0, token=token, **QUESTION)
    journal.write("means", 0, token="a", **MEANT)
    journal.write("safe", 0, token="a")
    journal.write("means", 0, token="b", **MEANT)
    journal.write("kept", 0, token="b")
    found = account(tmp_path / "ada.jsonl")
    assert [(claim.holder, claim.token) for claim in found.claims] == [("ada", "a"), ("ada", "b"), ("ada", "c")]
    assert [(answer.claim.token, answer.outcome) for answer in found.answers] == [("a", "safe"), ("b", "kept")]
    assert found.claims[0].since < found.claims[0].until < found.claims[1].until < found.claims[2].until == math.inf
    assert (found.end, len(found.safe), found.names) == (None, 1, {"w1"})


def test_a_worker_that_ended_holds_nothing_more(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "ada.jsonl")
    journal.write("asked", 0, token="a", **QUESTION)
    journal.write("end", why="enough", slowest={"ask": 0.1}, first=1.0, last=2.0)
    found = account(tmp_path / "ada.jsonl")
    assert found.claims[0].until < math.inf
    assert (found.end, found.span) == ("enough", (1.0, 2.0))


def test_a_line_that_was_being_written_at_the_end_is_no_line(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "ada.jsonl", sync=False)
    journal.write("asked", 0, token="a", **QUESTION)
    journal.write("means", 0, token="a", **MEANT)
    with (tmp_path / "ada.jsonl").open("a") as file:
        file.write('{"what": "sa')
    assert [answer.outcome for answer in account(tmp_path / "ada.jsonl").answers] == ["unknown"]
    assert account(tmp_path / "nowhere.jsonl").claims == []
