from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.compare.made_runs import made

from flexibo.compare import stored_results as stored
from flexibo.compare.problems.table import find_problem
from flexibo.compare.rivals.base import RivalEntry
from flexibo.compare.runs import Allowance, read_runs
from flexibo.compare.stored_results import (
    FOLDER,
    INCOMPLETE,
    StoredResults,
    add,
    describe,
    is_outdated,
    store,
    stored_runs,
)
from flexibo.compare.suites import SUITES
from flexibo.errors import InvalidValueError


def test_stored_results_serve_the_same_terms_and_problems_alone(tmp_path: Path) -> None:
    how = StoredResults("m", "m 1.0", "flexibo compare", "a machine", Allowance(), {"p": "a"})
    store([made(), made(seed=1), made(method="other")], how, tmp_path)
    assert describe("m", tmp_path) == how
    tasks = [("p", "m", 0), ("p", "m", 5), ("p", "other", 0)]
    assert stored_runs(tasks, Allowance(), {"p": "a"}, tmp_path) == [made()]
    assert stored_runs(tasks, Allowance(), {"p": "changed"}, tmp_path) == []
    assert stored_runs([*tasks, ("new", "m", 0)], Allowance(), {"p": "a"}, tmp_path) == [made()]
    assert stored_runs(tasks, Allowance(budget=21.0), {"p": "a"}, tmp_path) == []
    assert json.loads((tmp_path / "m.json").read_text())["command"] == "flexibo compare"


def test_further_results_come_to_the_stored_ones_and_replace_those_of_a_changed_problem(tmp_path: Path) -> None:
    first = StoredResults("m", "m 1.0", "one", "a machine", Allowance(), {"p": "a", "q": "b"})
    add([made(), made(seed=1), made("q")], first, tmp_path)
    assert describe("m", tmp_path) == first
    then = StoredResults("m", "m 1.0", "two", "two machines", Allowance(), {"q": "changed", "r": "c"})
    add([made("q", seed=1), made("r")], then, tmp_path)
    tasks = [(problem, "m", seed) for problem in "pqr" for seed in range(2)]
    everything = {"p": "a", "q": "changed", "r": "c"}
    assert describe("m", tmp_path) == StoredResults("m", "m 1.0", "two", "two machines", Allowance(), everything)
    found = stored_runs(tasks, Allowance(), everything, tmp_path)
    assert [run.key for run in found] == [("p", "m", 0), ("p", "m", 1), ("q", "m", 1), ("r", "m", 0)]
    with pytest.raises(InvalidValueError, match="allowance"):
        add([], StoredResults("m", "m 1.0", "", "", Allowance(budget=3.0), {}), tmp_path)


def test_stored_results_of_another_version_are_of_no_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = RivalEntry("m", "", ("numpy", "pytest"), (), lambda setting: None, "")  # type: ignore[arg-type,return-value]
    monkeypatch.setattr(stored, "RIVALS", {"m": entry})
    for versions, n in ((f"{entry.versions().split(', ')[0]}, pytest 0.1", 1), ("numpy 0.1, pytest 0.1", 0)):
        store([made()], StoredResults("m", versions, "", "", Allowance(), {"p": "a"}), tmp_path)
        assert len(stored_runs([("p", "m", 0)], Allowance(), {"p": "a"}, tmp_path)) == n


@pytest.mark.slow
def test_every_run_of_a_stored_rival_in_the_standard_suite_comes_with_the_package() -> None:
    standard = SUITES["standard"]
    stored = {rival: made for rival in standard.rivals if (made := describe(rival)) is not None}
    for rival in standard.rivals:
        wanted = {task for task in standard.tasks() if task[1] == rival}
        tables = FOLDER / f"{rival}.csv", FOLDER / f"{rival}-fronts.csv"
        have = {run.key for run in read_runs(*tables)} if rival in stored else set()
        assert have < wanted if rival in INCOMPLETE else have == wanted, rival
    for name in standard.problems:
        if not name.startswith(("accel", "mlp", "nb201", "tx2")):  # their tables are not part of the package
            mark = find_problem(name).fingerprint()
            assert {made.problems[name] for made in stored.values() if name in made.problems} == {mark}, name


def test_results_of_an_earlier_version_are_not_used(tmp_path: Path) -> None:
    store([made()], StoredResults("m", "m 1.0", "", "", Allowance(), {"p": "a"}), tmp_path)
    assert not is_outdated("m", tmp_path)
    table = tmp_path / "m.csv"
    table.write_text(table.read_text().replace("confirmed,model,reported,", "error,", 1))
    assert is_outdated("m", tmp_path)
    assert describe("m", tmp_path) is None
    assert stored_runs([("p", "m", 0)], Allowance(), {"p": "a"}, tmp_path) == []
    assert not is_outdated("absent", tmp_path)
