"""Answers that could not be stored: where they are kept, and that nothing keeps others from the same file."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.study.small_studies import asked, opened

from flexibo.errors import InvalidValueError
from flexibo.history.events import Told
from flexibo.storage import MemoryStorage
from flexibo.study import unstored
from flexibo.study.unstored import FORMAT, UnstoredAnswer, keep

ANSWER = UnstoredAnswer("net", {"x": 0.5}, "a", {"event": "told", "number": 0, "values": {"a": 1.0}, "cost": 2.0}, "no")


def test_answers_are_appended_one_per_line(tmp_path: Path) -> None:
    path = tmp_path / "study.unstored.jsonl"
    for _ in range(2):
        assert str(path) in keep(ANSWER, path, clock=lambda: 7.0)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == lines[1]
    assert (lines[0]["format"], lines[0]["time"], lines[0]["answer"]) == (FORMAT, 7.0, dict(ANSWER.answer))


def test_half_a_line_of_another_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "study.unstored.jsonl"
    path.write_text('{"format": "fle')
    keep(ANSWER, path)
    half, whole = path.read_text().splitlines()
    assert half == '{"format": "fle'
    assert json.loads(whole)["format"] == FORMAT


def test_a_line_for_which_there_is_no_room_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "study.unstored.jsonl"
    keep(ANSWER, path)
    before, write = path.read_bytes(), os.write
    monkeypatch.setattr(unstored.tempfile, "gettempdir", lambda: str(tmp_path / "none"))
    monkeypatch.setattr(unstored.os, "write", lambda file, line: write(file, line[:20]))
    assert '"values": {"a": 1.0}' in keep(ANSWER, path)
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be_written_leaves_the_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unstored.tempfile, "gettempdir", lambda: str(tmp_path))
    assert str(tmp_path / "x.jsonl") in keep(ANSWER, tmp_path / "none" / "x.jsonl")
    assert (tmp_path / "x.jsonl").exists()
    monkeypatch.setattr(unstored.tempfile, "gettempdir", lambda: str(tmp_path / "none"))
    assert '"values": {"a": 1.0}' in keep(ANSWER, tmp_path / "none" / "x.jsonl")


def test_a_study_in_memory_keeps_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = opened(MemoryStorage())
    with pytest.raises(InvalidValueError):
        study.tell(replace(asked(study), token="none"), 1.0)
    assert list(tmp_path.iterdir()) == []


def test_the_answer_to_an_evaluation_has_its_design() -> None:
    evaluation = asked(opened(MemoryStorage()))
    found = UnstoredAnswer.of("net", evaluation, Told(0, {"a": 1.0}, 2.0, token=evaluation.token), "why")
    assert (found.design, found.answer["token"]) == (dict(evaluation.design), evaluation.token)
