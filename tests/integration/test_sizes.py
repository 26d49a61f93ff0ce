"""Sizes: what is huge, or no text at all, gets a sentence or is cut, and takes no memory from anybody."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from flexibo import Objective, Space, Study
from flexibo.cli import app
from flexibo.errors import FlexiBOError, InvalidValueError
from flexibo.history.event_dicts import event_to_dict
from flexibo.history.events import LONGEST_TEXT
from flexibo.storage import MemoryStorage, StorageError
from flexibo.study.settings import MOST_CANDIDATES

HALF = "\ud800"


def test_an_option_of_a_hundred_thousand_texts_is_usable() -> None:
    space = {"text": [f"text {number}" for number in range(100_000)], "x": (0.0, 1.0)}
    study = Study(space, ["a", "b"], seed=0, n_initial=2)
    for _ in range(6):
        evaluation = study.ask()
        assert evaluation is not None
        study.tell(evaluation, float(evaluation.design["x"]), cost=1.0)
    assert study.space.sample(1000, study.predictor.generator(study.history, 0)).encoded().nbytes < 2_000_000
    assert len(study.front())


def test_a_stored_number_of_candidates_that_fills_the_memory_is_refused() -> None:
    study = Study({"x": (0.0, 1.0)}, ["a", "b"], seed=0)
    content = event_to_dict(study.events[0])
    content["settings"]["candidates"] = 10**9
    storage = MemoryStorage()
    storage.commit(0, lambda new: [content])
    with pytest.raises(StorageError, match="candidates"):
        Study.load(storage)


def test_more_candidates_than_a_memory_holds_cannot_be_asked_for() -> None:
    with pytest.raises(InvalidValueError, match="1,000,000"):
        Study({"x": (0.0, 1.0)}, ["a", "b"], candidates=MOST_CANDIDATES + 1)


def test_a_huge_reason_and_a_huge_note_are_stored_and_shown_cut(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    study = Study({"x": (0.0, 1.0)}, ["a", "b"], seed=0, storage=url)
    evaluation = study.ask()
    assert evaluation is not None
    for _ in range(2):  # the second time nothing is new, although it was cut the first time
        study.fail(evaluation, "no memory " * 10**6)
    study.note("x" * 10**7)
    assert (tmp_path / "study.db").stat().st_size + (tmp_path / "study.db-wal").stat().st_size < 1_000_000
    again = Study.load(url)
    assert len(again.history.last_reason[evaluation.objective]) == LONGEST_TEXT


@pytest.mark.parametrize("make", [lambda: Space({HALF: [1, 2]}), lambda: Space({"a": [HALF]}), lambda: Objective(HALF)])
def test_half_of_a_character_is_no_name(make: object) -> None:
    with pytest.raises(InvalidValueError, match=r"U\+D800"):
        make()  # type: ignore[operator]


def test_half_of_a_character_in_a_study_file_gets_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text('options: {"\\ud800": [1, 2]}\nobjectives: {a: {command: "echo 1"}, b: {command: "echo 2"}}\n')
    found = CliRunner().invoke(app, ["run", str(file)])
    assert isinstance(found.exception, FlexiBOError)
    assert "D800" in str(found.exception)


def test_half_of_a_character_in_an_imported_study_gets_a_sentence(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    study = Study({"kernel": ["p", "q"], "x": (0.0, 1.0)}, ["a", "b"], seed=0, storage=url)
    study.close()
    runner, exported = CliRunner(), tmp_path / "study.jsonl"
    assert runner.invoke(app, ["export", "--storage", url, "--out", str(exported)]).exit_code == 0
    text = exported.read_text(encoding="utf-8")
    exported.write_text(text.replace('"kernel"', '"\\ud800"'), encoding="utf-8")
    found = runner.invoke(app, ["import", str(exported), "--storage", f"sqlite:///{tmp_path}/other.db"])
    assert isinstance(found.exception, FlexiBOError)
    assert "D800" in str(found.exception)
