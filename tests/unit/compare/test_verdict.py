from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from flexibo.compare import verdict as judging
from flexibo.compare.problems.table import find_problem
from flexibo.compare.runs import SHARES, Allowance, Moment, Run, read_runs
from flexibo.compare.statistics.goals import STANDARD_GOALS
from flexibo.compare.stored_results import FOLDER, StoredResults, describe, store
from flexibo.compare.suites import SUITES, Limit, Suite
from flexibo.compare.verdict import overhead_prices, verdict

PROBLEM = "branin-currin:ratio=10"


def made(method: str, seed: int, error: float, *, overhead_s: float = 0.0) -> Run:
    moments = tuple(
        Moment(s, round(200 * s, 3), round(error * (2 - s) / 2, 5), round(overhead_s * s, 3), (2, 3)) for s in SHARES
    )
    return Run(PROBLEM, method, seed, moments)


def suite(methods: tuple[str, ...], rivals: tuple[str, ...] = (), n: int = 6) -> Suite:
    return Suite("", (PROBLEM,), methods, rivals, n)


def test_a_second_of_overhead_costs_what_the_cheapest_evaluation_does() -> None:
    budget, price = overhead_prices(suite(("flexibo",)))[PROBLEM]
    assert find_problem(PROBLEM).mean_costs().tolist() == [10.0, 1.0]
    assert (budget, price) == (220.0, 1.0)


def test_a_slow_method_falls_behind_when_its_overhead_counts() -> None:
    runs = [made("flexibo", seed, 0.2, overhead_s=1.0) for seed in range(6)]
    runs += [made("ehvi", seed, 0.1, overhead_s=2_000.0) for seed in range(6)]
    usual, counted = (verdict(suite(("flexibo", "ehvi")), runs, count_overhead=count) for count in (False, True))
    assert usual.rankings[-1].complete[0].method == "ehvi"
    assert usual.against["contestant"][-1].ratio.value == pytest.approx(2.0)
    assert counted.against["contestant"][-1].ratio.value < 2.0
    assert any("overhead" in note for note in counted.notes())


def test_rivals_and_all_contestants_are_judged_apart() -> None:
    runs = [made("flexibo", seed, 0.2) for seed in range(6)] + [made("ehvi", seed, 0.1) for seed in range(6)]
    runs += [made("optuna-tpe", seed, 0.8) for seed in range(6)]
    found = verdict(suite(("flexibo", "ehvi"), ("optuna-tpe",)), runs)
    assert found.against["rival"][-1].ratio.value == pytest.approx(0.25)
    assert found.against["contestant"][-1].ratio.value == pytest.approx(2.0)
    assert set(verdict(suite(("flexibo",)), runs[:6]).against) == set()


def test_only_runs_that_are_stored_are_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [made("flexibo", seed, 0.2) for seed in range(6)] + [made("pymoo-nsga2", seed, 0.8) for seed in range(6)]
    fingerprint = find_problem(PROBLEM).fingerprint()
    made_with = judging.RIVALS["pymoo-nsga2"].versions()
    store(
        runs[6:10],
        StoredResults("pymoo-nsga2", made_with, "", "a large machine", Allowance(), {PROBLEM: fingerprint}),
        tmp_path,
    )
    monkeypatch.setattr(judging, "describe", lambda rival: _describe(rival, tmp_path))
    monkeypatch.setattr(judging, "stored_runs", lambda *given: _stored_runs(*given, tmp_path))
    asked = suite(("flexibo",), ("pymoo-nsga2",))
    [note] = verdict(asked, runs).notes()
    assert "4 of its 6 runs are stored ones" in note
    assert "a large machine" in note
    again = [made("flexibo", s, 0.2) for s in range(6)] + [made("pymoo-nsga2", s, 0.7) for s in range(6)]
    assert "stored" not in verdict(asked, again).notes()[0]


_describe, _stored_runs = judging.describe, judging.stored_runs


def test_the_page_is_written_with_its_tables(tmp_path: Path) -> None:
    runs = [made("flexibo", seed, 0.2) for seed in range(6)] + [made("ehvi", seed, 0.1) for seed in range(6)]
    verdict(suite(("flexibo", "ehvi")), runs).write(tmp_path / "deep" / "report.html", "flexibo compare --seeds 6")
    text = (tmp_path / "deep" / "report.html").read_text()
    for words in ("flexibo compare --seeds 6", "against the best contestant", "Ranking at 25%", PROBLEM):
        assert words in text


def test_a_limited_contestant_takes_part_where_and_as_often_as_it_may() -> None:
    limited = Suite("", ("a", "b"), ("m",), ("slow",), 4, limits={"slow": Limit({"b": 2})})
    assert [task for task in limited.tasks() if task[1] == "slow"] == [("b", "slow", 0), ("b", "slow", 1)]
    assert sum(task[1] == "m" for task in limited.tasks()) == 8


def test_a_limit_may_leave_the_other_problems_alone() -> None:
    limited = Suite("", ("a", "b", "c"), (), ("slow",), 3, limits={"slow": Limit({"b": 2, "c": 0}, elsewhere=True)})
    assert [task[::2] for task in limited.tasks()] == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)]


def test_a_limit_is_described() -> None:
    assert Limit({"a": 3, "b": 3}).description(10) == "runs with 3 seeds on a, b only"
    assert Limit({"a": 3, "b": 3}).description(1) == "runs with 1 seed on a, b only"
    both = Limit({"a": 0, "b": 4, "c": 0}, elsewhere=True)
    assert both.description(10) == "runs with 4 seeds on b; does not run on a, c"


def test_a_suite_with_goals_has_a_verdict_on_them(tmp_path: Path) -> None:
    runs = [made("flexibo", seed, 0.2, overhead_s=1.0) for seed in range(6)]
    runs += [made("ehvi", seed, 0.3, overhead_s=2_000.0) for seed in range(6)]
    asked = replace(suite(("flexibo", "ehvi")), goals=STANDARD_GOALS)
    found = verdict(asked, runs)
    assert [one.must_met for one in found.goals] == [True, True, True, False]
    free, counted = (found.goals[i].results[-1] for i in (0, 2))
    assert free == found.against["contestant"][-1]
    assert counted.ratio.value < free.ratio.value == pytest.approx(2 / 3)
    assert any("goals" in note and "overhead" in note for note in found.notes())
    console = Console(width=120, record=True, file=StringIO())
    for table in found.tables():
        console.print(table)
    assert "Goals of flexibo" in console.export_text()
    found.write(tmp_path / "report.html", "flexibo compare")
    assert "missed by" in (tmp_path / "report.html").read_text()
    assert not verdict(suite(("flexibo", "ehvi")), runs).goals


def test_the_standard_suite_has_problems_of_two_to_five_objectives() -> None:
    def objectives(name: str) -> int:
        said = re.search(r"-(\d)$|:n=(\d)", name)
        return 2 if said is None else int(said[1] or said[2])

    assert Counter(map(objectives, SUITES["standard"].problems)) == {2: 24, 3: 4, 4: 2, 5: 1}
    assert len(find_problem("dtlz2:n=3:ratio=100").objectives) == 3


@pytest.mark.slow
def test_every_run_of_a_rival_in_the_standard_suite_comes_with_the_package() -> None:
    standard = SUITES["standard"]
    wanted = [task for task in standard.tasks() if task[1] in standard.rivals]
    found = {
        run.key
        for rival in standard.rivals
        for run in read_runs(FOLDER / f"{rival}.csv", FOLDER / f"{rival}-fronts.csv")
    }
    assert not set(wanted) - found
    for name in standard.problems:
        if not name.startswith(("accel", "nb201", "tx2")):
            mark = find_problem(name).fingerprint()
            stored = {rival: describe(rival) for rival in standard.rivals}
            assert {made.problems.get(name, mark) for made in stored.values() if made is not None} == {mark}, name


def test_the_suites_name_problems_and_methods_that_exist() -> None:
    from flexibo.compare.contestants import checked_method, checked_rival
    from flexibo.compare.problems.table import full_name

    for one in SUITES.values():
        assert tuple(map(full_name, one.problems)) == one.problems
        assert tuple(map(checked_method, one.methods)) == one.methods
        assert tuple(map(checked_rival, one.rivals)) == one.rivals
        assert set(one.limits) <= {*one.methods, *one.rivals}
        assert all(set(limit.seeds) <= set(one.problems) for limit in one.limits.values())
