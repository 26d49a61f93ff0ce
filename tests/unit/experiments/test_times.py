from __future__ import annotations

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
