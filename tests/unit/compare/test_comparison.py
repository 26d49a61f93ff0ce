from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests import comparisons
from tests.unit.compare.made_runs import made

import flexibo
from flexibo.compare import comparison as comparing
from flexibo.compare import contestants
from flexibo.compare.comparison import NOT_DECIDING, compare, method_fingerprint
from flexibo.compare.problems.base import Problem
from flexibo.compare.rivals import RIVALS
from flexibo.compare.rivals.base import RivalEntry
from flexibo.compare.runs import Allowance, Run
from flexibo.compare.suites import Suite
from flexibo.errors import FlexiBOError, InvalidValueError, UnknownNameError

PROBLEMS = ("branin-currin:ratio=10", "zdt1")
METHODS = ("random-coupled", "sobol", "random")
SUITE = Suite("", PROBLEMS, METHODS, (), 2, Allowance(n_initial=4, budget=1.0))


@pytest.fixture(autouse=True)
def ran(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str, int]]]:
    """The tasks that were run; problems and runs are made up, each run with a front."""
    tasks: list[tuple[str, str, int]] = []

    def run(problem: Problem, method: str, seed: int, allowance: Allowance) -> Run:
        if problem.name != "branin-currin":  # on which methods warm up
            tasks.append((problem.name, method, seed))
        return replace(made(problem.name, method, seed), fronts={"confirmed": ((1.0, 2.0),)})

    comparing._warm_up.cache_clear()
    monkeypatch.setattr(comparing, "run", run)
    monkeypatch.setattr(comparing, "find_problem", comparisons.problem)
    yield tasks
    comparing._warm_up.cache_clear()


def test_every_task_is_run_once_and_comes_back_in_order(tmp_path: Path, ran: list[tuple[str, str, int]]) -> None:
    found = compare(SUITE, tmp_path, jobs=1)
    assert ran == SUITE.tasks()
    assert [run.key for run in found] == SUITE.tasks()


def test_only_the_first_seed_keeps_its_front(tmp_path: Path) -> None:
    fronts = {run.seed: run.fronts for run in compare(SUITE, tmp_path, jobs=1)}
    assert fronts == {0: {"confirmed": ((1.0, 2.0),)}, 1: {}}


def test_what_is_finished_is_not_run_again(tmp_path: Path, ran: list[tuple[str, str, int]]) -> None:
    first = compare(SUITE, tmp_path, jobs=1)
    ran.clear()
    counted: list[tuple[int, int, Run | None]] = []
    assert compare(SUITE, tmp_path, jobs=1, finished=lambda *told: counted.append(told)) == first
    assert (ran, counted) == ([], [(12, 12, None)])
    compare(replace(SUITE, seeds=3), tmp_path, jobs=1)
    assert {seed for _, _, seed in ran} == {2}


def test_only_what_is_finished_is_judged_if_nothing_is_to_be_made(
    tmp_path: Path, ran: list[tuple[str, str, int]]
) -> None:
    first = compare(SUITE, tmp_path, jobs=1)
    ran.clear()
    told: list[str] = []
    assert compare(replace(SUITE, seeds=3), tmp_path, jobs=1, make=False, warned=told.append) == first
    assert not ran
    assert all(f"4 of 6 runs of {method}" in told[0] for method in METHODS)
    with pytest.raises(InvalidValueError, match="random"):
        compare(SUITE, tmp_path / "another", jobs=1, make=False)


def test_a_run_that_fails_names_itself_and_the_others_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = comparing.run

    def fails_once(problem: Problem, method: str, seed: int, allowance: Allowance) -> Run:
        if (method, seed) == ("sobol", 1):
            raise FlexiBOError("GONE")
        return original(problem, method, seed, allowance)

    monkeypatch.setattr(comparing, "run", fails_once)
    with pytest.raises(FlexiBOError, match=r"sobol.*branin-currin:ratio=10.*\b1\b.*GONE"):
        compare(SUITE, tmp_path, jobs=1)
    monkeypatch.setattr(comparing, "run", original)
    counted: list[tuple[int, int]] = []
    compare(SUITE, tmp_path, jobs=1, finished=lambda done, total, run: counted.append((done, total)))
    assert counted == [(done, 12) for done in range(4, 13)]


def test_a_method_that_does_not_exist_is_refused_before_anything_runs(
    tmp_path: Path, ran: list[tuple[str, str, int]]
) -> None:
    with pytest.raises(UnknownNameError, match="sobbol"):
        compare(replace(SUITE, methods=("random", "sobbol")), tmp_path, jobs=1)
    assert ran == []


def test_stored_runs_are_used_unless_they_are_not_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: list[tuple[str, str, int]]
) -> None:
    ready = made("zdt1", "sobol", 1, error=0.25)
    monkeypatch.setattr(comparing, "stored_runs", lambda *given: [ready])
    found = compare(SUITE, tmp_path, jobs=1)
    assert ready.key not in ran
    assert ready in found
    ran.clear()
    again = compare(SUITE, tmp_path, jobs=1, stored=False)
    assert ran == [ready.key]
    assert ready not in again


def test_runs_of_a_method_that_changed_are_made_again_and_counted_in_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: list[tuple[str, str, int]]
) -> None:
    warnings: list[str] = []
    compare(SUITE, tmp_path, jobs=1, warned=warnings.append)
    assert warnings == []
    ran.clear()
    monkeypatch.setattr(comparing, "method_fingerprint", lambda name: "new" if name == "sobol" else "")
    compare(SUITE, tmp_path, jobs=1, warned=warnings.append)
    assert {method for _, method, _ in ran} == {"sobol"}
    (text,) = warnings
    assert text.startswith("4 ")
    assert str(tmp_path) in text


def test_a_method_asks_once_before_its_overhead_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[tuple[str, str]] = []

    def run(problem: Problem, method: str, seed: int, allowance: Allowance) -> Run:
        order.append((problem.name, method))
        return made(problem.name, method, seed)

    monkeypatch.setattr(comparing, "run", run)
    compare(replace(SUITE, problems=("zdt1",), methods=("random", "sobol")), tmp_path, jobs=1)
    warm = [(place, method) for place, (problem, method) in enumerate(order) if problem == "branin-currin"]
    assert warm == [(0, "random"), (2, "sobol")]


def test_a_method_is_known_by_its_code_and_a_rival_by_its_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = RivalEntry("fake", "", ("numpy",), ("numpy",), RIVALS["optuna-tpe"].make, "")
    missing = replace(entry, modules=("nosuchmodule",))
    monkeypatch.setattr(contestants, "RIVALS", {"fake": entry, "missing": missing})
    assert method_fingerprint("fake") == entry.versions()
    assert method_fingerprint("missing") == ""
    assert method_fingerprint("ehvi") == method_fingerprint("random")
    assert flexibo.__version__ in method_fingerprint("ehvi")


def test_every_part_that_does_not_decide_exists() -> None:
    root = Path(flexibo.__file__).parent
    assert [part for part in NOT_DECIDING if not (root / part).is_dir()] == []


def test_the_code_that_decides_is_all_but_the_named_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = ("methods", "_internal", *NOT_DECIDING)
    for part in parts:
        (tmp_path / part).mkdir()
        (tmp_path / part / "one.py").write_text("1\n")
    (tmp_path / "errors.py").write_text("1\n")
    monkeypatch.setattr(flexibo, "__file__", str(tmp_path / "__init__.py"))
    before = comparing._code_digest.__wrapped__()
    changes = {}
    for name in ("errors.py", *(f"{part}/one.py" for part in parts)):
        (tmp_path / name).write_text("2\n")
        changes[name] = comparing._code_digest.__wrapped__() != before
        (tmp_path / name).write_text("1\n")
    assert [name for name, changed in changes.items() if changed] == ["errors.py", "methods/one.py", "_internal/one.py"]
    (tmp_path / "methods" / "one.py").rename(tmp_path / "methods" / "two.py")
    assert comparing._code_digest.__wrapped__() != before
