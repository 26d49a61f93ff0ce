"""The table of promising designs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flexibo import Design
from flexibo.results.promising import Promising, PromisingRow, gain_cell


def row(number: int, relative: float | None = 0.031, *, x: int = 1, **more: float | None) -> PromisingRow:
    return PromisingRow(
        number=number,
        design=Design({"x": x, "kernel": "3x3"}),
        values={"a": 1.5, "joules": 20.0},
        readings={"a": 1, "joules": 0},
        spreads={"a": None, "joules": None},
        estimates={"a": 1.5, "joules": 20.0},
        deviations={"a": 0.0, "joules": 0.25},
        probability=1.0,
        standing="probable",
        gain=0.7,
        relative_gain=relative,
        confirm_cost=more.get("price", 12.0),
        chance=more.get("chance") or 1.0,
    )


def test_each_row_has_its_number_prediction_gain_price_and_chance() -> None:
    lines = str(Promising([row(4), row(5, 0.5, x=2, chance=0.9)])).splitlines()
    assert lines[1].split() == ["4", "1.5", "~20", "±0.25", "+3.1", "%", "12", "100", "%", "x=1"]
    assert lines[2].split() == ["5", "1.5", "~20", "±0.25", "+50", "%", "12", "90", "%", "x=2"]
    assert lines[3].endswith("kernel=3x3")


def test_a_column_of_standings_and_the_error_bar_of_one_reading_have_a_line_below() -> None:
    rows = [replace(row(4), standing="confident", spreads={"a": 0.5, "joules": None}), row(5, x=2)]
    *_, reading, standing = str(Promising(rows)).splitlines()
    assert reading.startswith("± of a single reading (1):")
    assert standing.startswith("standing:")
    assert "standing" not in str(Promising([row(4)]))


@pytest.mark.parametrize(
    ("relative", "shown"), [(1.2345, "+123 %"), (0.1, "+10 %"), (0.0123, "+1.2 %"), (1e-9, "<0.01 %"), (None, "0.7")]
)
def test_a_gain_is_a_share_of_the_confirmed_front_where_there_is_one(relative: float | None, shown: str) -> None:
    assert gain_cell(row(1, relative)) == shown


def test_it_names_what_is_missing() -> None:
    assert row(1).missing == ("joules",)
    assert row(1).feasibility == "feasible"


def test_records_have_every_attribute_of_a_row(tmp_path: Path) -> None:
    rows = Promising([row(4, price=None)])
    (record,) = rows.records()
    assert record["number"] == 4
    assert (record["value:joules"], record["measured:joules"], record["readings:a"]) == (20.0, False, 1)
    assert (record["relative_gain"], record["confirm_cost"], record["chance"]) == (0.031, None, 1.0)
    rows.to_csv(tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text().splitlines()[0].split(",") == list(record)
    assert rows.to_pandas()["number"].tolist() == [4]


def test_nothing_promising_says_so() -> None:
    assert "No design" in str(Promising())
