"""Stored studies copied, exported and imported: the same events, the same next question, or nothing at all."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flexibo import Categorical, Evaluation, GaussianProcess, Objective, Space, Study
from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.history import History
from flexibo.history.events import Added, Asked, Created, Failed, Reissued, Released, Spent, Told, event_to_dict
from flexibo.storage import MemoryStorage, StorageError, open_storage
from flexibo.transfer import (
    Record,
    event_lines,
    import_events,
    import_results,
    read_events,
    read_results,
    records,
    study_copy,
    table_lines,
)
from flexibo.transfer.evaluations import iso_time

SPACE = {"x": (0.0, 1.0), "k": [1, 2, 3], "mode": ["fast", "=slow"]}
OBJECTIVES = [Objective("error"), Objective("joules", unit="J", noisy=True), Objective("ms", measured_with="joules")]


def answered(study: Study, evaluation: Evaluation) -> None:
    x, k = float(evaluation.design["x"]), float(evaluation.design["k"])
    value = x + k / 10 if evaluation.objective == "error" else {"joules": 1 - x + k / 20, "ms": k}
    study.tell(evaluation, value, cost=5.0 if evaluation.objective == "error" else 1.0)


def asked(study: Study) -> Evaluation:
    evaluation = study.ask()
    assert evaluation is not None
    return evaluation


@pytest.fixture(scope="module")
def contents() -> list[dict[str, Any]]:
    """The events of a study with answers of every kind."""
    storage = MemoryStorage()
    settings: dict[str, Any] = {"budget": 200, "seed": 3, "n_initial": 3, "candidates": 50}
    with Study(SPACE, OBJECTIVES, storage=storage, name="net", **settings) as study:
        study.add({"x": 0.5, "k": 2, "mode": "fast"}, {"error": 0.7, "joules": 0.6}, cost={"error": 4.0})
        for _ in range(8):
            answered(study, asked(study))
        study.fail(asked(study), "out of memory", cost=2.0)
        study.fail(asked(study), "too wide", cost=0.5, impossible=True)
        study.release(asked(study))
        study.note("The fan was repaired.")
        asked(study)
    return storage.read()


@pytest.fixture
def url(contents: list[dict[str, Any]], tmp_path: Path) -> str:
    """A file with that study."""
    where = f"sqlite:///{tmp_path / 'study.db'}"
    open_storage(where, "net").commit(0, lambda _: contents)
    return where


def exported(url: str) -> list[bytes]:
    return [line.encode() for line in event_lines(study_copy(url))]


def test_an_imported_study_has_the_same_events_and_asks_the_same_next_questions(url: str, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path / 'other.db'}"
    assert import_events(read_events(exported(url), "a file"), other) == "net"
    assert open_storage(other, "net").read() == open_storage(url, "net").read()
    studies = [Study.load(url), Study.load(other)]
    assert studies[0].events == studies[1].events
    for _ in range(4):
        first, second = (asked(study) for study in studies)
        assert first == second
        answered(studies[0], first)
        answered(studies[1], second)


def test_a_study_is_not_imported_over_another(url: str) -> None:
    before = open_storage(url, "net").read()
    found = read_events(exported(url), "a file")
    with pytest.raises(StorageError, match="holds a study 'net' already; import under another name"):
        import_events(found, url)
    assert open_storage(url, "net").read() == before
    assert import_events(found, url, "copy") == "copy"
    assert open_storage(url, "copy").read() == before


def changed(lines: list[bytes], at: int, **fields: Any) -> list[bytes]:
    """The lines, one of them with other fields."""
    content = {**json.loads(lines[at]), **fields}
    return [*lines[:at], json.dumps(content).encode(), *lines[at + 1 :]]


def position(lines: list[bytes], kind: str) -> int:
    return next(i for i, line in enumerate(lines) if json.loads(line).get("event") == kind)


@pytest.mark.parametrize(
    ("kind", "fields", "sentence"),
    [
        ("asked", {"number": 7}, "evaluation 7 does not follow -1"),
        ("asked", {"objective": "errror"}, "'errror' is not an objective that can be asked for"),
        ("asked", {"objective": "ms"}, "'ms' is not an objective that can be asked for"),
        ("asked", {"design": {"x": 2.0, "k": 1, "mode": "fast"}}, "Option 'x' is 2.0"),
        ("asked", {"seconds": "soon"}, "its field 'seconds' is 'soon'"),
        ("asked", {"then": ["nothing"]}, "'nothing' is not an objective"),
        ("asked", {"yields": ["nothing"]}, "it yields nothing"),
        ("asked", {"surprise": 1}, "its field 'surprise' is unknown; it may come from a newer version"),
        ("told", {"number": 99}, "evaluation 99 was never asked"),
        ("told", {"number": -1}, "its field 'number' is -1"),
        ("told", {"values": {"weight": 1.0}}, "there is no objective 'weight'"),
        ("told", {"values": {"error": 1e200}}, "its field 'values'"),
        ("told", {"cost": -1.0}, "its field 'cost' is -1.0"),
        ("told", {"event": "guessed"}, "The event 'guessed' is unknown; it may come from a newer version"),
        ("failed", {"reason": ["x"]}, "its field 'reason'"),
        ("added", {"costs": {"error": -4.0}}, "its field 'costs'"),
        ("note", {"event": "created", "settings": {}}, "a study is created once"),
        ("created", {"settings": {}}, "it has no setting 'space'"),
        ("budget", {"budget": -1e308}, "its field 'budget' is -1e+308"),
        ("budget", {"budget": "much"}, "its field 'budget' is 'much'"),
        ("note", {"event": "stop", "rules": {"moon": 1}, "text": None}, "its field 'text' is unknown"),
        ("created", {"event": "note"}, "a study begins with the event 'created'"),
    ],
)
def test_a_damaged_event_is_refused_with_its_line(url: str, kind: str, fields: dict[str, Any], sentence: str) -> None:
    lines = exported(url)
    at = position(lines, kind)
    with pytest.raises(InvalidValueError) as caught:
        read_events(changed(lines, at, **fields), "a file")
    assert str(caught.value).startswith(f"Line {at + 1} of a file is damaged: ")
    assert sentence in str(caught.value)
    assert str(caught.value).endswith("Nothing was changed.")


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        ({"event": "reissued", "number": 0, "worker": "w", "seconds": 0.0, "cost": 0.0}, "evaluation 0 is not pending"),
        ({"event": "released", "number": 0}, "evaluation 0 is not pending"),
        ({"event": "stop", "rules": {"moon": 1}}, "Unknown stop rule 'moon'"),
        ({"event": "stop", "rules": {"max_evaluations": -1}}, "Stop rule 'max_evaluations' has the limit -1"),
        ({"event": "reference", "values": {"error": 1.0}}, "it has no value of 'joules'"),
    ],
)
def test_an_event_that_cannot_follow_is_refused_with_its_line(url: str, event: Any, sentence: str) -> None:
    lines = changed(exported(url), 0, events=len(exported(url)))
    with pytest.raises(InvalidValueError) as caught:
        read_events([*lines, json.dumps(event).encode()], "a file")
    assert str(caught.value).startswith(f"Line {len(lines) + 1} of a file is damaged: {sentence}")


@pytest.mark.parametrize(
    ("setting", "value", "sentence"),
    [
        ("n_given", "two", "its setting 'n_given' is 'two'"),
        ("n_given", 99, "its setting 'n_given' is 99, more than the initial designs"),
        ("seed", None, "its setting 'seed' is None"),
        ("space", {"options": [{"kind": "real"}]}, "its setting 'space' is"),
        ("space", {"options": [{"name": "x"}]}, "it is not an event of a study (KeyError: 'kind')"),
        ("objectives", [{"name": "error", "colour": "red"}], "it is not an event of a study"),
    ],
)
def test_a_damaged_setting_is_refused_with_its_line(url: str, setting: str, value: Any, sentence: str) -> None:
    lines = exported(url)
    settings = json.loads(lines[1])["settings"] | {setting: value}
    with pytest.raises(InvalidValueError) as caught:
        read_events(changed(lines, 1, settings=settings), "a file")
    assert str(caught.value).startswith(f"Line 2 of a file is damaged: {sentence}")


@pytest.mark.parametrize(
    "line", [b"{", b"[1]", b"\xff\xfe", b"", b"[" * 100_000, b'{"event": "budget", "budget": NaN}', b"null"]
)
def test_a_line_that_is_no_event_at_all_is_refused_with_its_number(url: str, line: bytes) -> None:
    lines = exported(url)
    lines[4] = line
    with pytest.raises(InvalidValueError, match=r"^Line 5 of a file is damaged: "):
        read_events(lines, "a file")


def test_a_file_that_is_cut_off_or_no_export_or_of_the_future_is_refused(url: str) -> None:
    lines = exported(url)
    with pytest.raises(InvalidValueError, match=rf"has {len(lines) - 2} events and should have {len(lines) - 1}"):
        read_events(lines[:-1], "a file")
    with pytest.raises(InvalidValueError, match="its end is cut off, or more was written to it"):
        read_events([*lines, lines[-1].replace(b'"number": 11', b'"number": 12')], "a file")
    for foreign in ([], [b"{}"], [b"x,y\n", b"1,2\n"], [b'{"format": "flexibo-events"}'], lines[1:]):
        with pytest.raises(InvalidValueError, match="a file is not an export of a study"):
            read_events(foreign, "a file")
    with pytest.raises(InvalidValueError, match=r"newer version of flexibo \(format 2, this one knows 1\)"):
        read_events(changed(lines, 0, version=2), "a file")
    with pytest.raises(InvalidValueError, match="Line 1 of a file is damaged: it names no study"):
        read_events(changed(lines, 0, study=None), "a file")


def test_a_study_with_a_rule_a_cost_and_a_surrogate_of_its_own_can_be_looked_at(tmp_path: Path) -> None:
    def rule(design: Any) -> bool:
        return bool(design["x"] < 0.9)

    url = f"sqlite:///{tmp_path / 'own.db'}"
    own: dict[str, Any] = {"cost": lambda design, objective: 1.0, "surrogate": GaussianProcess()}
    with Study(Space(SPACE, valid=rule), ["a", "b"], n_initial=2, seed=0, storage=url, **own) as study:
        for evaluation in study.ask(4):
            study.tell(evaluation, float(evaluation.design["x"]), cost=1.0)
    copy = study_copy(url)
    assert copy.missing == ("rule", "cost", "surrogate")
    assert copy.study.front()
    lines = [line.encode() for line in event_lines(copy)]
    assert import_events(read_events(lines, "a file"), f"sqlite:///{tmp_path / 'other.db'}") == "study"
    assert open_storage(f"sqlite:///{tmp_path / 'other.db'}", "study").read() == open_storage(url, "study").read()
    with pytest.raises(InvalidValueError, match="has a rule"):
        read_results(["x,k,mode,a\n"], copy, "a table")


def test_a_copy_can_be_used_without_changing_what_is_stored(url: str) -> None:
    before = open_storage(url, "net").read()
    copy = study_copy(url)
    answered(copy.study, asked(copy.study))
    assert open_storage(url, "net").read() == before
    assert list(copy.contents) == before


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


def test_a_late_answer_to_what_was_released_counts_once() -> None:
    late = (Asked(question(), "w1", 0.0), Released(0, "Its worker vanished.", 2.0), Told(0, {"a": 1.0}, 4.0, "w1"))
    (one,) = found_in(*late, Told(0, {"a": 9.0}, 8.0, "w1"))
    assert (one.state, one.reason, one.values, one.cost, one.lost_cost) == ("measured", "", {"a": 1.0}, 4.0, 0.0)


def test_a_result_that_was_brought_in_has_a_record_per_evaluation_that_it_saves() -> None:
    added = Added(LINE.design({"x": 0.5}), {"a": 1.0, "b": 2.0}, {"b": 3.0})
    first, second = found_in(added)
    assert (first.state, first.number, first.objective, first.cost) == ("added", None, "a", None)
    assert (second.objective, second.values, second.cost) == ("b", {"b": 2.0}, 3.0)


def table(url: str) -> list[str]:
    copy = study_copy(url)
    return list(table_lines(copy.study.history, records(copy.study.history, copy.times)))


def test_a_table_has_a_row_per_evaluation_with_options_and_values(url: str) -> None:
    rows = list(csv.DictReader(io.StringIO("".join(table(url)))))
    heading = "number objective x k mode error joules ms cost lost_cost state reason attempt worker asked answered"
    assert list(rows[0]) == [*heading.split(), "gain", "expected_cost", "why"]
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
    found = read_results([heading, row], study_copy(other), "a table")
    assert dict(found.results[0].design) == dict(evaluation.design)
    assert found.results[0].values == {"state": 0.5}


def test_a_reason_is_no_formula_for_a_spreadsheet() -> None:
    history = history_of(Asked(question(), "w1", 0.0), Failed(0, "=cmd|' /C calc'!A0", 1.0, "w1"))
    rows = list(csv.DictReader(io.StringIO("".join(table_lines(history, records(history, [None] * 3))))))
    assert rows[0]["reason"] == "'=cmd|' /C calc'!A0"
    assert rows[0]["asked"] == ""


HARD_SPACES: dict[str, dict[str, Any]] = {
    "blanks around texts": {"k": [" a", "a ", "a", " "]},
    "texts like formulas": {"k": ["=1+1", "'=1+1", "''=1+1", "-3", "+x", "@y", "\tz", "'", "'a"]},
    "texts like numbers": {"k": ["01", "1", "1.0", "1e0"]},
    "a number and a text like it": {"k": Categorical([-3, "-3"])},
    "a name like a cost": {"cost of a": ["a", "b"]},
    "names with blanks": {" x ": [1, 2], "x": [1, 2]},
    "names like headings": {"cost": [1, 2], "option cost": [1, 2], "a": [1, 2], "option a": [1, 2]},
    "a name like a formula": {"=cmd": [1, 2], "'=cmd": [1, 2]},
}


def brought_over(space: dict[str, Any], designs: list[dict[str, Any]]) -> tuple[list[str], list[dict[str, Any]]]:
    """A table of these designs, and what comes back from it."""
    objectives = [Objective("a", noisy=True), Objective("=b")]
    here, there = MemoryStorage(), MemoryStorage()
    study = Study(space, objectives, n_initial=1, seed=0, storage=here)
    for i, design in enumerate(designs):
        study.add(design, {"a": float(i)}, cost=1.0)
        study.add(design, {"=b": float(i)}, cost=2.0)
    Study(space, objectives, n_initial=1, seed=0, storage=there)
    copy = study_copy(here)
    lines = list(table_lines(copy.study.history, records(copy.study.history, copy.times)))
    found = read_results(io.StringIO("".join(lines), newline=""), study_copy(there), "a table")
    assert all(result.costs == ({"a": 1.0} if "a" in result.values else {"=b": 2.0}) for result in found.results)
    return lines, [dict(result.design) for result in found.results]


@pytest.mark.parametrize("space", HARD_SPACES.values(), ids=HARD_SPACES)
def test_a_table_comes_back_whatever_options_and_values_are_called(space: dict[str, Any]) -> None:
    levels = {name: list(getattr(values, "values", values)) for name, values in space.items()}
    most = max(map(len, levels.values()))
    designs = [{name: values[i % len(values)] for name, values in levels.items()} for i in range(most)]
    lines, back = brought_over(space, designs)
    assert [repr(design) for design in back] == [repr(design) for design in designs for _ in range(2)]
    cells = [cell for row in csv.reader(io.StringIO("".join(lines), newline="")) for cell in row]
    formulas = {cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t"))}
    assert formulas <= {str(value) for values in levels.values() for value in values if isinstance(value, int)}


def test_a_cell_that_could_mean_two_values_is_refused() -> None:
    space = {"k": Categorical([1, "1", 2])}
    assert brought_over(space, [{"k": 2}])[1] == [{"k": 2}] * 2
    with pytest.raises(InvalidValueError, match=r"Line 2 of a table: Option 'k' is '1', which may mean 1 or '1'"):
        brought_over(space, [{"k": "1"}])
    there = MemoryStorage()
    Study({"k": ["a ", " a"]}, ["a", "b"], n_initial=1, seed=0, storage=there)
    with pytest.raises(InvalidValueError, match=r"Option 'k' is 'a', which may mean 'a ' or ' a'"):
        read_results(["k,a", "a,0.5"], study_copy(there), "a table")


def test_a_time_that_cannot_be_is_left_out() -> None:
    assert iso_time(1e300) == iso_time(None) == ""


def test_the_results_of_an_exported_table_come_back(url: str, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path / 'other.db'}"
    Study(SPACE, OBJECTIVES, seed=1, n_initial=3, storage=other, name="new").close()
    found = read_results(table(url), study_copy(other), "a table")
    assert (len(found.results), found.empty) == (10, 4)
    import_results(found, open_storage(other, "new"), study_copy(other))
    here, there = Study.load(url).history, Study.load(other).history
    assert [here.count(j) for j in range(3)] == [there.count(j) for j in range(3)]
    assert {name: here.known(j) for j, name in enumerate(here.names)} == {
        name: there.known(j) for j, name in enumerate(there.names)
    }
    assert sorted(here.costs(0)[1]) == sorted(there.costs(0)[1])
    assert there.spent == 0.0
    assert all(isinstance(content["time"], float) for content in open_storage(other, "new").read())


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["x,k,mode,error", "0.1,2,fast,0.5", "0.1,9,fast,0.5"], "Line 3 of a table: Option 'k' is 9"),
        (["x,k,mode,error", "0.1,2,fast,half"], "Line 2 of a table: 'error' is 'half'; it must be a number"),
        (["x,k,mode,error", "0.1,2,fast,nan"], "Line 2 of a table: Objective 'error' got the value nan"),
        (["x,k,mode,error", "0.1,2,fast"], "Line 2 of a table: It has 3 cells; the heading has 4"),
        (["x,k,error", "0.1,2,0.5"], "Line 2 of a table: Option 'mode' is missing"),
        (["x,k,mode,error", "0.1,2,fast,0.5", "0.1,2,fast,0.6"], "Line 3 of a table: Objective 'error' of this design"),
        (["x,k,mode,error", "0.5,2,fast,0.1"], "Line 2 of a table: Objective 'error' of this design is 0.7 already"),
        (["x,k,mode,error,joules,cost", "0.1,2,fast,0.5,1,3"], "It has one cost for error, joules; give a column"),
        (["x,k,mode,error,cost", "0.1,2,fast,0.5,-3"], "Line 2 of a table: cost is -3.0"),
        (['x,k,mode,error\n0.1,2,"fast,0.5'], "is not CSV"),
    ],
)
def test_one_bad_row_and_no_row_is_added(url: str, lines: list[str], sentence: str) -> None:
    before = open_storage(url, "net").read()
    with pytest.raises(InvalidValueError) as caught:
        read_results([f"{line}\n" for line in lines], study_copy(url), "a table")
    assert sentence in str(caught.value)
    assert open_storage(url, "net").read() == before


@pytest.mark.parametrize(
    ("heading", "sentence"),
    [
        ("x,k,mode,eror", "Unknown column of a table: 'eror'; did you mean 'error'?"),
        ("x,k,mode", "a table has no column of an objective; name at least one of error, joules, ms"),
        ("x,x,k,mode,error", "a table has two columns 'x'"),
        ("", "a table is empty"),
    ],
)
def test_a_heading_that_cannot_be_understood_is_refused(url: str, heading: str, sentence: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        read_results([heading], study_copy(url), "a table")
    assert sentence in str(caught.value)


def test_costs_of_several_objectives_have_a_column_each(url: str) -> None:
    lines = ["x,k,mode,error,joules,ms,cost of error,cost of ms", "1e-1,2.0, fast ,0.5,1,2,30,3"]
    (result,) = read_results(lines, study_copy(url), "a table").results
    assert dict(result.design) == {"x": 0.1, "k": 2, "mode": "fast"}
    assert result.costs == {"error": 30.0, "joules": 3.0}


def test_cells_become_the_values_that_options_have(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'kinds.db'}"
    space = Space(
        {"on": [False, True], "size": (1, 9), "odd": Categorical(["1", 1.5, ""]), "deep": [1, 2]},
        conditions={"deep": {"on": [True]}},
    )
    Study(space, ["a", "b"], n_initial=1, seed=0, storage=url).close()
    lines = ["on,size,odd,deep,a", "True,3.0,1,2,0.5", "False,3,,,0.5", "False,3,1.50,,0.5"]
    designs = [dict(result.design) for result in read_results(lines, study_copy(url), "a table").results]
    assert designs[0] == {"on": True, "size": 3, "odd": "1", "deep": 2}
    assert designs[1] == {"on": False, "size": 3, "odd": "", "deep": None}
    assert designs[2]["odd"] == 1.5


def test_results_that_another_process_contradicted_meanwhile_are_not_added(url: str) -> None:
    copy = study_copy(url)
    found = read_results(["x,k,mode,error\n", "0.25,1,fast,0.5\n", "0.75,1,fast,0.5\n"], copy, "a table")
    Study.load(url).add({"x": 0.75, "k": 1, "mode": "fast"}, {"error": 0.9})
    before = open_storage(url, "net").read()
    with pytest.raises(InvalidValueError, match=r"is 0\.9 already"):
        import_results(found, open_storage(url, "net"), copy)
    assert open_storage(url, "net").read() == before


def test_a_storage_in_memory_can_be_copied_too(make_study: Callable[..., Study]) -> None:
    storage = MemoryStorage()
    study = make_study(storage=storage)
    evaluation = study.ask()
    copy = study_copy(storage)
    assert copy.contents[-1] == event_to_dict(study.events[-1]) | {"time": copy.times[-1]}
    assert list(copy.study.pending) == [evaluation]
    assert len(copy.workers) == 1
    with pytest.raises(UnknownNameError):
        read_results(["joule\n"], copy, "a table")
