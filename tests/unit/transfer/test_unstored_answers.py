"""Answers that were refused or not stored are brought back: told where their question is known, otherwise added."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.study.small_studies import asked, opened

from flexibo import Study
from flexibo.errors import InvalidValueError
from flexibo.history.events import Failed, Told
from flexibo.storage.sql import SQLStorage
from flexibo.study.unstored import UnstoredAnswer, keep
from flexibo.transfer import holds_answers, import_answers, read_answers
from flexibo.transfer.study_copies import copy_of


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'study.db'}"


def imported(url: str, *answers: UnstoredAnswer) -> dict[str, int]:
    storage = SQLStorage(url, "study")
    return dict(import_answers(answers, storage, copy_of(storage.read(), "study"), "file")[0])


def test_an_answer_whose_question_is_known_is_told_and_charged_once(url: str) -> None:
    study = opened(url)
    mine, other = asked(study), asked(study)
    told = UnstoredAnswer.of("study", mine, Told(mine.number, {mine.objective: 1.0}, 5.0, "w", token=mine.token), "")
    failed = UnstoredAnswer.of("study", other, Failed(other.number, "burnt", 2.0, "w", token=other.token), "")
    assert imported(url, told, told, failed) == {"told": 2, "known": 1}
    assert imported(url, told, failed) == {"known": 2}
    study.refresh()
    assert (study.spent, study.pending) == (7.0, ())


def test_an_answer_whose_question_was_lost_is_added_and_not_charged(url: str) -> None:
    study = opened(url)
    mine = replace(asked(study), token="f" * 16)
    values = {mine.objective: 777.0}
    told = UnstoredAnswer.of("study", mine, Told(mine.number, values, 5.0, token=mine.token), "")
    failed = replace(told, answer={"event": "failed", "number": 0, "reason": "burnt", "cost": 1.0})
    assert imported(url, told, failed) == {"added": 1, "failures": 1}
    assert imported(url, told) == {"known": 1}
    again = Study.load(url)
    assert [(dict(m.values), m.design, m.number) for m in again.history.measurements] == [(values, mine.design, None)]
    assert again.spent == 0.0


def test_an_answer_that_contradicts_the_study_is_left_out_and_the_others_are_not(url: str) -> None:
    study = opened(url)
    mine, other = asked(study), asked(study)
    study.tell(mine, 5.0)
    lost = replace(mine, token="f" * 16)
    wrong = UnstoredAnswer.of("study", lost, Told(lost.number, {lost.objective: 888.0}, 1.0, token=lost.token), "")
    right = UnstoredAnswer.of("study", other, Told(other.number, {other.objective: 1.0}, 1.0, token=other.token), "")
    storage = SQLStorage(url, "study")
    counts, conflicts = import_answers([wrong, right], storage, copy_of(storage.read(), "study"), "file")
    assert counts == {"told": 1}
    assert len(conflicts) == 1
    assert "888" in conflicts[0]


def test_a_design_that_could_not_be_measured_is_added_as_such(url: str) -> None:
    study = opened(url)
    mine = replace(asked(study), token="f" * 16)
    failed = UnstoredAnswer.of("study", mine, Failed(0, "too large", 1.0, impossible=True), "")
    assert imported(url, failed) == {"added": 1}
    again = Study.load(url)
    assert again.history.is_hopeless(again.history.purchase_of(mine.objective), mine.design)


@pytest.mark.parametrize(
    "change",
    [
        {"design": None},
        {"design": {"x": 2.0, "k": 1}},
        {"objective": "c"},
        {"answer": {"event": "note", "text": "x"}},
        {"answer": {"event": "told", "number": 0, "values": {"a": "x"}, "cost": 1.0}},
        {"answer": {"event": "told", "number": 0, "values": {"c": 1.0}, "cost": 1.0}},
        {"answer": {}},
    ],
)
def test_a_line_that_makes_no_sense_is_named_and_nothing_is_added(url: str, change: dict[str, Any]) -> None:
    study = opened(url)
    mine = replace(asked(study), token="f" * 16)
    good = UnstoredAnswer.of("study", mine, Told(0, {mine.objective: 1.0}, 5.0, token=mine.token), "")
    with pytest.raises(InvalidValueError, match="Line 2 of file"):
        imported(url, good, replace(good, **change))
    assert not Study.load(url).history.measurements


def test_a_file_is_recognised_by_its_first_line_and_read_back(tmp_path: Path) -> None:
    answer = UnstoredAnswer("net", {"x": 0.5}, "a", {"event": "told"}, "no")
    keep(answer, tmp_path / "a.jsonl")
    lines = (tmp_path / "a.jsonl").read_bytes().splitlines()
    assert holds_answers(lines[0])
    assert read_answers(lines, "file") == [answer]
    for line in (b"", b"{", b"[]", b'{"format": "flexibo-events"}'):
        assert not holds_answers(line)
    newer = json.dumps(json.loads(lines[0]) | {"version": 9}).encode()
    for line in (b"{", b"[]", newer, b'{"format": "flexibo-answers", "version": 1}'):
        with pytest.raises(InvalidValueError, match="Line 2 of file"):
            read_answers([lines[0], line], "file")
