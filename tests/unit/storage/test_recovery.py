"""What is known of events that can still be read: certain, changed, or not to be checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flexibo.storage import StorageError
from flexibo.storage._chain import Mark, extended
from flexibo.storage.recovery import Verdict, found_events, readable_events
from flexibo.storage.sql import SQLStorage

TEXTS = [json.dumps({"event": "note", "n": n}) for n in range(6)]
ROWS = [
    ("net", n, text, None, mark.digest)
    for n, (text, mark) in enumerate(zip(TEXTS, extended(Mark(), TEXTS), strict=True))
]
CHECKED, UNCHECKED, CHANGED = Verdict.CHECKED, Verdict.UNCHECKED, Verdict.CHANGED


def verdicts(rows: Any) -> dict[int, Verdict]:
    return {event.number: event.verdict for event in found_events(rows).get("net", [])}


def with_row(at: int, text: str | None = None, digest: str | None = None) -> list[Any]:
    study, number, old, token, was = ROWS[at]
    return [*ROWS[:at], (study, number, text or old, token, digest or was), *ROWS[at + 1 :]]


def test_whole_logs_are_certain_in_any_order_and_among_other_rows() -> None:
    rows = [(7,), ("net",), ("net", "worker", 1, 2.0, 3.0, "{}"), *reversed(ROWS), ("table", "t", "t", 2, "CREATE")]
    found = found_events(rows)["net"]
    assert [event.content["n"] for event in found] == list(range(6))
    assert {event.verdict for event in found} == {CHECKED}


def test_a_changed_text_is_noticed_and_what_follows_is_certain() -> None:
    changed = '{"event": "note", "n": 7}'
    assert verdicts(with_row(2, changed)) == dict.fromkeys(range(6), CHECKED) | {2: CHANGED}
    assert verdicts(with_row(2, "{")) == dict.fromkeys(range(6), CHECKED) | {2: CHANGED}
    assert verdicts(with_row(5, changed))[5] is CHANGED


def test_a_changed_digest_does_not_make_its_event_uncertain() -> None:
    assert verdicts(with_row(2, digest="f" * 32)) == dict.fromkeys(range(6), CHECKED)
    assert verdicts(with_row(5, digest="f" * 32))[5] is CHANGED


def test_after_a_lost_event_one_cannot_be_checked() -> None:
    assert verdicts([*ROWS[:2], *ROWS[3:]]) == {0: CHECKED, 1: CHECKED, 3: UNCHECKED, 4: CHECKED, 5: CHECKED}


def test_of_several_copies_the_one_that_fits_is_taken() -> None:
    old = ("net", 2, '{"event": "note", "n": 9}', None, "0" * 32)
    for rows in ([old, *ROWS], [*ROWS, old], [*ROWS, ("net", 2, TEXTS[2], None)]):
        found = found_events(rows)["net"]
        assert [event.content["n"] for event in found] == list(range(6))
        assert {event.verdict for event in found} == {CHECKED}


def test_a_copy_without_a_digest_is_certain_if_the_next_event_follows_from_it() -> None:
    rows = [row if row[1] != 2 else row[:4] for row in ROWS]
    assert verdicts(rows) == dict.fromkeys(range(6), CHECKED)


def test_without_digests_nothing_is_certain_and_absurd_numbers_are_no_events() -> None:
    assert set(verdicts([row[:3] for row in ROWS]).values()) == {UNCHECKED}
    assert verdicts([*ROWS, ("net", 10**9, TEXTS[0], None, "0" * 32)]) == dict.fromkeys(range(6), CHECKED)
    assert found_events([("net", 0, "[]", None), ("net", -1, TEXTS[0]), (7, 0, TEXTS[0]), ("net", 0, None)]) == {}


def test_the_events_of_a_file_are_read_without_changing_it(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    storage = SQLStorage(f"sqlite:///{path}", "net")
    storage.commit(0, lambda _: [json.loads(text) for text in TEXTS])
    found = readable_events(f"sqlite:///{path}")["net"]  # while it is open: they are in the log beside the file
    assert [event.verdict for event in found] == [CHECKED] * 6
    with pytest.raises(StorageError, match=r"none\.db"):
        readable_events(f"sqlite:///{tmp_path / 'none.db'}")
    with pytest.raises(StorageError, match="/dev/zero"):
        readable_events("sqlite:////dev/zero")  # which has no end
