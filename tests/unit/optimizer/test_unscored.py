from __future__ import annotations

import pytest

from flexibo import Objective, Space
from flexibo.belief.costs import Costs
from flexibo.history import History
from flexibo.history.events import Added, Asked, BudgetSet, Enqueued, Evaluation, Failed
from flexibo.optimizer._request import Request
from flexibo.optimizer._unscored import missing_initial, queued_question

SPACE = Space({"x": [0, 1, 2, 3]})


def asked(history: History, x: int, objective: str) -> int:
    number = len(history.asked)
    design = history.space.design({"x": x})
    history.append(Asked(Evaluation(design, objective, None, 0.0, "", number, (objective,), initial=True)))
    return number


@pytest.fixture
def history() -> History:
    return History(SPACE, [Objective("a"), Objective("b")])


def test_initial_designs_are_asked_design_by_design(history: History) -> None:
    initial = [SPACE.design({"x": x}) for x in (2, 0)]
    assert missing_initial(history, initial, 0, coupled=False) == [
        (initial[0], [0]),
        (initial[0], [1]),
        (initial[1], [0]),
        (initial[1], [1]),
    ]
    assert missing_initial(history, initial, 0, coupled=True) == [(initial[0], [0, 1]), (initial[1], [0, 1])]


def test_a_failed_initial_evaluation_is_retried_after_the_others_and_then_given_up(history: History) -> None:
    initial = [SPACE.design({"x": x}) for x in (2, 0)]
    for attempt in range(3):
        history.append(Failed(asked(history, 2, "a"), "broken", 0.0))
        tasks = missing_initial(history, initial, 0, coupled=False)
        assert tasks[0] == (initial[0], [1])
        assert ((initial[0], [0]) in tasks) == (attempt < 2)


def test_what_is_pending_is_not_asked_again(history: History) -> None:
    initial = [SPACE.design({"x": 2})]
    asked(history, 2, "a")
    assert missing_initial(history, initial, 0, coupled=False) == [(initial[0], [1])]


def test_an_imported_result_replaces_an_initial_design(history: History) -> None:
    initial = [SPACE.design({"x": x}) for x in (2, 0)]
    history.append(Added(SPACE.design({"x": 3}), {"a": 1.0}, {}))
    assert missing_initial(history, initial, 0, coupled=False) == [
        (initial[0], [0]),
        (initial[0], [1]),
        (initial[1], [1]),
    ]


def test_the_first_queued_evaluation_that_the_caller_can_measure_is_asked(history: History) -> None:
    history.append(Enqueued(SPACE.design({"x": 1}), ("b",), why="for the paper"))
    history.append(Enqueued(SPACE.design({"x": 2}), ("a",)))
    costs = Costs("ratio", seed=0)
    question = queued_question(Request.of(history, costs, None))
    assert question is not None
    assert (question.design["x"], question.objective, question.queued, question.why) == (1, "b", 0, "for the paper")
    assert (question.initial, question.gain, question.then) == (False, None, ())
    other = queued_question(Request.of(history, costs, ["a"]))
    assert other is not None
    assert (other.design["x"], other.queued) == (2, 1)
    history.append(Asked(question))
    assert queued_question(Request.of(history, costs, ["b"])) is None


def test_a_queued_evaluation_that_cannot_be_paid_is_not_asked(history: History) -> None:
    history.append(Added(SPACE.design({"x": 0}), {"a": 1.0}, {"a": 5.0}))
    history.append(BudgetSet(6.0))
    history.append(Enqueued(SPACE.design({"x": 1}), ("a",)))
    request = Request.of(history, Costs("ratio", seed=0), None)
    assert queued_question(request) is not None
    assert queued_question(request, limit=4.0) is None
    history.append(BudgetSet(4.0))
    assert queued_question(request) is None
