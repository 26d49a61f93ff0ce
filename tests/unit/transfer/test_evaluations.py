"""What became of each evaluation: its record, and its row of a table."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from tests.unit.transfer.studies import asked, table

from flexibo import Evaluation, Objective, Space, Study
from flexibo.history import History
from flexibo.history.events import LOST_WORKER, Added, Asked, Created, Failed, Reissued, Released, Spent, Told
from flexibo.transfer import Record, read_results, records, study_copy, table_lines
from flexibo.transfer.evaluations import iso_time, lost_attempts

LINE = Space({"x": (0.0, 1.0)})


def history_of(*events: Any) -> History:
    history = History(LINE, [Objective("a"), Objective("b")])
    history.append(Created({}))
    for event in events:
        history.append(event)
    return history


def question(number: int = 0, objective: str = "a") -> Evaluation:
    return Evaluation(LINE.design({"x": 0.5}), objective, 2.0, 3.0, "because", number, (objective,))


def found_in(*events: Any) -> list[Record]:
    history = history_of(*events)
    found = records(history, [float(i) for i in range(len(history.events))])
    assert sum((one.cost or 0.0) + one.lost_cost for one in found if one.number is not None) == history.spent
    return found


def test_a_record_tells_what_was_asked_and_what_came_of_it() -> None:
    (one,) = found_in(Asked(question(), "w1", 1.0), Told(0, {"a": 0.25}, 4.0, "w1"))
    assert one == Record(
        number=0,
        objective="a",
        design=LINE.design({"x": 0.5}),
        state="measured",
        values={"a": 0.25},
        cost=4.0,
        attempt=1,
        worker="w1",
        asked=1.0,
        answered=2.0,
        gain=2.0,
        expected_cost=3.0,
        why="because",
    )


def test_every_state_has_its_record() -> None:
    four = [Asked(question(i), f"w{i}", 0.0) for i in range(4)]
    ends = (Failed(0, "burnt", 1.0, "w0"), Failed(1, "too big", 2.0, "w1", impossible=True), Released(2))
    found = found_in(*four, *ends)
    assert [one.state for one in found] == ["failed", "impossible", "released", "pending"]
    assert [one.reason for one in found] == ["burnt", "too big", "", ""]


def test_what_a_vanished_worker_spent_is_lost_until_it_tells_itself() -> None:
    taken_over = (Asked(question(), "w1", 0.0), Reissued(0, "w2", 5.0, 7.0))
    (one,) = found_in(*taken_over)
    assert (one.state, one.worker, one.asked, one.lost_cost) == ("pending", "w2", 2.0, 7.0)
    (one,) = found_in(*taken_over, Told(0, {"a": 1.0}, 4.0, "w2"))
    assert (one.cost, one.lost_cost) == (4.0, 7.0)
    (one,) = found_in(*taken_over, Told(0, {"a": 1.0}, 4.0, "w2"), Spent(0, 6.0, "w1"))
    assert (one.cost, one.lost_cost) == (4.0, 6.0)
    (one,) = found_in(*taken_over, Told(0, {"a": 1.0}, 6.5, "w1"))
    assert (one.worker, one.cost, one.lost_cost) == ("w1", 6.5, 0.0)


def test_workers_that_vanished_are_counted_and_a_cost_of_nothing_is_unknown() -> None:
    events = (Asked(question(), "w1", 0.0), Reissued(0, "w2", 5.0, 7.0), Released(0, LOST_WORKER, 0.0))
    (one,) = found_in(*events)
    assert (one.lost_attempts, one.lost_cost) == (2, 7.0)
    history = history_of(*events)
    found = lost_attempts(history, [float(i) for i in range(len(history.events))])
    assert [(lost.worker, lost.cost, lost.time) for lost in found] == [("w1", 7.0, 2.0), ("w2", None, 3.0)]
    (row,) = csv.DictReader(io.StringIO("".join(table_lines(history, found_in(events[0], events[2])))))
    assert (row["lost_attempts"], row["lost_cost"]) == ("1", "")
    (row,) = csv.DictReader(io.StringIO("".join(table_lines(history, found_in(events[0], Released(0))))))
    assert (row["lost_attempts"], row["lost_cost"]) == ("0", "0.0")


def test_a_late_answer_to_what_was_released_counts_once() -> None:
    late = (Asked(question(), "w1", 0.0), Released(0, "Its worker vanished.", 2.0), Told(0, {"a": 1.0}, 4.0, "w1"))
    (one,) = found_in(*late, Told(0, {"a": 9.0}, 8.0, "w1"))
    assert (one.state, one.reason, one.values, one.cost, one.lost_cost) == ("measured", "", {"a": 1.0}, 4.0, 0.0)


def test_a_result_that_was_brought_in_has_a_record_per_evaluation_that_it_saves() -> None:
    added = Added(LINE.design({"x": 0.5}), {"a": 1.0, "b": 2.0}, {"b": 3.0})
    first, second = found_in(added)
    assert (first.state, first.number, first.objective, first.cost) == ("added", None, "a", None)
    assert (second.objective, second.values, second.cost) == ("b", {"b": 2.0}, 3.0)


def test_a_table_has_a_row_per_evaluation_with_options_and_values(url: str) -> None:
    rows = list(csv.DictReader(io.StringIO("".join(table(url)))))
    heading = "number objective x k mode error joules ms cost lost_cost lost_attempts state reason attempt worker"
    assert list(rows[0]) == [*heading.split(), "asked", "answered", "gain", "expected_cost", "why"]
    states = [row["state"] for row in rows]
    assert states == ["measured"] * 8 + ["failed", "impossible", "released", "pending", "added", "added"]
    assert rows[8]["reason"] == "out of memory"
    assert all(row["joules"] and row["ms"] for row in rows[:8] if row["objective"] == "joules")
    assert rows[0]["asked"].endswith("+00:00")
    assert rows[-1] | {"number": "", "objective": "joules", "joules": "0.6", "mode": "fast"} == rows[-1]


def test_a_column_whose_name_is_taken_says_what_it_is(tmp_path: Path) -> None:
    url, other = (f"sqlite:///{tmp_path / name}" for name in ("names.db", "other.db"))
    space: dict[str, Any] = {"cost": [1, 2], "loss": [3, 4]}
    Study(space, ["state", "loss"], n_initial=1, seed=0, storage=other).close()
    with Study(space, ["state", "loss"], n_initial=1, seed=0, storage=url) as study:
        evaluation = asked(study)
        study.tell(evaluation, 0.5, cost=1.0)
    heading, row = table(url)
    assert heading.startswith("number,objective,option cost,option loss,value state,value loss,cost,")
    found = read_results([heading, row], study_copy(other), "results.csv")
    assert dict(found.results[0].design) == dict(evaluation.design)
    assert found.results[0].values == {"state": 0.5}


def test_a_reason_is_no_formula_for_a_spreadsheet() -> None:
    history = history_of(Asked(question(), "w1", 0.0), Failed(0, "=cmd|' /C calc'!A0", 1.0, "w1"))
    rows = list(csv.DictReader(io.StringIO("".join(table_lines(history, records(history, [None] * 3))))))
    assert rows[0]["reason"] == "'=cmd|' /C calc'!A0"
    assert rows[0]["asked"] == ""


def test_half_of_a_surrogate_pair_in_a_reason_can_be_written() -> None:
    history = history_of(Asked(question(), "w1", 0.0), Failed(0, "no file \udcff", 1.0, "w1"))
    text = "".join(table_lines(history, records(history, [None] * 3)))
    assert "no file \\udcff" in text.encode("utf-8").decode("utf-8")


def test_a_time_that_cannot_be_is_left_out() -> None:
    assert iso_time(1e300) == iso_time(None) == ""
