"""The chain of digests: what follows from where, and what is noticed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flexibo.storage import LogReplacedError, StorageError
from flexibo.storage._chain import Mark, Marks, Seen, checked_contents, extended, next_digest

TEXTS = [json.dumps({"n": n}) for n in range(5)]
ENDS = extended(Mark(), TEXTS)
ROWS = [(mark.events - 1, text, mark.digest) for mark, text in zip(ENDS, TEXTS, strict=True)]


START = Mark()


def checked(rows: Any, known: Mark = START, after: int = 0, *seen: Mark) -> tuple[list[Any], Mark]:
    marks = Marks()
    for mark in (known, *seen):
        marks.add(mark)
    return checked_contents(rows, marks.seen(after), after, study="net", where="study.db")


def test_a_digest_depends_on_the_text_and_on_all_before_it() -> None:
    assert next_digest("", "a") != next_digest("", "b")
    assert next_digest("", "a") != next_digest(next_digest("", "a"), "a")
    assert [mark.events for mark in ENDS] == [1, 2, 3, 4, 5]
    assert extended(ENDS[1], TEXTS[2:]) == ENDS[2:]


@pytest.mark.parametrize(("known", "after"), [(0, 0), (0, 3), (2, 2), (2, 4), (5, 5), (0, 9)])
def test_a_log_is_read_from_any_place_that_was_seen(known: int, after: int) -> None:
    start = ENDS[known - 1] if known else Mark()
    contents, end = checked(ROWS[max(known - 1, 0) :], start, after)
    assert contents == [{"n": n} for n in range(after, 5)]
    assert end == ENDS[-1]


def test_tables_without_digests_have_the_same_marks() -> None:
    assert checked([(*row[:2], None) for row in ROWS])[1] == ENDS[-1]
    assert checked([(*row[:2], None) for row in ROWS[2:]], ENDS[2], 3) == ([{"n": 3}, {"n": 4}], ENDS[-1])


@pytest.mark.parametrize(
    ("at", "row", "said"),
    [
        (1, (1, TEXTS[1].replace("1", "7"), ROWS[1][2]), "Event 1 .*checksum"),
        (1, (1, TEXTS[1], ROWS[2][2]), "Event 1 .*checksum"),
        (3, (9, TEXTS[3], ROWS[3][2]), "Event 3 .*missing"),
        (4, (4, None, ROWS[4][2]), "Event 4 .*read"),
        (4, (4, b"{}", ROWS[4][2]), "Event 4 .*read"),
        (4, (4, "[]", next_digest(ROWS[3][2], "[]")), "Event 4 .*read"),
    ],
)
def test_a_damaged_event_is_named(at: int, row: Any, said: str) -> None:
    with pytest.raises(StorageError, match=said):
        checked([*ROWS[:at], row, *ROWS[at + 1 :]])


def test_a_log_that_does_not_go_through_a_known_place_is_refused() -> None:
    other = extended(ENDS[0], ["{}"])[0]
    for rows in ([], ROWS[3:], [(1, "{}", other.digest)]):
        with pytest.raises(LogReplacedError, match=r"study\.db .* 2\b"):
            checked(rows, ENDS[1], 2)


def test_a_log_that_is_read_again_must_go_through_all_places_that_were_seen() -> None:
    assert checked(ROWS, START, 0, ENDS[1], ENDS[3])[1] == ENDS[-1]
    with pytest.raises(LogReplacedError, match=r"\b4\b"):
        checked(ROWS, START, 0, Mark(4, "other"))
    with pytest.raises(LogReplacedError, match=r"\b5\b"):
        checked(ROWS[:3], START, 0, ENDS[1], ENDS[4])


def test_the_nearest_place_that_was_seen_is_found_and_old_ones_are_forgotten() -> None:
    marks = Marks()
    assert marks.seen(7) == Seen()
    for end in ENDS[1:4:2]:
        marks.add(end)
    assert [marks.seen(n).known for n in (1, 2, 3, 4, 9)] == [Mark(), ENDS[1], ENDS[1], ENDS[3], ENDS[3]]
    for n in range(1000, 1200):
        marks.add(Mark(n, "x"))
    assert marks.seen(900).known == Mark()
    assert marks.seen(1199).known == Mark(1199, "x")


def test_who_reads_from_an_earlier_or_later_place_must_find_all_that_was_seen() -> None:
    seen = Seen(Mark(5, "five"), {7: "seven"})
    assert seen.since(Mark(3, "three")) == Seen(Mark(3, "three"), {5: "five", 7: "seven"})
    assert seen.since(Mark(6, "six")) == Seen(Mark(5, "five"), {6: "six", 7: "seven"})
    assert seen.since(Mark(5, "five")) == seen
    for other in (Mark(5, "other"), Mark(7, "other"), Mark()):
        assert seen.since(other) == Seen(Mark(), {5: "five", 7: "seven"})
    assert Seen().since(Mark(2, "two")) == Seen(Mark(), {2: "two"})
