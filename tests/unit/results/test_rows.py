"""What is known of one design."""

from __future__ import annotations

import json

import pytest

from flexibo import Design
from flexibo.results.front import FrontRow
from flexibo.results.rows import DesignRow, json_row, option_columns, quantity_columns


def row(**more: object) -> DesignRow:
    facts = {
        "design": Design({"x": 1}),
        "values": {"a": 1.5, "b": 20.0},
        "readings": {"a": 2, "b": 0},
        "spreads": {"a": 0.1, "b": None},
        "estimates": {"a": 1.4, "b": 20.0},
        "deviations": {"a": 0.05, "b": 3.0},
    }
    return DesignRow(**(facts | more))  # type: ignore[arg-type]


def test_what_has_no_reading_is_missing() -> None:
    assert row().measured == {"a": True, "b": False}
    assert row().missing == ("b",)


@pytest.mark.parametrize(
    ("probability", "word"), [(1.0, "feasible"), (0.975, "feasible"), (0.5, "unsure"), (0.025, "violating")]
)
def test_the_probability_decides_the_feasibility(probability: float, word: str) -> None:
    assert row(probability=probability).feasibility == word


def test_columns_have_a_prefix() -> None:
    columns = quantity_columns(row()) | option_columns(row())
    assert (columns["value:a"], columns["measured:b"], columns["readings:a"]) == (1.5, False, 2)
    assert (columns["spread:b"], columns["estimate:a"], columns["deviation:b"]) == (None, 1.4, 3.0)
    assert columns["option:x"] == 1


def test_every_attribute_is_ready_for_json() -> None:
    facts = {name: getattr(row(), name) for name in ("design", "values", "readings", "spreads", "estimates")}
    made = FrontRow(**facts, deviations=row().deviations, best=("a",), knee=True, number=3)
    found = json.loads(json.dumps(json_row(made)))
    assert (found["number"], found["best"], found["knee"], found["missing"]) == (3, ["a"], True, ["b"])
    assert found["design"] == {"x": 1}
