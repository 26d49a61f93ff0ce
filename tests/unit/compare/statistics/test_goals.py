from __future__ import annotations

from collections.abc import Sequence

import pytest

from flexibo.compare.report.tables import goals_table
from flexibo.compare.runs import SHARES, Moment, Run
from flexibo.compare.statistics.goals import STANDARD_GOALS, Goal, GoalResult, goal_results

PRICES = {"p": (20.0, 1.0), "q": (20.0, 1.0)}
FREE = Goal(0.8, 0.5)


def made(method: str, at: Sequence[float], *, problem: str = "p", overhead_s: float = 0.0) -> list[Run]:
    """Runs with these errors from a quarter, from half and at the end of the budget."""
    quarter, half, end = at

    def error(share: float) -> float:
        return 1.0 if share < 0.25 else quarter if share < 0.5 else half if share < 1.0 else end

    return [
        Run(
            problem,
            method,
            seed,
            tuple(Moment(s, 20 * s, error(s) * (1 + seed / 1000), overhead_s * s, (1, 1)) for s in SHARES),
        )
        for seed in range(6)
    ]


def judged(goal: Goal, *groups: Sequence[Run]) -> GoalResult:
    runs = [run for group in groups for run in group]
    others = {run.method for run in runs} - {"flexibo"}
    [one] = goal_results([goal], runs, "flexibo", others, groups={"p": "recorded", "q": "stack"}, prices=PRICES)
    return one


def test_a_goal_is_judged_by_the_worse_of_half_and_the_end_of_the_budget() -> None:
    other = made("ehvi", [0.4, 0.4, 0.4])
    assert judged(FREE, made("flexibo", [0.1, 0.3, 0.2]), other).value == pytest.approx(0.75)
    assert judged(FREE, made("flexibo", [0.1, 0.2, 0.3]), other).value == pytest.approx(0.75)
    early = judged(FREE, made("flexibo", [0.4, 0.2, 0.2]), other)
    assert (early.value, early.must_met, early.aim_met) == (pytest.approx(0.5), True, True)


def test_the_best_other_of_each_problem_counts() -> None:
    ours = made("flexibo", [0.2, 0.2, 0.2]) + made("flexibo", [0.2, 0.2, 0.2], problem="q")
    one = made("ehvi", [0.4, 0.4, 0.4]) + made("ehvi", [0.8, 0.8, 0.8], problem="q")
    two = made("optuna-tpe", [0.8, 0.8, 0.8]) + made("optuna-tpe", [0.1, 0.1, 0.1], problem="q")
    assert judged(FREE, ours, one, two).value == pytest.approx(1.0)
    assert judged(Goal(0.8, 0.6, other="ehvi"), ours, one, two).value == pytest.approx((0.5 * 0.25) ** 0.5)


def test_problems_behind_are_counted_and_named() -> None:
    goal = Goal(1, 0, counts_behind=True)
    ours = made("flexibo", [0.2, 0.2, 0.2]) + made("flexibo", [0.2, 0.2, 0.2], problem="q")
    other = made("ehvi", [0.1, 0.4, 0.1]) + made("ehvi", [0.4, 0.4, 0.4], problem="q")
    found = judged(goal, ours, other)
    assert (found.value, found.must_met, found.aim_met) == (1.0, True, False)
    table = goals_table([found], "flexibo")
    assert table.rows[0][1:] == ("1 of 2", "0 of 2", "1 of 2", "1: met", "0: missed by 1")
    named = table.notes[-1].rstrip(".").split()
    assert "p" in named
    assert "q" not in named
    assert judged(Goal(1, 0, group="stack", counts_behind=True), ours, other).value == 0.0


def test_a_slow_other_is_worse_where_overhead_counts() -> None:
    ours = made("flexibo", [0.4, 0.4, 0.3], overhead_s=0.0)
    slow = made("ehvi", [0.2, 0.2, 0.2], overhead_s=100.0)
    free, counted = (judged(Goal(0.8, 0.5, counts_overhead=counts), ours, slow) for counts in (False, True))
    assert free.value == pytest.approx(2.0)
    assert counted.value == pytest.approx(0.4)


def test_misses_and_intervals_are_told() -> None:
    table = goals_table([judged(FREE, made("flexibo", [0.3, 0.3, 0.25]), made("ehvi", [0.5, 0.5, 0.5]))], "flexibo")
    measure, quarter, _, end, must, aim = table.rows[0]
    assert "error" in measure
    assert "best other" in measure
    assert quarter == "0.60 (0.60-0.60)"
    assert end == "0.50 (0.50-0.50)"
    assert (must, aim) == ("0.8: met", "0.5: missed by 0.1")
    assert table.styles == {(0, 4): "bold green", (0, 5): "red"}


@pytest.mark.parametrize("goal", [FREE, Goal(0.8, 0.6, other="flexibo-gp-log")])
def test_what_was_not_compared_is_neither_met_nor_missed(goal: Goal) -> None:
    runs = made("flexibo", [0.2, 0.2, 0.2])
    others = [] if goal.other is None else made("ehvi", [0.1, 0.1, 0.1])
    found = judged(goal, runs, others)
    assert not found.results
    assert not found.must_met
    assert not found.aim_met
    table = goals_table([found], "flexibo")
    assert table.rows[0][1:] == ("-", "-", "-", f"{goal.must:g}: not compared", f"{goal.aim:g}")
    assert not table.styles


def test_a_single_seed_has_no_interval() -> None:
    one = judged(FREE, made("flexibo", [0.2, 0.2, 0.2])[:1], made("ehvi", [0.4, 0.4, 0.4])[:1])
    assert goals_table([one], "flexibo").rows[0][3] == "0.50"


def test_a_goal_of_a_group_looks_at_its_problems_alone() -> None:
    ours = made("flexibo", [0.2, 0.2, 0.2]) + made("flexibo", [0.2, 0.2, 0.2], problem="q")
    other = made("ehvi", [0.4, 0.4, 0.4]) + made("ehvi", [0.1, 0.1, 0.1], problem="q")
    values = [judged(Goal(0.8, 0.5, group=group), ours, other).value for group in ("recorded", "stack", None)]
    assert values == pytest.approx([0.5, 2.0, 1.0])
    assert not judged(Goal(0.8, 0.5, group="equal"), ours, other).results


def test_the_standard_goals_are_about_recorded_tables_first_and_say_what_they_measure() -> None:
    assert [(goal.must, goal.aim) for goal in STANDARD_GOALS[:4]] == [(0.8, 0.5), (1, 0), (0.8, 0.5), (0.8, 0.6)]
    assert [goal.group for goal in STANDARD_GOALS] == ["recorded"] * 4 + [None] * 2
    texts = [goal.description for goal in STANDARD_GOALS[:4]]
    assert len(set(texts)) == 4
    assert ["behind" in text for text in texts] == [False, True, False, False]
    assert ["overhead" in text for text in texts] == [False, False, True, False]
    assert "flexibo-gp-log" in texts[3]
