"""The front as a table."""

from __future__ import annotations

from dataclasses import replace

from flexibo import Design, Space, Study
from flexibo.results.front import Front, FrontRow

SPACE = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)})


def row(x: object, a: float, joules: float, *, probability: float = 1.0, **options: object) -> FrontRow:
    return FrontRow(
        number=1,
        design=Design({"x": x, **{name: value for name, value in options.items() if name not in MARKS}}),  # type: ignore[dict-item]
        values={"a": a, "joules": joules},
        readings={"a": 1, "joules": 1},
        spreads={"a": None, "joules": None},
        estimates={"a": a, "joules": joules},
        deviations={"a": 0.0, "joules": 0.0},
        probability=probability,
        **{name: value for name, value in options.items() if name in MARKS},  # type: ignore[arg-type]
    )


MARKS = ("best", "knee", "standing")


def test_a_front_prints_as_a_table_with_what_never_varies_below() -> None:
    rows = [
        row(0.12345, 1.0, 123456.0, kernel="3x3", best=("a",)),
        row(1.0, 20.5, 3.0, kernel="3x3", best=("joules",)),
        row(0.5, 2.0, 4.0, kernel="3x3", knee=True),
    ]
    *table, shared, note = str(Front(rows)).splitlines()
    assert table == [
        "      a  joules",
        "1    *1  123456        x=0.123",
        "1  20.5      *3        x=1",
        "1     2       4  knee  x=0.5",
    ]
    assert all(mark in note for mark in ("*", "knee"))
    assert shared.endswith(": kernel=3x3")


def test_values_that_differ_little_are_told_apart_and_large_ones_have_no_exponent() -> None:
    lines = str(Front([row(1, 70792.4, 1.0), row(2, 70793.6, 2.0), row(3, 1234567.0, 3.0)])).splitlines()
    assert [line.split()[1] for line in lines[1:4]] == ["70792", "70794", "1234567"]


def test_a_measured_front_needs_no_note_and_a_single_design_keeps_its_options() -> None:
    assert str(Front([row(3, 1.0, 2.0, kernel=None)])).splitlines() == ["   a  joules", "1  1       2  x=3  kernel=-"]


def test_a_front_says_who_keeps_the_constraints_where_one_is_in_doubt() -> None:
    rows = [row(1, 1.0, 3.0), row(2, 2.0, 2.0, probability=0.73), row(3, 3.0, 1.0, probability=0.0)]
    lines = str(Front(rows)).splitlines()
    assert lines[0].split() == ["a", "joules", "feasible"]
    assert [line.split()[3:] for line in lines[1:4]] == [["yes", "x=1"], ["maybe,", "73%", "x=2"], ["no", "x=3"]]
    assert "feasible" not in str(Front(rows[:1]))


def test_a_column_of_standings_and_the_error_bar_of_one_reading_have_a_line_below() -> None:
    one = row(1, 1.0, 2.0)
    barred = replace(one, standing="possible", spreads={**one.spreads, "a": 0.5})
    *_, reading, standing = str(Front([barred])).splitlines()
    assert reading.startswith("± of a single reading (1):")
    assert standing.startswith("standing:")


def test_an_empty_front_says_why() -> None:
    assert str(Study(SPACE, ["a", "b"]).front()).startswith("No confirmed design yet: ")


def test_options_that_look_alike_are_not_taken_for_equal() -> None:
    assert len(str(Front([row(0.12341, 1.0, 2.0), row(0.12342, 2.0, 1.0)])).splitlines()) == 4


def test_text_with_line_breaks_does_not_break_the_table() -> None:
    rows = [row("one\ntwo\x1b[31m", 1.0, 2.0, **{"na\nme": 1}), row("plain", 2.0, 1.0, **{"na\nme": 2})]
    lines = str(Front(rows)).splitlines()
    assert len(lines) == 4
    assert lines[1].split()[3:] == [r"x=one\ntwo\x1b[31m", r"na\nme=1"]
    assert lines[1].index("na\\nme") == lines[2].index("na\\nme")


def test_the_repr_of_a_front_is_that_of_its_rows() -> None:
    rows = (row(1, 1.0, 2.0),)
    assert repr(Front(rows)) == repr(rows)
