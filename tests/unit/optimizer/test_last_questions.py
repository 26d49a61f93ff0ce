from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from tests.unit.optimizer.small_history import Flat, ask, at, history_of, tell

from flexibo import Design, Objective, Space
from flexibo.belief import price_list
from flexibo.history import History
from flexibo.history.events import Added, Evaluation
from flexibo.methods import find_method
from flexibo.optimizer import Stop, StopKind
from flexibo.optimizer._last_questions import (
    checking_question,
    confirming_question,
    drawn,
    feasibility_question,
    proposed,
)
from flexibo.optimizer._request import Request
from flexibo.optimizer.predictor import Predictor
from flexibo.surrogates.table import SurrogateChoice

ANY_SIGN = SurrogateChoice(Flat(), assume_positive=False)


def predictor_of(method: str, prices: dict[str, float] | None = None) -> Predictor:
    cost = None if prices is None else lambda design, objective: prices[objective]
    return Predictor(find_method(method), (), seed=0, m=10, delta=0.05, surrogate=ANY_SIGN, cost=cost)  # type: ignore[arg-type]


def request_of(history: History, predictor: Predictor, only: list[str] | None = None) -> Request:
    return Request.of(history, predictor.costs, only)


class Proposes:
    """Proposes the designs x = 0, 1, 2."""

    finished = "that was all"

    def __call__(self, history: History, initial: Sequence[Design], seed: int) -> Iterator[Design]:
        return map(at, (0, 1, 2))


def test_the_first_proposed_design_that_lacks_something_is_asked_for_all_that_it_lacks() -> None:
    history, predictor = history_of(), predictor_of("sobol")
    tell(history, at(0), 1.0)
    tell(history, at(1), 1.0, "a")
    question = proposed(request_of(history, predictor), Proposes(), predictor)
    assert isinstance(question, Evaluation)
    assert (question.design, question.objective, question.then) == (at(1), "b", ())
    only_a = proposed(request_of(history, predictor, only=["a"]), Proposes(), predictor)
    assert isinstance(only_a, Evaluation)
    assert (only_a.design, only_a.objective, only_a.then) == (at(2), "a", ("b",))


def test_a_proposal_without_further_designs_waits_for_what_is_pending_and_then_ends() -> None:
    history, predictor = history_of(), predictor_of("sobol")
    for x in (0, 1):
        tell(history, at(x), 1.0)
    tell(history, at(2), 1.0, "a")
    ask(history, at(2), "b")
    waiting = proposed(request_of(history, predictor), Proposes(), predictor)
    assert isinstance(waiting, Stop)
    assert waiting.kind is StopKind.WAITING
    history = history_of()
    for x in (0, 1, 2):
        tell(history, at(x), 1.0)
    ended = proposed(request_of(history, predictor), Proposes(), predictor)
    assert ended == Stop(StopKind.FINISHED, "that was all")


def test_a_proposed_design_that_the_budget_does_not_pay_ends_the_study() -> None:
    predictor = predictor_of("sobol", {"a": 2.0, "b": 3.0})
    found = proposed(request_of(history_of(budget=4.5), predictor), Proposes(), predictor)
    assert isinstance(found, Stop)
    assert found.kind is StopKind.BUDGET
    assert "5" in found.reason
    assert "4.5" in found.reason


def test_a_draw_is_uniform_over_what_is_open_and_affordable() -> None:
    history, predictor = history_of(budget=100.0), predictor_of("random", {"a": 1.0, "b": 1.0})
    tell(history, at(0), 1.0)
    tell(history, at(1), 1.0, "a")
    request = request_of(history, predictor)
    found = [drawn(request, predictor, salt) for salt in range(200)]
    counts = Counter(
        (question.design["x"], question.objective) for question in found if isinstance(question, Evaluation)
    )
    assert {*counts} == {(1, "b"), (2, "a"), (2, "b"), (3, "a"), (3, "b")}
    assert all(20 < count < 65 for count in counts.values())


def test_a_coupled_draw_asks_for_all_objectives_of_a_design() -> None:
    history, predictor = history_of(), predictor_of("random-coupled")
    question = drawn(request_of(history, predictor), predictor, 0)
    assert isinstance(question, Evaluation)
    assert {question.objective, *question.then} == {"a", "b"}


@pytest.mark.parametrize(("budget", "kind"), [(None, StopKind.FINISHED), (0.5, StopKind.BUDGET)])
def test_a_draw_ends_when_nothing_is_open_or_affordable(budget: float | None, kind: StopKind) -> None:
    history, predictor = history_of(budget=budget), predictor_of("random", {"a": 1.0, "b": 1.0})
    for x in range(4) if budget is None else ():
        tell(history, at(x), 1.0)
    found = drawn(request_of(history, predictor), predictor, 0)
    assert isinstance(found, Stop)
    assert found.kind is kind


def test_the_cheapest_evaluation_that_a_reported_design_lacks_confirms_it() -> None:
    history, predictor = history_of(), predictor_of("flexibo", {"a": 4.0, "b": 1.0})
    history.append(Added(at(0), {"a": 1.0}, {}))
    history.append(Added(at(1), {"b": 1.0}, {}))
    question = confirming_question(request_of(history, predictor), predictor)
    assert question is not None
    assert (question.design, question.objective) == (at(0), "b")
    other = confirming_question(request_of(history, predictor, only=["a"]), predictor)
    assert other is not None
    assert (other.design, other.objective) == (at(1), "a")


def test_a_design_that_can_be_completed_is_confirmed_before_a_cheaper_part_of_another() -> None:
    prices = {"a": 4.0, "b": 1.0, "c": 9.0}
    history, predictor = history_of(*map(Objective, prices), budget=8.0), predictor_of("flexibo", prices)
    history.append(Added(at(0), {"a": 1.0}, {}))  # lacks b and c: 10
    history.append(Added(at(1), {"b": 1.0, "c": 1.0}, {}))  # lacks a: 4
    question = confirming_question(request_of(history, predictor), predictor)
    assert question is not None
    assert (question.design, question.objective) == (at(1), "a")
    history.append(Added(at(1), {"a": 1.0}, {}))
    question = confirming_question(request_of(history, predictor), predictor)
    assert question is not None
    assert (question.design, question.objective) == (at(0), "b"), "nothing that can be paid is left out"


def test_a_front_that_is_measured_or_too_expensive_is_not_confirmed() -> None:
    predictor = predictor_of("flexibo", {"a": 4.0, "b": 1.0})
    history = history_of()
    history.append(Added(at(0), {"a": 1.0, "b": 1.0}, {}))
    assert confirming_question(request_of(history, predictor), predictor) is None
    poor = history_of(budget=0.5)
    poor.append(Added(at(0), {"a": 1.0}, {}))
    poor.append(Added(at(1), {"b": 1.0}, {}))
    assert confirming_question(request_of(poor, predictor), predictor) is None


LIMITED = (Objective("a"), Objective("heat", at_most=0.0))


def feasibility_asked(history: History) -> Evaluation | None:
    predictor = predictor_of("ehvi")
    request, rng = request_of(history, predictor), np.random.default_rng(0)
    belief = predictor.belief(history, rng)
    return feasibility_question(request, belief, belief.open, rng)


def test_while_no_feasible_design_is_known_a_constraint_is_asked_for() -> None:
    history = history_of(*LIMITED)
    tell(history, at(0), 1.0)  # too hot
    question = feasibility_asked(history)
    assert question is not None
    assert question.design != at(0)
    assert "heat" in (question.objective, *question.then)
    assert "0.16" in question.why  # the model expects 1 with a deviation of 1


def test_once_a_feasible_design_is_known_only_a_doubtful_front_is_asked_for() -> None:
    history = history_of(*LIMITED)
    tell(history, at(0), -1.0)
    assert feasibility_asked(history) is None
    tell(history, at(1), -5.0, "a")  # better than the known one, and feasible with probability 0.84
    question = feasibility_asked(history)
    assert question is not None
    assert (question.design, question.objective) == (at(1), "heat")
    assert "0.84" in question.why


@pytest.mark.parametrize("x", [1, 2, 3])
def test_of_equally_feasible_designs_the_one_that_can_probably_be_measured_is_asked_for(
    x: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        price_list,
        "chances",
        lambda history, designs: np.array([[0.9 if d == at(x) else 0.8] * len(history.purchases) for d in designs]),
    )
    history = history_of(*LIMITED)
    tell(history, at(0), 1.0)
    question = feasibility_asked(history)
    assert question is not None
    assert question.design == at(x)


def test_models_are_checked_first_in_the_objective_that_lacks_readings() -> None:
    line = Space({"x": list(range(40))})
    history, predictor = history_of(space=line), predictor_of("flexibo")
    designs = [line.design({"x": x}) for x in range(40)]
    for design in designs[:-1]:
        tell(history, design, 1.0, "a")
    tell(history, designs[0], 1.0, "b")
    questions = [checking_question(request_of(history, predictor), predictor, salt) for salt in range(8)]
    assert {question.objective for question in questions if question is not None} == {"b"}
    assert len({question.design for question in questions if question is not None}) > 1
    for design in designs[1:]:
        tell(history, design, 1.0, "b")
    last = checking_question(request_of(history, predictor), predictor, 0)
    assert last is not None
    assert (last.design, last.objective) == (designs[-1], "a")
    tell(history, designs[-1], 1.0, "a")
    assert checking_question(request_of(history, predictor), predictor, 0) is None
