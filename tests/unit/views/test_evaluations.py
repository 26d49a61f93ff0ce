"""The table of evaluations, and the details of one."""

from __future__ import annotations

import json
from typing import Any

from flexibo import Objective, Study
from flexibo.objectives import Reading
from flexibo.storage import MemoryStorage
from flexibo.transfer import records
from flexibo.views.evaluations import COLUMNS, LONGEST, evaluation_details, evaluation_rows


def strict_json(value: dict[str, Any]) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


def test_every_evaluation_is_a_row_with_its_options(finished_study: Study) -> None:
    history = finished_study.history
    found = dict(enumerate(records(history, [1.5] * len(history.events))))
    view = strict_json(evaluation_rows(history, found))
    assert len(view["rows"]) == len(history.asked)
    rows = [dict(zip((*COLUMNS, *view["options"]), row, strict=True)) for row in view["rows"]]
    for row, asked in zip(rows, history.asked, strict=True):
        assert row["id"] == asked.number
        assert view["objectives"][row["objective"]] == asked.objective
        assert (row["filters"], row["ghz"]) == (asked.design["filters"], asked.design["ghz"])
        assert (row["why"], row["time"]) == (asked.why, 1.5)
    failed = rows[1]
    assert (view["states"][failed["state"]], failed["value"], failed["cost"]) == ("failed", None, 2.0)
    assert failed["reason"].startswith("a < b")


def test_long_texts_are_cut_in_the_table_and_whole_in_the_details() -> None:
    study = Study({"x": (0.0, 1.0)}, ["a", "b"], seed=0)
    asked = study.ask()
    assert asked is not None
    study.fail(asked, "y" * 2000, cost=1.0)
    history = study.history
    (record,) = records(history, [None] * len(history.events))
    (row,) = evaluation_rows(history, {0: record})["rows"]
    assert len(row[COLUMNS.index("reason")]) == LONGEST
    details = strict_json(evaluation_details(history, 0, record))
    assert (details["reason"], details["state"], details["cost"]) == ("y" * 2000, "failed", 1.0)
    assert details["asked"] is None


def test_details_have_the_error_bar_of_a_value() -> None:
    study = Study({"x": (0.0, 1.0)}, [Objective("a", unit="J"), "b"], seed=0)
    study.add({"x": 0.5}, {"a": Reading(3.0, deviation=0.25), "b": 1.0})
    history = study.history
    first, second = records(history, [None] * len(history.events))
    assert strict_json(evaluation_details(history, -1, first))["values"] == [
        {"name": "a", "unit": "J", "value": 3.0, "deviation": 0.25}
    ]
    assert strict_json(evaluation_details(history, -2, second))["values"][0]["deviation"] is None


def test_details_say_what_else_could_have_been_asked(finished_study: Study) -> None:
    history = finished_study.history
    number = next(e.number for e in reversed(history.asked) if e.runner_up is not None)
    found = records(history, [None] * len(history.events))
    details = strict_json(evaluation_details(history, number, found[number]))
    second = history.asked[number].runner_up
    assert second is not None
    assert (details["runner_up"]["objective"], details["runner_up"]["design"]) == (
        second.objective,
        dict(second.design),
    )
    assert details["values"][0]["name"] == details["objective"]


def test_an_added_result_has_details_too() -> None:
    study = Study({"x": (0.0, 1.0)}, ["a", "b"], seed=0)
    study.add({"x": 0.5}, {"a": 1.0, "b": 2.0})
    history = study.history
    found = records(history, [None] * len(history.events))
    details = strict_json(evaluation_details(history, -1, found[0]))
    assert (details["state"], details["why"], details["runner_up"]) == ("added", "", None)


def test_a_value_that_is_not_of_the_last_step_comes_with_its_step() -> None:
    memory = MemoryStorage()
    Study({"x": [1, 2]}, [Objective("a", steps=[3, 9]), "b"], storage=memory, seed=0, method="random").ask(
        2, only=["a"]
    )
    contents = memory.read()
    contents[-1]["stop"] = 3
    copy = MemoryStorage()
    copy.commit(0, lambda none: contents)
    study = Study.load(copy)
    for evaluation in study.pending:
        study.tell(evaluation, 0.5)
    found = dict(enumerate(records(study.history, [None] * len(study.events))))
    rows = evaluation_rows(study.history, found)["rows"]
    assert [row[COLUMNS.index("stop")] for row in rows] == [None, 3]
