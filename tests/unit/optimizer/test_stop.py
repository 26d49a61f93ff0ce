from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from tests.unit.optimizer.small_history import ask, at, fail, history_of, tell

from flexibo.belief.costs import Costs
from flexibo.belief.price_list import PriceList, queued_parts
from flexibo.history.events import Enqueued, Forgiven
from flexibo.optimizer import stop
from flexibo.optimizer.stop import StopKind
from flexibo.pareto import pareto_region


def offered(prices: object, *, is_open: object = True, left: float = 1.0) -> PriceList:
    table = np.array(prices, dtype=float)
    return PriceList(((0,), (1,)), table, np.ones_like(table), np.broadcast_to(is_open, table.shape), left=left)


def test_the_stored_names_of_the_kinds_never_change() -> None:
    assert [kind.value for kind in StopKind] == [
        "budget",
        "free",
        "failing",
        "unlikely",
        "finished",
        "no-region",
        "infeasible",
        "waiting",
        "rule",
        "idle",
        "queue",
        "tried",
        "manual",
        "interrupted",
        "terminated",
        "changed",
    ]
    assert StopKind("no-region") is StopKind.NO_REGION


def test_an_objective_that_never_gave_a_value_stops_the_study_after_six_failures() -> None:
    history = history_of()
    for x in (0, 0, 0, 1, 1):
        fail(history, at(x), "b")
        assert stop.failing(history) is None
    fail(history, at(1), "b", reason="no meter")
    found = stop.failing(history)
    assert found is not None
    assert found.kind is StopKind.FAILING
    assert re.search("'b'.* 6 attempts.*no meter", found.reason)


def test_an_objective_that_gave_values_may_fail_thirty_times_in_a_row() -> None:
    history = history_of()
    tell(history, at(0), 1.0)
    for _ in range(stop.MOST_FAILURES_AFTER_SUCCESS - 1):
        fail(history, at(1), "b")
    assert stop.failing(history) is None
    fail(history, at(1), "b")
    assert stop.failing(history).kind is StopKind.FAILING  # type: ignore[union-attr]
    history.append(Forgiven())
    assert stop.failing(history) is None


def test_evaluations_that_cost_nothing_stop_a_study_with_a_budget_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stop, "MOST_FREE", 3)
    endless, limited = history_of(), history_of(budget=10.0)
    for history in (endless, limited):
        for x in (0, 1):
            tell(history, at(x), 1.0, "a", cost=0.0)
    assert stop.only_free(limited) is None
    for history in (endless, limited):
        tell(history, at(2), 1.0, "a", cost=0.0)
    assert stop.only_free(endless) is None
    assert stop.only_free(limited).kind is StopKind.FREE  # type: ignore[union-attr]
    tell(limited, at(3), 1.0, "a", cost=0.1)
    assert stop.only_free(limited) is None


def test_an_objective_without_a_value_waits_for_a_pending_evaluation_and_fails_without_one() -> None:
    history = history_of()
    assert stop.never_measured(history, "b").kind is StopKind.FAILING
    ask(history, at(0), "b")
    assert stop.never_measured(history, "b").kind is StopKind.WAITING
    assert "'b'" in stop.never_measured(history, "b").reason
    assert stop.never_measured(history, "a").kind is StopKind.FAILING


@pytest.mark.parametrize(
    ("found", "facts"),
    [
        (
            stop.initial_too_expensive(history_of(budget=12.5), 7, 80.5, ["b"], chosen=True),
            "12.5.* 7 evaluations.* 80.5 .*n_initial; what b costs",
        ),
        (stop.design_too_expensive(history_of(budget=12.5), 3.14159, 2.0), "3.142,.* 2 of 12.5 "),
        (stop.design_too_expensive(history_of(budget=12.5), 3.0, -1.0), " 3,.* 0 of 12.5 "),
    ],
)
def test_what_the_budget_does_not_pay_is_said_in_numbers(found: stop.Stop, facts: str) -> None:
    assert found.kind is StopKind.BUDGET
    assert re.search(facts, found.reason)


def test_what_was_asked_for_is_listed_where_nothing_of_it_is_left() -> None:
    found = stop.nothing_to_ask(frozenset({"joules", "error"}))
    assert found.kind is StopKind.FINISHED
    assert "error, joules" in found.reason


def test_where_nothing_is_open_the_study_has_finished_and_otherwise_its_budget_is_spent() -> None:
    history = history_of(budget=20.0)
    any_of, b = np.ones((1, 2), dtype=bool), np.array([[False, True]])
    assert stop.nothing_to_buy(history, offered([[3.0, 5.0]], is_open=False), any_of).kind is StopKind.FINISHED
    spent = stop.nothing_to_buy(history, offered([[0.0, 5.0], [4.0, 9.0]], left=1.25), any_of)
    assert spent.kind is StopKind.BUDGET
    assert re.search(r"1\.25 of 20 .* 4\.", spent.reason)  # what is free is not the cheapest
    assert " 5." in stop.nothing_to_buy(history, offered([[3.0, 5.0]]), b).reason


def test_a_proxy_is_not_what_the_budget_is_left_for() -> None:
    history, any_of = history_of(budget=20.0), np.ones((1, 2), dtype=bool)
    proxy = replace(offered([[4.0, 2.0]], left=3.0), bundles=((0,), ()))
    spent = stop.nothing_to_buy(history, proxy, any_of)
    assert (spent.kind, " 4." in spent.reason) == (StopKind.BUDGET, True)
    assert " 4." in stop.nothing_to_buy(history, proxy, np.array([[False, True]])).reason
    closed = replace(proxy, open=np.array([[False, True]]))
    assert stop.nothing_to_buy(history, closed, any_of).kind is StopKind.FINISHED


def test_without_a_region_nothing_is_left_to_learn_or_nothing_may_be_feasible() -> None:
    known, reference = np.array([[1.0, 1.0]]), np.array([2.0, 2.0])
    assert stop.no_region(pareto_region(known, known, reference)) is stop.NO_REGION
    impossible = pareto_region(known, known, reference, limits=np.array([0.5, np.inf]))
    assert stop.no_region(impossible) is stop.NOTHING_FEASIBLE


def test_where_nothing_scores_the_method_has_finished_unless_the_living_are_too_expensive() -> None:
    history, alive = history_of(budget=20.0), np.array([[0.0, 1.0], [9.0, 9.0]])
    region = pareto_region(alive, alive + 0.5, np.array([4.0, 4.0]))
    assert region.alive.tolist() == [True, False]
    cheap, expensive = offered([[1.0, 1.0], [9.0, 9.0]]), offered([[7.0, 6.0], [5.0, 5.0]])
    finished = stop.nothing_scores(history, cheap, region, "all done")
    assert (finished.kind, finished.reason) == (StopKind.FINISHED, "all done")
    assert stop.nothing_scores(history, expensive, None, "all done").kind is StopKind.FINISHED
    spent = stop.nothing_scores(history, expensive, region, "all done")
    assert spent.kind is StopKind.BUDGET
    assert re.search(r" 1 of 20 .* 6\.", spent.reason)  # 5 is the price of one that is ruled out


def test_without_a_queued_question_the_queue_is_empty_waits_or_is_too_expensive() -> None:
    history = history_of(budget=10.0)
    assert stop.nothing_queued(history, [], 10.0, payable=False).kind is StopKind.QUEUE
    history.append(Enqueued(at(1), ("b",)))
    parts = queued_parts(history, Costs("ratio", seed=0))
    elsewhere = stop.nothing_queued(history, parts, 10.0, payable=True)
    assert elsewhere.kind is StopKind.WAITING
    assert "b" in elsewhere.reason
    expensive = stop.nothing_queued(history, parts, 0.25, payable=False)
    assert expensive.kind is StopKind.BUDGET
    assert "0.25" in expensive.reason
    ask(history, at(1), "b")
    assert stop.nothing_queued(history, [], 10.0, payable=False).kind is StopKind.WAITING
