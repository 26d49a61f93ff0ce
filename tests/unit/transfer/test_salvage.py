"""Whether a study is whole, and what is brought out of a damaged one."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.damages import DAMAGES, damaged

from flexibo import Study
from flexibo.errors import InvalidValueError
from flexibo.storage import NoSuchStorageError, StorageError
from flexibo.storage.base import NewerSchemaError
from flexibo.storage.recovery import Verdict, readable_events
from flexibo.storage.sql import SQLStorage
from flexibo.transfer import event_lines, salvage, salvaged, salvaged_lines, study_copy, verified, verified_lines

ASSET = Path(__file__).parents[2] / "assets" / "study-schema-3.db"
EVENTS, MEASUREMENTS = 56, 20


@pytest.fixture
def path(tmp_path: Path) -> Path:
    shutil.copy(ASSET, tmp_path / "study.db")
    return tmp_path / "study.db"


def contents(path: Path) -> list[dict[str, Any]]:
    return SQLStorage(f"sqlite:///{path}", "net", create=False).read()


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def numbers(path: Path, kind: str) -> list[int]:
    return [number for number, content in enumerate(contents(path)) if content["event"] == kind]


def test_a_whole_study_is_whole_and_is_brought_out_unchanged(path: Path) -> None:
    url = f"sqlite:///{path}"
    (found,) = verified(url)
    assert (found.name, found.events, found.measurements, found.problem) == ("net", EVENTS, MEASUREMENTS, "")
    assert found.has_checksums
    (left,) = salvaged(url)
    assert left.is_whole
    assert left.contents == contents(path)


def test_a_study_that_others_add_to_meanwhile_is_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_and_overtaken(url: str) -> Any:
        found = readable_events(url)
        with Study.load(url) as study:
            study.note("meanwhile")
        return found

    monkeypatch.setattr(salvage, "readable_events", read_and_overtaken)
    (left,) = salvaged(f"sqlite:///{path}")
    assert left.is_whole
    assert len(left.contents) == EVENTS + 1


@pytest.mark.parametrize("version", [1, 2])
def test_a_study_of_an_older_version_is_whole_without_checksums(version: int) -> None:
    url = f"sqlite:///{ASSET.with_name(f'study-schema-{version}.db')}"
    (found,) = verified(url)
    assert (found.problem, found.has_checksums) == ("", False)
    (left,) = salvaged(url)
    assert left.is_whole
    assert not left.has_checksums
    assert len(left.contents) == found.events


def test_a_changed_number_is_found_and_left_out(path: Path) -> None:
    at, withdrawn = numbers(path, "told")[3], numbers(path, "dequeued")
    execute(path, f"UPDATE flexibo_events SET content = replace(content, '1', '2') WHERE number = {at}")
    (found,) = verified(f"sqlite:///{path}")
    assert f"Event {at} " in found.problem
    assert found.changed == (at,)
    assert found.events == EVENTS - 1
    (left,) = salvaged(f"sqlite:///{path}")
    assert (left.changed, left.unchecked, left.missing) == ((at,), (), ())
    assert list(left.dropped) == withdrawn, "which queued design was withdrawn is not certain any more"
    assert left.measurements == MEASUREMENTS - 1


def test_a_lost_question_takes_its_answer_with_it_and_the_others_are_numbered_anew(path: Path, tmp_path: Path) -> None:
    before = contents(path)
    at = numbers(path, "asked")[4]
    execute(path, f"DELETE FROM flexibo_events WHERE number = {at}")
    (left,) = salvaged(f"sqlite:///{path}")
    assert left.missing == (at,)
    answer = next(n for n, c in enumerate(before) if c["event"] == "told" and c["number"] == before[at]["number"])
    assert answer in left.dropped
    assert left.measurements == MEASUREMENTS - 1
    asked = [content["number"] for content in left.contents if content["event"] == "asked"]
    assert asked == list(range(len(asked)))
    url = f"sqlite:///{tmp_path / 'new.db'}"
    SQLStorage(url, "net").commit(0, lambda _: left.contents)
    study = Study.load(url)
    values = {(json.dumps(before[n]["values"]), before[n].get("cost")) for n in range(EVENTS) if "values" in before[n]}
    assert {(json.dumps(dict(m.values)), m.cost) for m in study.history.measurements if m.number is not None} <= values
    assert len(study.history.measurements) == left.measurements
    assert study.ask() is not None


def test_every_single_loss_leaves_a_study_that_opens(path: Path, tmp_path: Path) -> None:
    rows = ASSET.read_bytes()
    for lost in range(1, EVENTS, 3):
        path.write_bytes(rows)
        execute(path, f"DELETE FROM flexibo_events WHERE number = {lost}")
        (left,) = salvaged(f"sqlite:///{path}")
        assert left.missing == ((lost,) if lost < EVENTS - 1 else ())
        assert len(left.contents) + len(left.dropped) + 1 == EVENTS
        assert left.measurements >= MEASUREMENTS - 1
        new = tmp_path / f"new-{lost}.db"
        SQLStorage(f"sqlite:///{new}", "net").commit(0, lambda _, left=left: left.contents)
        assert len(Study.load(f"sqlite:///{new}").history.measurements) == left.measurements


def measured(study: Study, count: int) -> None:
    for _ in range(count):
        evaluation = study.ask()
        assert evaluation is not None
        study.tell(evaluation, float(evaluation.design["x"]), cost=1.0)


@pytest.mark.parametrize("lost", ["option", "objective", "question", "last change"])
def test_a_change_that_is_lost_costs_no_measurement_if_there_is_a_later_one(tmp_path: Path, lost: str) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    with Study({"x": (0.0, 1.0)}, ["a", "b"], seed=0, method="random", storage=url, n_initial=2) as study:
        numbers = {"question": len(study.events)}
        measured(study, 3)
        numbers["option"] = len(study.events)
        study.change(options={"x": (0.0, 2.0), "z": [0, 1]}, defaults={"z": 0})
        measured(study, 3)
        numbers["objective"] = len(study.events)
        study.change(objectives=["c"])
        measured(study, 3)
        numbers["last change"] = len(study.events)
        study.change(options={"x": (0.0, 1.5)})
        measured(study, 3)
    execute(tmp_path / "study.db", f"DELETE FROM flexibo_events WHERE number = {numbers[lost]}")
    (left,) = salvaged(url)
    assert left.missing == (numbers[lost],)
    assert left.measurements == 12 - (lost == "question")
    new = f"sqlite:///{tmp_path / 'new.db'}"
    SQLStorage(new, "study").commit(0, lambda _: left.contents)
    with Study.load(new) as study:
        assert len(study.history.measurements) == left.measurements
        assert study.ask() is not None


def test_without_its_beginning_nothing_can_be_brought_out(path: Path) -> None:
    execute(path, "DELETE FROM flexibo_events WHERE number = 0")
    (left,) = salvaged(f"sqlite:///{path}")
    assert (left.contents, len(left.dropped)) == ((), EVENTS - 1)
    assert verified(f"sqlite:///{path}")[0].problem


def test_an_unknown_place_study_or_version_is_an_error(path: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="'other'"):
        verified(f"sqlite:///{path}", "other")
    with pytest.raises(NoSuchStorageError):
        verified(f"sqlite:///{tmp_path / 'none.db'}")
    with pytest.raises(StorageError):
        salvaged(f"sqlite:///{tmp_path / 'none.db'}")
    (tmp_path / "text.db").write_text("x" * 9999)
    for use in (verified, salvaged):
        with pytest.raises(StorageError):
            use(f"sqlite:///{tmp_path / 'text.db'}")
    execute(path, "UPDATE flexibo SET schema = 99")
    with pytest.raises(NewerSchemaError):
        verified(f"sqlite:///{path}")


def exported(path: Path) -> list[bytes]:
    return [line.encode() for line in event_lines(study_copy(f"sqlite:///{path}"))]


def test_a_whole_export_is_brought_out_unchanged(path: Path) -> None:
    left = salvaged_lines(exported(path), "study.jsonl")
    assert left.is_whole
    assert left.contents == contents(path)
    assert not left.has_checksums
    assert verified_lines(exported(path), "study.jsonl").problem == ""


def test_every_line_that_is_lost_or_unreadable_costs_no_more_than_what_depends_on_it(path: Path) -> None:
    lines = exported(path)
    for at in range(2, len(lines), 3):
        unreadable = salvaged_lines([*lines[:at], b"{\xff\n", *lines[at + 1 :]], "study.jsonl")
        removed = salvaged_lines([*lines[:at], *lines[at + 1 :]], "study.jsonl")
        for left in (unreadable, removed):
            assert not left.is_whole
            assert left.measurements >= MEASUREMENTS - 1
            asked = [content["number"] for content in left.contents if content["event"] == "asked"]
            assert asked == list(range(len(asked)))
        assert unreadable.missing == ((at - 1,) if at < EVENTS else ())
        assert verified_lines([*lines[:at], *lines[at + 1 :]], "study.jsonl").problem


def test_an_export_without_its_heading_has_the_name_of_its_file(path: Path) -> None:
    for lines in ([b"?\n", *exported(path)[1:]], exported(path)[1:]):
        left = salvaged_lines(lines, "folder/study.jsonl")
        assert (left.name, left.contents, left.measurements) == ("study", contents(path), MEASUREMENTS)
        assert left.problem
    with pytest.raises(InvalidValueError):
        salvaged_lines([b"something else\n"], "study.jsonl")


@pytest.mark.parametrize("first", range(len(DAMAGES)))
def test_no_random_damage_changes_anything_silently(path: Path, first: int) -> None:
    right, data = contents(path), ASSET.read_bytes()
    for seed in range(first, 10 * len(DAMAGES), len(DAMAGES)):
        kind, bytes_now = damaged(data, seed)
        path.write_bytes(bytes_now)
        with suppress(StorageError):  # it was noticed
            assert contents(path) == right, (kind, seed)
        found = readable_events(f"sqlite:///{path}").get("net", [])
        certain = [event for event in found if event.verdict is Verdict.CHECKED]
        assert all(event.content == right[event.number] for event in certain), (kind, seed)
        left = [one for one in salvaged(f"sqlite:///{path}") if one.name == "net"] if found else []
        assert all(one.measurements <= MEASUREMENTS for one in left), (kind, seed)
