from __future__ import annotations

import numpy as np
import pytest

from flexibo import Objective, Space
from flexibo.belief.costs import Costs
from flexibo.belief.price_list import (
    PriceList,
    is_still_open,
    is_worth_repeating,
    payable_parts,
    queued_parts,
    remaining,
    reserved,
    unreserved,
)
from flexibo.history import History
from flexibo.history.events import Added, Asked, BudgetSet, Dequeued, Enqueued, Evaluation, Told

SPACE = Space({"x": [0, 1, 2]})
COSTS = Costs("ratio", seed=0)


@pytest.fixture
def history() -> History:
    history = History(SPACE, [Objective("error"), Objective("joules")])
    history.append(Added(SPACE.design({"x": 0}), {"error": 1.0}, {"error": 8.0, "joules": 2.0}))
    return history


def price_list(history: History, *, coupled: bool = False) -> PriceList:
    return PriceList.of(history, SPACE.enumerate(), COSTS, coupled=coupled)


def ask(history: History, x: int, objective: str, cost: float) -> Evaluation:
    evaluation = Evaluation(SPACE.design({"x": x}), objective, None, cost, "", len(history.asked), (objective,))
    history.append(Asked(evaluation))
    return evaluation


def test_every_purchase_has_a_price_and_is_open_until_it_is_measured(history: History) -> None:
    offered = price_list(history)
    assert offered.bundles == ((0,), (1,))
    assert offered.prices.tolist() == [[8.0, 2.0]] * 3
    assert offered.thetas.tolist() == [[4.0, 1.0]] * 3
    assert offered.open.tolist() == [[False, True], [True, True], [True, True]]


def test_a_coupled_price_is_that_of_what_is_missing(history: History) -> None:
    offered = price_list(history, coupled=True)
    assert offered.bundles == ((0, 1),)
    assert offered.prices[:, 0].tolist() == [2.0, 10.0, 10.0]
    assert [offered.missing(i) for i in range(3)] == [["joules"], ["error", "joules"], ["error", "joules"]]
    assert offered.contains({"error"})[:, 0].tolist() == [False, True, True]


def test_what_is_pending_is_not_open_and_its_expected_cost_is_reserved(history: History) -> None:
    history.append(BudgetSet(11.0))
    assert price_list(history).affordable().tolist() == [[False, True], [True, True], [True, True]]
    ask(history, 1, "error", cost=8.0)
    offered = price_list(history)
    assert offered.left == pytest.approx(3.0)
    assert offered.affordable().tolist() == [[False, True], [False, True], [False, True]]
    assert offered.designs_left == pytest.approx(0.3)


def test_a_spent_budget_pays_for_nothing_even_if_it_is_free(history: History) -> None:
    history.append(BudgetSet(8.0))
    evaluation = ask(history, 1, "error", cost=8.0)
    history.append(Told(evaluation.number, {"error": 1.0}, 8.0))
    assert not price_list(history).pays(0.0)


def test_what_is_free_does_not_keep_a_study_alive() -> None:
    prices, is_open = np.array([[0.0, 5.0]]), np.ones((1, 2), dtype=bool)
    offered = PriceList(((0,), (1,)), prices, np.ones((1, 2)), is_open, left=1.0)
    assert offered.affordable().tolist() == [[True, False]]
    assert not offered.buys_something(offered.affordable())
    free = PriceList(((0,), (1,)), np.zeros((1, 2)), np.ones((1, 2)), is_open, left=1.0)
    assert free.buys_something(free.affordable())


def test_an_evaluation_is_still_open_until_another_asks_it_or_the_budget_is_gone(history: History) -> None:
    history.append(BudgetSet(9.0))
    chosen = Evaluation(SPACE.design({"x": 1}), "error", None, 8.0, "", 0, ("error",))
    assert is_still_open(history, COSTS, chosen)
    ask(history, 2, "error", cost=8.0)
    assert not is_still_open(history, COSTS, chosen)
    history.append(BudgetSet(99.0))
    assert is_still_open(history, COSTS, chosen)
    ask(history, 1, "error", cost=8.0)
    assert not is_still_open(history, COSTS, chosen)


def enqueue(history: History, x: int, *objectives: str, **more: int) -> None:
    history.append(Enqueued(SPACE.design({"x": x}), objectives, **more))


def parts(history: History, **limit: float) -> list[tuple[int, str, float]]:
    return [(p.queued.number, p.objective, p.price) for p in payable_parts(history, COSTS, **limit)]


def test_the_budget_pays_for_what_is_queued_in_order_and_the_rest_is_for_the_method(history: History) -> None:
    history.append(BudgetSet(13.0))
    enqueue(history, 1, "joules", "error")
    enqueue(history, 2, "error", "joules")
    assert len(queued_parts(history, COSTS)) == 4
    assert parts(history) == [(0, "joules", 2.0), (0, "error", 8.0), (1, "joules", 2.0)], "8 + 2 + 2, not 8 + 2 + 8"
    assert unreserved(history, COSTS) == 13.0
    assert remaining(history, COSTS) == 1.0
    assert parts(history, limit=9.0) == [(0, "joules", 2.0), (1, "joules", 2.0)]
    history.append(BudgetSet(None))
    assert len(parts(history)) == 4
    assert remaining(history, COSTS) == float("inf")


def test_what_is_queued_and_being_measured_is_reserved_once(history: History) -> None:
    history.append(BudgetSet(20.0))
    enqueue(history, 1, "joules", "error")
    history.append(Asked(Evaluation(SPACE.design({"x": 1}), "joules", None, 3.0, "", 0, ("joules",), queued=0)))
    assert reserved(history, COSTS, list(history.pending.values())) == 3.0
    assert parts(history) == [(0, "error", 8.0)]
    assert remaining(history, COSTS) == 20.0 - 3.0 - 8.0


def test_all_missing_readings_are_reserved() -> None:
    history = History(SPACE, [Objective("error"), Objective("joules", noisy=True)])
    history.append(Added(SPACE.design({"x": 0}), {"error": 1.0, "joules": 1.0}, {"error": 8.0, "joules": 2.0}))
    history.append(BudgetSet(7.0))
    enqueue(history, 0, "joules", readings=3)
    assert [part.readings for part in queued_parts(history, COSTS)] == [2]
    assert remaining(history, COSTS) == 7.0 - 2 * 2.0
    history.append(Asked(Evaluation(SPACE.design({"x": 0}), "joules", None, 2.0, "", 0, ("joules",), queued=0)))
    assert parts(history) == [], "one reading is taken after the other"
    assert remaining(history, COSTS) == 7.0 - 2 * 2.0, "the last one is still to be paid"


def test_a_queued_evaluation_is_open_as_long_as_it_is_queued_and_paid(history: History) -> None:
    history.append(BudgetSet(9.0))
    enqueue(history, 1, "error")
    evaluation = Evaluation(SPACE.design({"x": 1}), "error", None, 8.0, "", 0, ("error",), queued=0)
    assert is_still_open(history, COSTS, evaluation)
    history.append(BudgetSet(7.0))
    assert not is_still_open(history, COSTS, evaluation)
    history.append(BudgetSet(9.0))
    history.append(Asked(evaluation))
    assert not is_still_open(history, COSTS, evaluation), "it is being measured"
    assert is_worth_repeating(history, COSTS, evaluation)
    history.append(Dequeued(0))
    assert not is_worth_repeating(history, COSTS, evaluation)
