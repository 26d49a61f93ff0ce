"""Results from a table: what its cells mean, and that all of them are added or none."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.transfer.studies import OBJECTIVES, SPACE, asked, table

from flexibo import Categorical, Objective, Space, Study
from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.history.events import Added
from flexibo.objectives import Reading
from flexibo.storage import MemoryStorage, open_storage
from flexibo.transfer import import_results, read_results, records, study_copy, table_lines

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
    found = read_results(io.StringIO("".join(lines), newline=""), study_copy(there), "results.csv")
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
    with pytest.raises(InvalidValueError, match=r"^Line 2 of results\.csv.*'k' is '1'.* 1 or '1'"):
        brought_over(space, [{"k": "1"}])
    there = MemoryStorage()
    Study({"k": ["a ", " a"]}, ["a", "b"], n_initial=1, seed=0, storage=there)
    with pytest.raises(InvalidValueError, match=r"^Line 2 of results\.csv.*'k' is 'a'.*'a ' or ' a'"):
        read_results(["k,a", "a,0.5"], study_copy(there), "results.csv")


def test_the_results_of_an_exported_table_come_back(url: str, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path / 'other.db'}"
    Study(SPACE, OBJECTIVES, seed=1, n_initial=3, storage=other, name="new").close()
    found = read_results(table(url), study_copy(other), "results.csv")
    assert (len(found.results), found.empty) == (12, 2)
    import_results(found, open_storage(other, "new"), study_copy(other))
    here, there = Study.load(url).history, Study.load(other).history
    assert [here.count(j) for j in range(3)] == [there.count(j) for j in range(3)]
    assert {name: here.known(j) for j, name in enumerate(here.names)} == {
        name: there.known(j) for j, name in enumerate(there.names)
    }
    assert sorted(here.costs(0)[1]) == sorted(there.costs(0)[1])
    assert there.spent == 0.0
    assert all(isinstance(content["time"], float) for content in open_storage(other, "new").read())


def barred() -> Study:
    """A study with error bars: of one of two values that are measured together, of a known result, and of no other."""
    study = Study(SPACE, OBJECTIVES, seed=3, n_initial=3)
    study.add({"x": 0.5, "k": 2, "mode": "fast"}, {"error": Reading(0.7, deviation=0.1), "joules": 0.6, "ms": 2.0})
    for count in range(1, 4):
        study.enqueue({"x": 0.5, "k": count, "mode": "=slow"}, ["joules"])
        study.tell(asked(study), {"joules": Reading(1 / 3, deviation=0.1 / 3, repeats=count), "ms": 2}, cost=1.0)
    return study


def imported(lines: list[str]) -> Study:
    """A new study with the results of a table."""
    storage = MemoryStorage()
    Study(SPACE, OBJECTIVES, seed=1, n_initial=3, storage=storage).close()
    copy = study_copy(storage)
    import_results(read_results(lines, copy, "results.csv"), storage, copy)
    return Study.load(storage)


def lines_of(study: Study) -> list[str]:
    return list(table_lines(study.history, records(study.history, [None] * len(study.events))))


def test_error_bars_come_back_from_a_table_and_go_into_the_next_one() -> None:
    study = barred()
    first = imported(lines_of(study))
    second = imported(lines_of(first))
    assert second.events[1:] == first.events[1:]
    assert lines_of(second) == lines_of(first)
    stored = [event.noise for event in first.events if isinstance(event, Added)]
    assert sorted(one for noise in stored for one in noise.items()) == [
        ("error", (0.1, 1)),
        *(("joules", (0.1 / 3, count)) for count in range(1, 4)),
    ]
    for j in range(len(study.objectives)):
        assert sorted(study.history.data(j)[1]) == sorted(first.history.data(j)[1])
        np.testing.assert_array_equal(np.sort(first.history.bars(j)), np.sort(study.history.bars(j)))


def test_only_objectives_with_error_bars_have_columns_for_them() -> None:
    study = barred()
    heading, known, *rows = csv.reader(lines_of(study)[:1] + lines_of(study)[-2:-1] + lines_of(study)[1:4])
    assert heading[-3:] == ["deviation of error", "deviation of joules", "repeats of joules"]
    assert [row[-3:] for row in rows] == [["", repr(0.1 / 3), str(count)] for count in range(1, 4)]
    assert known[-3:] == ["0.1", "", ""]
    plain = Study(SPACE, OBJECTIVES, seed=3, n_initial=3)
    assert "deviation" not in lines_of(plain)[0]


@pytest.mark.parametrize(
    ("lines", "facts"),
    [
        (
            ["x,k,mode,error,joules,deviation of joules", "0.1,2,fast,0.5,,0.2"],
            "^Line 2 .*'deviation of joules' is '0.2' and 'joules' is empty",
        ),
        (
            ["x,k,mode,error,deviation of error,repeats of error", "0.1,2,fast,0.5,,3"],
            "^Line 2 .*'repeats of error' is '3' and 'deviation of error' is empty",
        ),
        (["x,k,mode,error,deviation of error", "0.1,2,fast,0.5,-1"], r"^Line 2 .*deviation.* -1\.0;.*zero or more"),
        (["x,k,mode,error,deviation of error", "0.1,2,fast,0.5,wide"], "^Line 2 .*'deviation of error' is 'wide'"),
        (
            ["x,k,mode,error,deviation of error,repeats of error", "0.1,2,fast,0.5,1,2.5"],
            r"^Line 2 .*repeats is 2\.5; .*whole number",
        ),
        (["x,k,mode,error", "0.1,2,fast,0.5", "0.1,9,fast,0.5"], "^Line 3 .*'k' is 9"),
        (["x,k,mode,error", "0.1,2,fast,half"], "^Line 2 .*'error' is 'half';.*number"),
        (["x,k,mode,error", "0.1,2,fast,nan"], "^Line 2 .*'error'.*nan"),
        (["x,k,mode,error", "0.1,2,fast"], r"^Line 2 .*\b3 cells.*\b4\b"),
        (["x,k,error", "0.1,2,0.5"], "^Line 2 .*'mode' is missing"),
        (["x,k,mode,error", "0.1,2,fast,0.5", "0.1,2,fast,0.6"], r"^Line 3 .*'error'.*\b0\.5 already.*\b0\.6\b"),
        (["x,k,mode,error", "0.5,2,fast,0.1"], r"^Line 2 .*'error'.*\b0\.7 already"),
        (["x,k,mode,error,joules,cost", "0.1,2,fast,0.5,1,3"], "^Line 2 .*error, joules;.*'cost of error'"),
        (["x,k,mode,error,cost", "0.1,2,fast,0.5,-3"], r"^Line 2 .*cost is -3\.0"),
        (['x,k,mode,error\n0.1,2,"fast,0.5'], r"^Line \d of results\.csv .*CSV"),
    ],
)
def test_one_bad_row_and_no_row_is_added(url: str, lines: list[str], facts: str) -> None:
    before = open_storage(url, "net").read()
    with pytest.raises(InvalidValueError) as caught:
        read_results([f"{line}\n" for line in lines], study_copy(url), "results.csv")
    assert re.search(facts, str(caught.value))
    assert "results.csv" in str(caught.value)
    assert open_storage(url, "net").read() == before


@pytest.mark.parametrize(
    ("heading", "error", "facts"),
    [
        ("x,k,mode,eror", UnknownNameError, "'eror'.*'error'"),
        ("x,k,mode", InvalidValueError, "objective.*error, joules, ms"),
        ("x,x,k,mode,error", InvalidValueError, "two columns 'x'"),
        ("", InvalidValueError, "empty"),
    ],
)
def test_a_heading_that_cannot_be_understood_is_refused(
    url: str, heading: str, error: type[InvalidValueError], facts: str
) -> None:
    with pytest.raises(error, match=rf"results\.csv.*{facts}"):
        read_results([heading], study_copy(url), "results.csv")


def test_a_table_that_was_exported_from_the_study_itself_adds_nothing(url: str) -> None:
    found = read_results(table(url), study_copy(url), "results.csv")
    assert (list(found.results), found.empty, found.known) == ([], 2, 12)


def test_costs_of_several_objectives_have_a_column_each(url: str) -> None:
    lines = ["x,k,mode,error,joules,ms,cost of error,cost of ms", "1e-1,2.0, fast ,0.5,1,2,30,3"]
    (result,) = read_results(lines, study_copy(url), "results.csv").results
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
    designs = [dict(result.design) for result in read_results(lines, study_copy(url), "results.csv").results]
    assert designs[0] == {"on": True, "size": 3, "odd": "1", "deep": 2}
    assert designs[1] == {"on": False, "size": 3, "odd": "", "deep": None}
    assert designs[2]["odd"] == 1.5


def test_results_that_another_process_contradicted_meanwhile_are_not_added(url: str) -> None:
    copy = study_copy(url)
    found = read_results(["x,k,mode,error\n", "0.25,1,fast,0.5\n", "0.75,1,fast,0.5\n"], copy, "results.csv")
    Study.load(url).add({"x": 0.75, "k": 1, "mode": "fast"}, {"error": 0.9})
    before = open_storage(url, "net").read()
    with pytest.raises(InvalidValueError, match=r"is 0\.9 already"):
        import_results(found, open_storage(url, "net"), copy)
    assert open_storage(url, "net").read() == before


def test_rows_of_failures_are_imported_and_not_asked_again(url: str) -> None:
    lines = ["x,k,mode,error,objective,state,reason,cost", "0.377,2,fast,,error,impossible,out of memory,7"]
    copy = study_copy(url)
    found = read_results(lines, copy, "results.csv")
    (result,) = found.results
    assert (result.values, result.failed, result.costs) == ({}, {"error": "out of memory"}, {"error": 7.0})
    import_results(found, open_storage(url, copy.name), copy)
    there = study_copy(url)
    history, p = there.study.history, there.study.history.purchase_of("error")
    assert history.is_hopeless(p, result.design)
    assert history.failure_costs(p).tolist()[-1] == 7.0
    assert [one.state for one in records(history, there.times)][-1] == "impossible"
    again = read_results(lines, there, "results.csv")
    assert (list(again.results), again.known) == ([], 1)


def test_a_failure_of_what_another_attempt_measured_is_passed_over(url: str) -> None:
    lines = [
        "x,k,mode,error,objective,state,reason",
        "0.377,2,fast,,error,failed,reset",
        "0.377,2,fast,3.0,error,measured,",
    ]
    results = read_results(lines, study_copy(url), "results.csv")
    assert [(result.values, result.failed) for result in results.results] == [({"error": 3.0}, {})]
    assert results.known == 1


def test_a_row_that_failed_and_has_a_value_is_refused(url: str) -> None:
    lines = ["x,k,mode,error,objective,state", "0.5,2,fast,3.0,error,failed"]
    with pytest.raises(InvalidValueError, match="error failed"):
        read_results(lines, study_copy(url), "results.csv")


def test_a_row_without_values_and_without_a_failed_objective_is_empty(url: str) -> None:
    lines = ["x,k,mode,error,objective,state", "0.5,2,fast,,error,released", "0.5,2,fast,,,failed"]
    found = read_results(lines, study_copy(url), "results.csv")
    assert (list(found.results), found.empty) == ([], 2)
