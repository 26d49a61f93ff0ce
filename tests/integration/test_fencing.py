"""A store that loses its last commit, strangers, late answers and retries: nothing is stored under another design."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.soak.attacks import failed_over
from benchmarks.soak.databases import postgresql, sqlite_file
from tests.command_line import good
from tests.postgres import server
from tests.unit.storage.files import execute, lose_last
from tests.unit.study.small_studies import answered, asked, opened, robbed

from flexibo import Study
from flexibo.errors import InvalidValueError
from flexibo.history.events import Added, Evaluation, Spent, Told
from flexibo.storage import LogReplacedError, MemoryStorage, StorageError
from flexibo.storage.base import NewerSchemaError
from flexibo.storage.sql import SQLStorage
from flexibo.study import _run, event_log


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return f"sqlite:///{tmp_path / 'study.db'}" if request.param == "sqlite" else server().new_database()


def lost_and_replaced(url: str) -> tuple[Study, Evaluation, Study, Evaluation]:
    """Two workers that were asked the same number for different designs, since the claim of the first was lost."""
    first = opened(url)
    mine = asked(first)
    lose_last(url)
    second = opened(url, seed=3)
    other = next(one for one in (asked(second, only=["b"]), asked(second)) if one.number == mine.number)
    return first, mine, second, replace(other)


def test_a_value_is_never_stored_under_another_design(url: str) -> None:
    first, mine, second, other = lost_and_replaced(url)
    second.tell(other, 1.0, cost=1.0)
    with pytest.raises(LogReplacedError, match=r"study\.unstored\.jsonl"):
        first.tell(mine, 777.0, cost=5.0)
    again = Study.load(url)
    assert [dict(m.values) for m in again.history.measurements] == [{other.objective: 1.0}]
    assert again.spent == 1.0
    with pytest.raises(InvalidValueError, match="never asked"):
        again.tell(mine, 777.0, cost=5.0)
    assert Study.load(url).spent == 1.0
    good("import", "study.unstored.jsonl", "--storage", url)
    found = Study.load(url).history.measurements[-1]
    assert (dict(found.values), found.design) == ({mine.objective: 777.0}, mine.design)


def test_a_run_keeps_what_it_measured_when_the_log_was_replaced(url: str, tmp_path: Path) -> None:
    first, second = opened(url), opened(url)

    def measured(design: Any) -> tuple[float, float]:
        if not second.history.asked:
            lose_last(url)
            asked(second)
        return 777.0, 1.0

    with pytest.raises(LogReplacedError, match=r"study\.unstored\.jsonl"):
        first.run({"a": measured, "b": measured})
    assert len((tmp_path / "study.unstored.jsonl").read_text().splitlines()) == 1
    good("import", "study.unstored.jsonl", "--storage", url)
    assert [777.0] in [list(m.values.values()) for m in Study.load(url).history.measurements]


def test_a_run_keeps_what_a_full_disk_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = opened(f"sqlite:///{tmp_path / 'study.db'}")
    monkeypatch.setattr(_run, "STORE_AGAIN_SECONDS", ())

    def measured(design: Any) -> tuple[float, float]:
        def refuse(*_: Any, **__: Any) -> None:
            raise StorageError("The disk is full.")

        monkeypatch.setattr(SQLStorage, "commit", refuse)
        return 777.0, 1.0

    with pytest.raises(StorageError, match="full"):
        study.run({"a": measured, "b": measured})
    monkeypatch.undo()
    good("import", str(tmp_path / "study.unstored.jsonl"), "--storage", f"sqlite:///{tmp_path / 'study.db'}")
    again = Study.load(f"sqlite:///{tmp_path / 'study.db'}")
    assert again.spent == 1.0
    assert [list(m.values.values()) for m in again.history.measurements] == [[777.0]]


@pytest.mark.parametrize("use", ["ask", "tell", "refresh"])
def test_answers_that_the_store_acknowledged_and_lost_are_brought_back_by_who_told_them(
    url: str, use: str, tmp_path: Path
) -> None:
    first = opened(url)
    told = [asked(first) for _ in range(2)]
    pending = asked(first)
    for evaluation in told:
        first.tell(evaluation, 777.0, cost=5.0)
    for _ in range(2):
        lose_last(url)
    asked(opened(url))
    uses = {"ask": first.ask, "tell": lambda: first.tell(pending, 1.0), "refresh": first.refresh}
    with pytest.raises(LogReplacedError, match=r"study\.unstored\.jsonl"):
        uses[use]()
    with pytest.raises(LogReplacedError):
        uses[use]()
    lines = (tmp_path / "study.unstored.jsonl").read_text().splitlines()
    assert len(lines) == 2 + 2 * (use == "tell")
    good("import", "study.unstored.jsonl", "--storage", url)
    again = Study.load(url)
    assert again.spent == 10.0
    assert {evaluation.number for evaluation in told} <= set(again.history.answered)


def test_answers_that_an_older_file_in_place_of_the_used_one_lacks_are_brought_back(tmp_path: Path) -> None:
    path, kept = tmp_path / "study.db", tmp_path / "study.unstored.jsonl"
    study = opened(f"sqlite:///{path}")
    study.tell(study.ask(), 1.0, cost=1.0)
    good("backup", str(path), str(tmp_path / "old.db"))
    answer = study.ask()
    study.tell(answer, 2.0, cost=1.0)
    held = study.ask()
    (tmp_path / "old.db").replace(path)
    with pytest.raises(LogReplacedError, match=r"study\.unstored\.jsonl"):
        study.tell(held, 3.0, cost=1.0)
    del study
    for side in ("-wal", "-shm"):
        Path(f"{path}{side}").unlink(missing_ok=True)
    good("import", str(kept), "--storage", f"sqlite:///{path}")
    again = Study.load(f"sqlite:///{path}")
    values = [value for event in again.events if isinstance(event, Told | Added) for value in event.values.values()]
    assert sorted(values) == [1.0, 2.0, 3.0]


def test_a_study_that_a_newer_version_took_over_is_no_damage_and_what_was_measured_is_kept(url: str) -> None:
    study = opened(url)
    held = asked(study)
    execute(url, "UPDATE flexibo SET schema = schema + 1")
    for _ in range(3):
        with pytest.raises(NewerSchemaError, match=r"study\.unstored\.jsonl"):
            study.tell(held, 777.0, cost=1.0)
    with pytest.raises(NewerSchemaError):
        study.ask()
    execute(url, "UPDATE flexibo SET schema = schema - 1")  # as an updated worker sees it
    good("import", "study.unstored.jsonl", "--storage", url)
    again = Study.load(url)
    assert [dict(m.values) for m in again.history.measurements] == [{held.objective: 777.0}]
    assert again.spent == 1.0


def test_a_claim_that_was_lost_and_replaced_by_an_equal_one_is_not_answered_with_the_old_token(url: str) -> None:
    first = opened(url)
    mine = asked(first)
    lose_last(url)
    second = opened(url)
    other = asked(second)
    assert (other == mine, other.token == mine.token) == (True, False)
    again = Study.load(url)
    with pytest.raises(InvalidValueError, match="never asked"):
        again.tell(mine, 0.5, cost=5.0)
    assert again.spent == 0.0
    second.tell(other, 0.5, cost=1.0)


def test_the_retry_after_a_lost_acknowledgement_charges_once(url: str) -> None:
    first = opened(url)
    mine = asked(first)
    first.tell(mine, 0.5, cost=5.0)
    again = Study.load(url)  # what the message after a lost acknowledgement says: open the study again
    again.tell(mine, 0.5, cost=5.0)
    assert again.spent == 5.0
    with pytest.raises(InvalidValueError, match="answered already"):
        again.tell(mine, 0.6, cost=5.0)
    with pytest.raises(InvalidValueError, match="answered already"):
        again.fail(mine, "late", cost=5.0)
    assert Study.load(url).spent == 5.0
    assert sum(isinstance(event, Told) for event in again.events) == 1


def test_answers_to_questions_from_before_a_snapshot_are_fenced_too(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "LEAST_BETWEEN", 5)
    first = opened(url)
    mine, other = asked(first), asked(first)
    for _ in range(10):
        answered(first, asked(first))
    spent = first.spent
    assert len(opened(url).history.events.in_memory()) < len(first.events) - 5, "it begins with a snapshot"
    opened(url).tell(mine, 0.5, cost=5.0)
    for _ in range(2):
        opened(url).tell(mine, 0.5, cost=5.0)
        with pytest.raises(InvalidValueError, match="answered already"):
            opened(url).tell(mine, 0.6, cost=5.0)
        with pytest.raises(InvalidValueError, match="never asked"):
            opened(url).tell(replace(mine, token="f" * 16), 0.5, cost=5.0)
    opened(url).release(other)
    opened(url).fail(other, "late", cost=1.0)
    assert opened(url).spent == spent + 6.0


def test_late_answers_of_one_attempt_are_charged_once() -> None:
    storage = MemoryStorage()
    first, second = opened(storage), opened(storage)
    lost, again = robbed(storage, first, second)
    assert again.token != lost.token
    second.tell(again, 0.5, cost=5.0)
    first.tell(lost, 0.5, cost=3.0)
    first.tell(lost, 0.5, cost=3.0)
    with pytest.raises(InvalidValueError, match="answered already"):
        first.tell(lost, 0.4, cost=4.0)
    third = opened(storage)
    third.tell(lost, 0.5, cost=3.0)
    with pytest.raises(InvalidValueError, match="answered already"):
        third.fail(lost, cost=2.0)
    assert third.spent == 8.0
    assert sum(isinstance(event, Spent) for event in third.events) == 1


@pytest.mark.parametrize("change", [{"token": "f" * 16}, {"token": ""}, {"number": 1}, {"objective": "b"}])
def test_an_evaluation_that_was_never_asked_is_refused_whatever_was_answered(change: dict[str, Any]) -> None:
    storage = MemoryStorage()
    first, second = opened(storage), opened(storage)
    mine = asked(first)
    strange = replace(mine, **change)
    for _ in range(2):
        for answer in (
            lambda: second.tell(strange, {"a": 1.0, "b": 1.0}, cost=1e6),
            lambda: second.fail(strange, "x", cost=1e6),
            lambda: second.release(strange),
        ):
            with pytest.raises(InvalidValueError, match="never asked"):
                answer()
        if mine.number in first.history.pending:
            first.tell(mine, 0.5, cost=1.0)
    second.refresh()
    assert second.spent == 1.0


def test_an_answer_without_the_asked_objective_is_refused() -> None:
    study = opened(MemoryStorage())
    mine = asked(study, only=["a"])
    with pytest.raises(InvalidValueError, match="'a'"):
        study.tell(mine, {"b": 1.0}, cost=1.0)
    with pytest.raises(InvalidValueError, match="'a'"):
        study.tell(replace(mine, yields=()), {"b": 1.0}, cost=1.0)
    assert study.pending == (mine,)


@pytest.mark.parametrize("change", [{"values": {"b": 1.0}}, {"token": "0" * 16}])
def test_a_stored_answer_that_does_not_fit_its_question_is_damaged(tmp_path: Path, change: dict[str, Any]) -> None:
    memory = MemoryStorage()
    study = opened(memory)
    study.tell(asked(study, only=["a"]), 0.5, cost=1.0)
    contents = memory.read()
    contents[-1] |= change
    url = f"sqlite:///{tmp_path / 'study.db'}"
    SQLStorage(url, "study").commit(0, lambda _: contents)
    with pytest.raises(StorageError, match=f"Event {len(contents) - 1} "):
        Study.load(url)


def test_a_study_without_tokens_is_answered_and_charged_as_before() -> None:
    memory = MemoryStorage()
    study = opened(memory)
    asked(study)
    older = MemoryStorage()
    older.commit(0, lambda _: [{k: v for k, v in event.items() if k != "token"} for event in memory.read()])
    study, other = opened(older), opened(older)
    (pending,) = study.pending
    assert pending.token == ""
    study.tell(pending, 0.5, cost=2.0)
    for _ in range(2):
        other.tell(pending, 0.5, cost=3.0)
    assert other.spent == 5.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_store_that_loses_events_again_and_again_has_no_value_of_another_design(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    database = sqlite_file(tmp_path) if kind == "sqlite" else postgresql(server())
    found = failed_over(database, tmp_path, 2)
    assert found.times == 2
    assert found.findings.safe > 0


def values_after_restoring(old: Path, path: Path) -> list[float]:
    """The values of a study after its file was put back, and what was kept beside it was imported."""
    old.replace(path)
    for beside in ("wal", "shm"):
        Path(f"{path}-{beside}").unlink(missing_ok=True)
    good("import", str(path.with_name("study.unstored.jsonl")), "--storage", f"sqlite:///{path}")
    return sorted(v for m in Study.load(f"sqlite:///{path}").history.measurements for v in m.values.values())


def test_answers_in_a_file_that_is_overwritten_in_place_are_kept_and_brought_back(tmp_path: Path) -> None:
    path, old = tmp_path / "study.db", tmp_path / "old.db"
    first = opened(f"sqlite:///{path}")
    good("backup", str(path), str(old))
    told = [asked(first) for _ in range(3)]
    for evaluation in told[:2]:
        first.tell(evaluation, 777.0, cost=5.0)
    with closing(sqlite3.connect(path)) as connection:  # or else all that the copy lacks is in the log
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    with path.open("r+b") as file:
        file.truncate()
        file.write(old.read_bytes())
    with pytest.raises(LogReplacedError, match=r"study\.unstored\.jsonl"):
        first.tell(told[2], 778.0, cost=5.0)
    first.close()
    assert values_after_restoring(old, path) == [777.0, 777.0, 778.0]


@pytest.mark.parametrize("how", ["removed", "removed with the files beside it", "moved"])
def test_answers_in_a_file_that_is_removed_or_moved_are_kept_and_brought_back(tmp_path: Path, how: str) -> None:
    path, old = tmp_path / "study.db", tmp_path / "old.db"
    first = opened(f"sqlite:///{path}")
    good("backup", str(path), str(old))
    told = [asked(first) for _ in range(3)]
    for evaluation in told[:2]:
        first.tell(evaluation, 777.0, cost=5.0)
    if how == "moved":
        path.rename(tmp_path / "elsewhere.db")
    else:
        for end in ("", "-wal", "-shm") if "beside" in how else ("",):
            Path(f"{path}{end}").unlink()
    for _ in range(2):
        with pytest.raises(LogReplacedError, match=r"study\.unstored\.jsonl"):
            first.tell(told[2], 778.0, cost=5.0)
    assert not path.exists()
    first.close()
    assert values_after_restoring(old, path) == [777.0, 777.0, 778.0]
