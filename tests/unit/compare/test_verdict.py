from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from flexibo.compare import verdict as judging
from flexibo.compare.problems.table import find_problem
from flexibo.compare.runs import SHARES, Allowance, Moment, Run
from flexibo.compare.statistics.goals import STANDARD_GOALS
from flexibo.compare.stored_results import StoredResults, store
from flexibo.compare.suites import Suite
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
    assert usual.judgements["confirmed"].ranking.complete[0].method == "ehvi"
    assert usual.judgements["confirmed"].against["contestant"][-1].ratio.value == pytest.approx(2.0)
    assert counted.judgements["confirmed"].against["contestant"][-1].ratio.value < 2.0
    assert any("overhead" in note for note in counted.notes())


def test_rivals_and_all_contestants_are_judged_apart() -> None:
    runs = [made("flexibo", seed, 0.2) for seed in range(6)] + [made("ehvi", seed, 0.1) for seed in range(6)]
    runs += [made("optuna-tpe", seed, 0.8) for seed in range(6)]
    found = verdict(suite(("flexibo", "ehvi"), ("optuna-tpe",)), runs)
    against = found.judgements["confirmed"].against
    assert against["rival"][-1].ratio.value == pytest.approx(0.25)
    assert against["contestant"][-1].ratio.value == pytest.approx(2.0)
    assert set(verdict(suite(("flexibo",)), runs[:6]).judgements["confirmed"].against) == set()


def test_a_measure_that_nobody_has_is_left_out_and_each_has_its_own_judgement() -> None:
    runs = [replace(run, moments=tuple(replace(m, model=m.confirmed**2) for m in run.moments)) for run in both()]
    found = verdict(suite(("flexibo", "ehvi")), runs)
    assert list(found.judgements) == ["confirmed", "model"]
    ratios = [one.against["contestant"][-1].ratio.value for one in found.judgements.values()]
    assert ratios == pytest.approx([2.0, 4.0])
    assert list(verdict(suite(("flexibo", "ehvi")), both()).judgements) == ["confirmed"]


def test_few_seeds_may_count_and_the_best_may_be_chosen_on_other_seeds() -> None:
    runs = [*both(), *(made("slow", seed, 0.05) for seed in range(2))]
    asked = suite(("flexibo", "ehvi", "slow"))
    usual, few, elsewhere = (
        verdict(asked, runs, **given).judgements["confirmed"].against["contestant"][-1]
        for given in ({}, {"fewest": 1}, {"fewest": 1, "other_seeds": True})
    )
    assert [one.ratio.value for one in (usual, few)] == pytest.approx([2.0, 4.0])
    assert elsewhere.ratio.value == pytest.approx((4.0**2 * 2.0**4) ** (1 / 6))
    assert elsewhere.problems[0].chosen == "ehvi"


def test_the_default_method_with_other_settings_is_no_other() -> None:
    runs = [*both(), *(made("flexibo+gp-plain", seed, 0.05) for seed in range(6))]
    names = ("flexibo", "flexibo+gp-plain", "ehvi")
    against = verdict(suite(names), runs).judgements["confirmed"].against["contestant"][-1]
    assert against.others == ("ehvi",)
    other = verdict(suite(names[::-1]), runs).judgements["confirmed"].against["contestant"][-1]
    assert other.others == ("flexibo", "flexibo+gp-plain")


def both() -> list[Run]:
    return [made("flexibo", seed, 0.2) for seed in range(6)] + [made("ehvi", seed, 0.1) for seed in range(6)]


def test_only_runs_that_are_stored_are_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [made("flexibo", seed, 0.2) for seed in range(6)] + [made("pymoo-nsga2", seed, 0.8) for seed in range(6)]
    fingerprint = find_problem(PROBLEM).fingerprint()
    made_with = judging.rival_entry("pymoo-nsga2").versions()
    store(
        runs[6:10],
        StoredResults("pymoo-nsga2", made_with, "", "a large machine", Allowance(), {PROBLEM: fingerprint}),
        tmp_path,
    )
    monkeypatch.setattr(judging, "describe", lambda rival: _describe(rival, tmp_path))
    monkeypatch.setattr(judging, "stored_runs", lambda *given: _stored_runs(*given, tmp_path))
    asked = suite(("flexibo",), ("pymoo-nsga2",))
    [note] = verdict(asked, runs).notes()
    assert re.search(r"\b4 of .*6 .*stored", note)
    assert "a large machine" in note
    again = [made("flexibo", s, 0.2) for s in range(6)] + [made("pymoo-nsga2", s, 0.7) for s in range(6)]
    assert "stored" not in verdict(asked, again).notes()[0]


_describe, _stored_runs = judging.describe, judging.stored_runs


def test_the_page_is_written_with_its_tables(tmp_path: Path) -> None:
    runs = [made("flexibo", seed, 0.2) for seed in range(6)] + [made("ehvi", seed, 0.1) for seed in range(6)]
    verdict(suite(("flexibo", "ehvi")), runs).write(tmp_path / "deep" / "report.html", "flexibo compare --seeds 6")
    text = (tmp_path / "deep" / "report.html").read_text()
    for words in ("flexibo compare --seeds 6", "best contestant", PROBLEM):
        assert words in text


def test_a_suite_with_goals_has_a_verdict_on_them(tmp_path: Path) -> None:
    runs = [made("flexibo", seed, 0.2, overhead_s=1.0) for seed in range(6)]
    runs += [made("ehvi", seed, 0.3, overhead_s=2_000.0) for seed in range(6)]
    asked = replace(suite(("flexibo", "ehvi")), goals=tuple(replace(goal, group=None) for goal in STANDARD_GOALS[:4]))
    found = verdict(asked, runs)
    assert [one.must_met for one in found.goals["confirmed"]] == [True, True, True, False]
    free, counted = (found.goals["confirmed"][i].results[-1] for i in (0, 2))
    assert free == found.judgements["confirmed"].against["contestant"][-1]
    assert counted.ratio.value < free.ratio.value == pytest.approx(2 / 3)
    assert any("goals" in note and "overhead" in note for note in found.notes())
    console = Console(width=120, record=True, file=StringIO())
    for table in found.tables():
        console.print(table)
    assert "Goals of flexibo" in console.export_text()
    found.write(tmp_path / "report.html", "flexibo compare")
    assert "missed by" in (tmp_path / "report.html").read_text()
    assert "model" not in found.goals
    squares = [replace(run, moments=tuple(replace(m, model=m.confirmed**2) for m in run.moments)) for run in runs]
    ratio = verdict(asked, squares).goals["model"][0].results[-1].ratio.value
    assert ratio == pytest.approx(4 / 9)
    assert not verdict(suite(("flexibo", "ehvi")), runs).goals
