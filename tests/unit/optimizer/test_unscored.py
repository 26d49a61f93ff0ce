from __future__ import annotations

import pytest

from flexibo import Objective, Space, Study
from flexibo.belief.costs import Costs
from flexibo.history import History
from flexibo.history.events import Added, Asked, BudgetSet, Enqueued
from flexibo.optimizer import StopKind
from flexibo.optimizer._request import Request
from flexibo.optimizer._unscored import queued_question

SPACE = Space({"x": [0, 1, 2, 3]})


@pytest.fixture
def history() -> History:
    return History(SPACE, [Objective("a"), Objective("b")])


def test_the_rest_of_a_bundle_comes_before_the_next_design() -> None:
    study = Study(SPACE, ["a", "b"], method="ehvi", seed=0, n_initial=2)
    first = study.ask()
    assert first is not None
    assert first.then == ("b",)
    study.tell(first, 1.0)
    second = study.ask()
    assert second is not None
    assert (second.objective, second.design, second.then) == ("b", first.design, ())


def test_another_design_takes_the_place_of_initial_ones_that_all_failed() -> None:
    study = Study(SPACE, ["a", "b"], seed=0, n_initial=1)
    first = study.ask()
    assert first is not None
    study.fail(first, "too large", impossible=True)
    while (question := study.ask()) is not None and question.objective == "b":
        study.tell(question, 1.0)
    assert question is not None
    assert question.initial
    assert question.design != first.design


def test_scores_wait_until_every_objective_has_a_value() -> None:
    study = Study(SPACE, ["a", Objective("b")], seed=0, n_initial=1)
    questions = study.ask(2)
    study.tell(questions[0], 1.0)
    assert study.ask() is None
    assert study.stop_kind is StopKind.WAITING


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
