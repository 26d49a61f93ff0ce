from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.experiments.made_repeats import made_up

from flexibo.experiments import ExperimentResult, times


def test_times_add_the_cost_to_the_thinking() -> None:
    made = made_up("pal", [1, 1, 1], bought=[["expensive", "cheap"], ["cheap"]], thinking=3.0)
    assert times.overhead(made) == 3.0
    assert times.with_evaluation(made) == pytest.approx(3.0 + 60.0)


def test_the_verdicts_on_times_follow_the_numbers() -> None:
    def result(thinking: float, bought: list[list[str]]) -> ExperimentResult:
        ours = made_up(times.OURS, [1, 1, 1], bought=bought, thinking=thinking)
        pal = made_up("pal", [1, 1, 1], bought=[["expensive", "cheap"]] * 2, thinking=5.0)
        half = made_up("pesmo-dec", [1, 1, 1], bought=[["expensive"], ["cheap"]], thinking=2.0)
        return times.evaluate([ours, pal, half], {})

    slow = result(3.0, [["cheap"], ["cheap"]])
    assert [claim.verdict for claim in slow.claims] == ["Agrees"] * 4
    assert "4.4 times as long" in slow.claims[2].line
    quick = result(0.1, [["expensive", "cheap"]] * 2)
    assert [claim.verdict for claim in quick.claims] == ["Does not agree", "Agrees", "Does not agree", "Agrees"]
    assert "| flexibo-gp-log | 0.1 | 79.9 |" in quick.tables[0].markdown()


def test_equal_times_decide_nothing() -> None:
    repeats = [made_up(method, [1, 1]) for method in (times.OURS, "pal", "pesmo-dec")]
    assert [claim.verdict for claim in times.evaluate(repeats, {}).claims] == ["Undecided"] * 4


def test_costs_in_hours_are_seconds_too_and_those_that_are_no_times_have_none() -> None:
    made = made_up("pal", [1, 1, 1], bought=[["cheap"], ["cheap"]], thinking=3.0)
    assert times.with_evaluation(replace(made, unit="h")) == pytest.approx(3.0 + 36_000.0)
    assert np.isnan(times.with_evaluation(replace(made, unit="J")))
    assert np.isnan(times.with_evaluation(made_up("pal", [1])))


def test_a_method_that_the_paper_does_not_list_has_a_dash_for_its_seconds() -> None:
    [row] = times.evaluate([made_up(times.OURS, [1, 1]), made_up("flexibo", [1, 1])], {}).tables[0].rows[1:]
    assert row == ("flexibo", "1", "-", "101", "-")


def test_several_problems_have_a_table_each() -> None:
    repeats = [made_up(method, [1, 1], problem=name) for name in "pq" for method in (times.OURS, "pal")]
    titles = [table.title.partition(":")[0] for table in times.evaluate(repeats, {}).tables]
    assert titles[1:] == ["p", "q"]
