from __future__ import annotations

import re

import pytest
from tests.unit.optimizer.small_history import SPACE, ask, at, fail, history_of, tell

from flexibo import Objective, Study
from flexibo.belief.costs import Costs
from flexibo.history import History
from flexibo.optimizer import Stop, StopKind
from flexibo.optimizer._request import Request

COSTS = Costs(lambda design, objective: {"a": 1.0, "b": 5.0}.get(objective, 3.0), seed=0)


def request_of(history: History, only: list[str] | None = None) -> Request:
    return Request.of(history, COSTS, only)


def test_a_request_is_for_the_objectives_that_can_be_asked_for() -> None:
    together = history_of(Objective("a"), Objective("watts", measured_with="b"), Objective("b"))
    assert request_of(together).wanted == {"a", "b"}
    assert request_of(together, ["a", "nosuch"]).wanted == {"a"}
    assert request_of(together, []).wanted == frozenset()


def test_wanted_objectives_come_first_and_keep_their_order() -> None:
    request = request_of(history_of(Objective("a"), Objective("b"), Objective("c")), only=["c", "b"])
    assert request.wanted_first(["a", "b", "c"]) == ("b", "c", "a")


def test_a_question_says_what_it_costs_what_it_yields_and_what_follows() -> None:
    history = history_of(Objective("a"), Objective("watts", measured_with="b"), Objective("b"))
    tell(history, at(0), 1.0, "a")
    question = request_of(history).question(at(2), ("b", "a"), why="why not", gain=0.5, volume=2.0)
    assert (question.design, question.objective, question.then) == (at(2), "b", ("a",))
    assert {*question.yields} == {"b", "watts"}
    assert (question.cost, question.number, question.attempt, question.initial) == (5.0, 1, 1, False)
    assert (question.gain, question.volume, question.why) == (0.5, 2.0, "why not")


def test_a_question_counts_the_attempts_before_it() -> None:
    history = history_of()
    fail(history, at(1), "a")
    fail(history, at(1), "a")
    request = request_of(history)
    assert request.question(at(1), ("a",), why="").attempt == 3
    assert request.question(at(1), ("b",), why="").attempt == 1
    assert request.question(at(2), ("a",), why="").attempt == 1


@pytest.mark.parametrize("only", ["free", "proxy"])
def test_what_is_free_and_a_proxy_are_allowed_alone_as_long_as_others_can_buy_something(only: str) -> None:
    for budget, kind in ((6.0, None), (2.0, StopKind.BUDGET)):
        objectives = [Objective("b", proxies=["proxy"]), Objective("free"), Objective("proxy", optimise=False)]
        history = history_of(*objectives, budget=budget)
        costs = Costs(lambda design, objective: {"b": 5.0, "proxy": 1.0, "free": 0.0}[objective], seed=0)
        request = Request.of(history, costs, [only])
        allowed = request.allowed(request.price_list(SPACE.designs([at(0)]), proxies=True))
        assert isinstance(allowed, Stop) == (kind is not None)
        if isinstance(allowed, Stop):
            assert (allowed.kind, " 5." in allowed.reason) == (kind, True)
        else:
            assert allowed.tolist() == [[False, only == "free", only == "proxy"]]


def test_what_is_open_and_affordable_is_allowed() -> None:
    history = history_of(budget=4.0)
    ask(history, at(0), "a")
    request = request_of(history)
    allowed = request.allowed(request.prices(at(0), at(1)))
    # The budget of 4, less 1 for what is pending, pays for a but not for b; a of the first is under way.
    assert allowed.tolist() == [[False, False], [True, False]]  # type: ignore[union-attr]


def test_only_what_the_caller_can_measure_is_allowed() -> None:
    history = history_of()
    request = request_of(history, only=["b"])
    assert request.allowed(request.prices(at(0))).tolist() == [[False, True]]  # type: ignore[union-attr]
    tell(history, at(0), 1.0, "b")
    found = request.allowed(request.prices(at(0)))
    assert isinstance(found, Stop)
    assert found.kind is StopKind.FINISHED
    assert "b" in found.reason


@pytest.mark.parametrize(("budget", "kind"), [(0.5, StopKind.BUDGET), (9.0, StopKind.FINISHED)])
def test_where_nothing_can_be_bought_there_is_a_stop(budget: float, kind: StopKind) -> None:
    history = history_of(budget=budget)
    if kind is StopKind.FINISHED:
        tell(history, at(0), 1.0)
    request = request_of(history)
    found = request.allowed(request.prices(at(0)))
    assert isinstance(found, Stop)
    assert found.kind is kind


@pytest.mark.parametrize("method", ["flexibo", "ehvi", "nsga2", "random", "pal"])
def test_every_question_says_why_in_numbers_that_are_not_zero(method: str) -> None:
    study = Study({"x": (0.0, 1.0)}, ["a", "b"], method=method, budget=1e6, seed=0, stop={"max_evaluations": 30})
    study.run({"a": lambda design: (design["x"], 0.5), "b": lambda design: (1.0 - design["x"] ** 2, 0.001)})
    reasons = [evaluation.why for evaluation in study.history.asked]
    assert all(reasons)
    assert not [why for why in reasons if re.search(r"(?<![\d.])0(\.0+)?(%| of)", why)]
    assert any("initial design 2" in why for why in reasons)


def test_a_second_attempt_and_a_second_reading_say_so() -> None:
    study = Study({"x": [1, 2, 3]}, [Objective("a", retries=1), Objective("b", noisy=True)], seed=0, n_initial=2)
    failed = study.ask(only=["a"])
    assert failed is not None
    study.fail(failed, "no power")
    retried = [study.ask(), study.ask(), study.ask(), study.ask()]
    assert [one.attempt for one in retried if one is not None and "attempt 2" in one.why] == [2]
    read = retried[0]
    assert read is not None
    study.tell(read, 1.0)
    study.enqueue(read.design, ["b"], readings=2, why="for the paper")
    again = study.ask(only=["b"])
    assert again is not None
    assert "for the paper" in again.why
    assert "reading" in again.why
