from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.compare.made_runs import made

from flexibo.compare.problems.base import constant_costs
from flexibo.compare.problems.table import find_problem
from flexibo.compare.runs import Allowance, Suggestions, is_current_table, read_runs, write_runs
from flexibo.errors import InvalidValueError


def test_runs_are_read_as_they_were_written(tmp_path: Path) -> None:
    runs = [made(seed=1), made(), made('a problem, with "quotes"\nand lines', "ehvi/cost")]
    write_runs(tmp_path / "r.csv", tmp_path / "f.csv", runs)
    assert sorted(read_runs(tmp_path / "r.csv", tmp_path / "f.csv"), key=lambda run: run.key) == sorted(
        runs, key=lambda run: run.key
    )


def test_counted_suggestions_are_kept_and_a_table_without_them_is_read(tmp_path: Path) -> None:
    plain = made()
    counted = [replace(moment, suggestions=Suggestions(k, k // 2, k, 0)) for k, moment in enumerate(plain.moments)]
    runs = [replace(plain, moments=tuple(counted)), made(seed=1)]
    write_runs(tmp_path / "r.csv", tmp_path / "f.csv", runs)
    assert read_runs(tmp_path / "r.csv", tmp_path / "f.csv") == runs
    lines = (tmp_path / "r.csv").read_text().splitlines()
    (tmp_path / "r.csv").write_text("".join(line.rsplit(",", 4)[0] + "\n" for line in lines))
    assert is_current_table(tmp_path / "r.csv")
    assert read_runs(tmp_path / "r.csv", tmp_path / "f.csv") == [plain, made(seed=1)]


def test_the_order_of_runs_does_not_change_the_file(tmp_path: Path) -> None:
    runs = [made(seed=seed, method=method) for seed in (0, 1) for method in ("m", "k")]
    write_runs(tmp_path / "one.csv", tmp_path / "f.csv", runs)
    write_runs(tmp_path / "other.csv", tmp_path / "f.csv", runs[::-1])
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()


@pytest.mark.parametrize("cut", [1, 30, 400, 600])
def test_a_run_that_was_torn_by_a_kill_is_left_out(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "r.csv"
    write_runs(path, tmp_path / "f.csv", [made(seed=0), made(seed=1)])
    path.write_bytes(path.read_bytes()[:-cut])
    assert [run.seed for run in read_runs(path)] == [0]


def test_a_file_that_is_no_comparison_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidValueError, match="a,b"):
        read_runs(tmp_path / "r.csv")


def test_a_broken_row_is_named(tmp_path: Path) -> None:
    write_runs(tmp_path / "r.csv", tmp_path / "f.csv", [made()])
    text = (tmp_path / "r.csv").read_text().replace("p,m,0,0.5,", "p,m,zero,0.5,")
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(InvalidValueError, match="Line 12 of"):
        read_runs(tmp_path / "r.csv")


@pytest.mark.parametrize("damage", ["p,m,0,0.5,10", '"p,m,0,0.5,10', "p,m,0,0.5," + 200_000 * "1"])
def test_a_damaged_row_is_named_and_takes_no_other_with_it(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "r.csv"
    write_runs(path, tmp_path / "f.csv", [made(), made(seed=1)])
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:11], damage, *lines[12:]]) + "\n")
    with pytest.raises(InvalidValueError, match="Line 12 of"):
        read_runs(path)
    path.write_text("\n".join(lines[:11] + lines[12:]) + "\n")
    assert [run.seed for run in read_runs(path)] == [1]


@pytest.mark.parametrize("error", ["nan", "-5", "1.5", "inf"])
def test_an_error_that_cannot_be_is_refused(tmp_path: Path, error: str) -> None:
    write_runs(tmp_path / "r.csv", tmp_path / "f.csv", [made()])
    text = (tmp_path / "r.csv").read_text().replace("p,m,0,0,0,0.5,", f"p,m,0,0,0,{error},")
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(InvalidValueError, match="Line 2 of"):
        read_runs(tmp_path / "r.csv")


def test_files_that_hold_something_else_are_refused(tmp_path: Path) -> None:
    write_runs(tmp_path / "r.csv", tmp_path / "f.csv", [made()])
    (tmp_path / "f.csv").write_text((tmp_path / "f.csv").read_text().replace("p,m,0,", "p,m,x,"))
    with pytest.raises(InvalidValueError, match=r"Line 2 of .*f\.csv"):
        read_runs(tmp_path / "r.csv", tmp_path / "f.csv")
    (tmp_path / "r.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidValueError, match="cannot be read"):
        read_runs(tmp_path / "r.csv")


def test_terms_without_a_budget_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="budget is 0"):
        Allowance(budget=0)
    with pytest.raises(InvalidValueError, match="initial designs is 1"):
        Allowance(n_initial=1)


@pytest.mark.parametrize("cost", [0.0, float("nan")])
def test_a_problem_that_costs_nothing_has_no_budget(cost: float) -> None:
    problem = replace(find_problem("branin-currin"), costs=constant_costs([cost, cost]))
    with pytest.raises(InvalidValueError, match=r"branin-currin.* costs"):
        Allowance().amount(problem)


def test_terms_that_no_comparison_would_finish_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="initial designs is 100000"):
        Allowance(n_initial=100_000)
    with pytest.raises(InvalidValueError, match=r"budget is 1e\+300"):
        Allowance(budget=1e300)
