from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from flexibo.compare.report.tables import money_table
from flexibo.compare.runs import SHARES, Moment, Run
from flexibo.compare.statistics.money import NOT_REACHED, MoneyGoal, money


def falling(method: str, error: Callable[[float], float], *, problem: str = "p", seed: int = 0) -> Run:
    return Run(problem, method, seed, tuple(Moment(share, share, error(share), 0.0, ()) for share in SHARES))


def test_it_is_the_first_share_at_which_the_error_is_that_of_the_baseline_at_the_end() -> None:
    found = money([falling("base", lambda s: 1 - 0.8 * s), falling("ours", lambda s: 1 - s)], "base")
    assert found.targets["p"] == pytest.approx(0.2)
    assert found.shares["p"] == {"base": 1.0, "ours": 0.8}


def test_means_over_seeds_are_compared_and_only_on_common_seeds() -> None:
    runs = [falling("base", lambda s: 0.1 if s == 1 else 1.0, seed=seed) for seed in (0, 1)]
    runs += [falling("ours", lambda s: 0.01 if s >= 0.5 else 1.0, seed=0), falling("ours", lambda s: 1.0, seed=1)]
    runs += [falling("few", lambda s: 0.1 if s >= 0.3 else 1.0, seed=1)]
    assert money(runs, "base").shares["p"] == {"base": 1.0, "few": 0.3, "ours": 0.5}


def test_who_does_not_get_there_counts_as_two_budgets() -> None:
    runs = [falling(method, lambda s: 1 - s, problem=p) for method in ("base", "ours") for p in ("p",)]
    runs += [falling("base", lambda s: 0.1, problem="q"), falling("ours", lambda s: 0.2, problem="q")]
    found = money(runs, "base")
    assert found.shares["q"]["ours"] is None
    assert found.missed("ours") == ["q"]
    assert found.mean("ours") == pytest.approx(math.sqrt(NOT_REACHED))
    assert found.mean("ours", ["p"]) == 1.0
    assert math.isnan(found.mean("nobody"))


def test_the_table_says_whether_the_goal_is_met() -> None:
    runs = [falling("base", lambda s: 1 - 0.5 * s), falling("ours", lambda s: 1 - s)]
    table = money_table(money(runs, "base"), MoneyGoal("base", 0.6, 0.33), ["ours", "base"], {"p": "curves"})
    assert table.rows[0] == ("p", "50.0", "50%", "100%")
    assert table.rows[-1][2:] == ("50%", "100%")
    assert "Must 60%: met; aim 33%: missed" in table.notes[0]
