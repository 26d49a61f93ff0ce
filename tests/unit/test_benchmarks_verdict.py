from __future__ import annotations

from pathlib import Path

import pytest

from flexibo.benchmarks import verdict as judging
from flexibo.benchmarks.problems import find_problem
from flexibo.benchmarks.runs import SHARES, Moment, Run
from flexibo.benchmarks.stored import Stored, store
from flexibo.benchmarks.suites import SUITES, Limit, Suite
from flexibo.benchmarks.terms import Terms
from flexibo.benchmarks.verdict import prices_of_thinking, verdict

PROBLEM = "branin-currin:ratio=10"


def made(method: str, seed: int, error: float, *, thinking_s: float = 0.0) -> Run:
    moments = tuple(
        Moment(s, round(200 * s, 3), round(error * (2 - s) / 2, 5), round(thinking_s * s, 3), (2, 3)) for s in SHARES
    )
    return Run(PROBLEM, method, seed, moments)


def suite(methods: tuple[str, ...], rivals: tuple[str, ...] = (), n: int = 6) -> Suite:
    return Suite("", (PROBLEM,), methods, rivals, n)


def test_a_second_of_thinking_costs_what_the_cheapest_evaluation_does() -> None:
    budget, price = prices_of_thinking(suite(("flexibo",)))[PROBLEM]
    assert find_problem(PROBLEM).mean_costs().tolist() == [10.0, 1.0]
    assert (budget, price) == (220.0, 1.0)


def test_a_slow_method_falls_behind_when_its_thinking_counts() -> None:
    runs = [made("flexibo", seed, 0.2, thinking_s=1.0) for seed in range(6)]
    runs += [made("ehvi", seed, 0.1, thinking_s=2_000.0) for seed in range(6)]
    usual, counted = (verdict(suite(("flexibo", "ehvi")), runs, count_thinking=count) for count in (False, True))
    assert usual.rankings[-1].complete[0].method == "ehvi"
    assert usual.against["contestant"][-1].ratio.value == pytest.approx(2.0)
    assert counted.against["contestant"][-1].ratio.value < 2.0
    assert any("Thinking counts" in note for note in counted.notes())


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
        runs[6:10], Stored("pymoo-nsga2", made_with, "", "a large machine", Terms(), {PROBLEM: fingerprint}), tmp_path
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
    limited = Suite("", ("a", "b"), ("m",), ("slow",), 4, limits={"slow": Limit(("b",), 2)})
    assert [task for task in limited.tasks() if task[1] == "slow"] == [("b", "slow", 0), ("b", "slow", 1)]
    assert sum(task[1] == "m" for task in limited.tasks()) == 8


def test_the_suites_name_problems_and_methods_that_exist() -> None:
    from flexibo.benchmarks.contestants import checked_method, checked_rival
    from flexibo.benchmarks.problems import full_name

    for one in SUITES.values():
        assert tuple(map(full_name, one.problems)) == one.problems
        assert tuple(map(checked_method, one.methods)) == one.methods
        assert tuple(map(checked_rival, one.rivals)) == one.rivals
        assert set(one.limits) <= set(one.rivals)
        assert all(set(limit.problems) <= set(one.problems) for limit in one.limits.values())
