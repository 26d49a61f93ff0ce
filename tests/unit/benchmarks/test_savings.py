from __future__ import annotations

import pytest
from benchmarks.savings import Arrival, cost_of_all, main, search, table

from flexibo.compare.problems.table import find_problem

LENET = "lenet-h200"


def test_everything_costs_each_training_once_and_each_reading() -> None:
    problem = find_problem(LENET)
    spent, counts = cost_of_all(problem)
    costs = problem.costs(problem.typical_designs())
    assert counts == (66, 264)
    assert costs[:, 1].sum() < spent < costs.sum()


def test_a_search_ends_at_its_last_target_and_has_paid_for_all_it_measured() -> None:
    few, many = search((LENET, "random-coupled", 0, (0.5, 0.2), 1.0))
    assert (few.target, many.target) == (0.5, 0.2)
    assert few.spent is not None
    assert many.spent is not None
    assert 0 < few.spent <= many.spent < cost_of_all(find_problem(LENET))[0]
    assert 0 < few.counts[0] <= many.counts[0] <= 66


def test_a_search_that_does_not_arrive_says_so() -> None:
    assert search((LENET, "random-coupled", 0, (0.0001,), 0.05)) == [Arrival("random-coupled", 0.0001, None, ())]


def test_a_median_counts_searches_that_did_not_arrive_as_expensive() -> None:
    spent = [10.0, 30.0, None]
    arrivals = [Arrival("flexibo", 0.05, cost, () if cost is None else (int(cost), 1)) for cost in spent]
    shown = table(find_problem(LENET), ["flexibo"], [0.05], arrivals)
    assert [list(column.cells)[1] for column in shown.columns][2] == "30"
    assert [list(column.cells)[1] for column in shown.columns][4] == "30"
    assert list(shown.columns[-1].cells)[1] == "2 of 3"
    late = table(find_problem(LENET), ["flexibo"], [0.05], arrivals[1:] + arrivals[2:])
    assert list(late.columns[2].cells)[1] == "-"


def test_the_command_prints_a_row_for_each_method(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--problem", LENET, "--methods", "random-coupled", "--seeds", "1", "--targets", "0.9", "--jobs", "1"])
    printed = capsys.readouterr().out
    assert "random-coupled" in printed
    assert "1 of 1" in printed
