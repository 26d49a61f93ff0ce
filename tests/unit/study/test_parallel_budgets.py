"""A budget that several workers share: what is not known to be affordable is not measured several times at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from flexibo import Evaluation, Objective, Study
from flexibo.executors import Measure, Outcome
from flexibo.optimizer import StopKind
from flexibo.storage import MemoryStorage

SPACE = {"x": (0.0, 1.0), "k": [1, 2, 3]}
PRICE = 90.0


def worker(storage: Any = None, objectives: Iterable[Objective | str] = ("a", "b"), **settings: Any) -> Study:
    return Study(SPACE, objectives, storage=storage, **({"budget": 100, "seed": 1, "candidates": 30} | settings))


def tell(study: Study, evaluation: Evaluation, cost: float = PRICE) -> None:
    study.tell(evaluation, {name: evaluation.design["x"] + len(name) for name in evaluation.yields}, cost=cost)


def crowd(number: int, **settings: Any) -> tuple[Study, int]:
    """What workers do who all ask before any of them answers, and the most evaluations of one objective at a time."""
    storage, most = MemoryStorage(), 0
    workers = [worker(storage, **settings) for _ in range(number)]
    while asked := [(study, e) for study in workers if (e := study.ask()) is not None]:
        workers[0].refresh()
        counts = Counter(e.objective for e in workers[0].pending)
        most = max(most, *counts.values())
        for study, evaluation in asked:
            tell(study, evaluation)
    workers[0].refresh()
    return workers[0], most


@pytest.mark.parametrize(
    "start", [{}, {"n_initial": 10}, {"initial_designs": [{"x": i / 9, "k": 1} for i in range(9)]}]
)
@pytest.mark.parametrize("method", ["flexibo", "random", "parego", "sobol"])
def test_many_workers_spend_no_more_than_one_while_no_cost_is_known(method: str, start: dict[str, Any]) -> None:
    alone, _ = crowd(1, method=method, **start)
    study, most = crowd(8, method=method, **start)
    assert most == 1
    assert study.spent == alone.spent == 2 * PRICE  # the last one was the first of its objective


@pytest.mark.parametrize("number", [2, 8, 32])
def test_any_number_of_workers_overspends_by_the_last_evaluations_alone(number: int) -> None:
    study, _ = crowd(number, budget=3000, n_initial=10, method="random")
    assert 3000 - PRICE < study.spent <= 3000  # costs are known after the first answers, and right


def test_each_objective_begins_with_one_evaluation_and_the_stop_names_it() -> None:
    study = worker(n_initial=5)
    first, second = study.ask(8)
    assert {first.objective, second.objective} == {"a", "b"}
    assert study.stop_kind is StopKind.WAITING
    assert "'a' and 'b'" in study.stopped
    tell(study, first, 1.0)
    assert {e.objective for e in study.ask(3)} == {first.objective}
    assert study.ask(only=[second.objective]) is None


@pytest.mark.parametrize("ends", ["fail", "release", "free"])
def test_the_next_one_follows_when_the_first_has_ended(ends: str) -> None:
    study = worker(n_initial=5)
    (first,) = study.ask(8, only=["a"])
    if ends == "fail":
        study.fail(first, "it broke", cost=5.0)  # says nothing about what a success costs
    elif ends == "release":
        study.release(first)
    else:
        tell(study, first, 0.0)
    assert len(study.ask(3, only=["a"])) == (3 if ends == "free" else 1)


def test_known_costs_and_studies_without_a_budget_need_no_first_answer() -> None:
    priced = [Objective("a", cost=10.0), Objective("b", cost=10.0)]
    assert len(worker(objectives=priced, n_initial=5).ask(10)) == 10
    assert len(worker(cost=lambda design, objective: 10.0, n_initial=5).ask(10)) == 10
    assert len(worker(budget=None, n_initial=10).ask(10)) == 10
    added = worker(n_initial=6)
    added.add({"x": 0.5, "k": 1}, {"a": 1.0, "b": 2.0}, cost={"a": 10.0, "b": 10.0})
    assert len(added.ask(10)) == 10


def test_results_without_costs_do_not_hide_that_no_cost_is_known() -> None:
    study = worker(n_initial=1)
    for i in range(6):
        study.add({"x": i / 6, "k": 1}, {"a": i, "b": -i})
    asked = study.ask(8)
    assert sorted(e.objective for e in asked) == ["a", "b"]
    assert study.stop_kind is StopKind.WAITING


def test_objectives_that_are_measured_together_have_one_cost() -> None:
    study = worker(objectives=[Objective("a"), Objective("b", measured_with="a"), "c"], n_initial=5)
    assert [e.yields for e in study.ask(8)] == [("a", "b"), ("c",)]


class Racing(MemoryStorage):
    """Lets another worker ask just before the next claim is stored."""

    other: Study | None = None

    def commit(self, after: int, decide: Any) -> None:
        other, self.other = self.other, None
        if other is not None:
            assert other.ask(only=["a"]) is not None
        super().commit(after, decide)


def test_workers_that_choose_at_the_same_time_do_not_both_begin() -> None:
    storage = Racing()
    one, other = worker(storage, n_initial=5), worker(storage, n_initial=5)
    storage.other = other
    assert one.ask(only=["a"]) is None
    assert one.stop_kind is StopKind.WAITING
    assert [e.objective for e in one.pending] == ["a"]


class Together:
    """An executor with room for many evaluations, which all end at the same time."""

    def __init__(self) -> None:
        self.running: list[Evaluation] = []
        self.most: Counter[str] = Counter()

    def has_room(self, objective: Objective) -> bool:
        return len(self.running) < 8

    def submit(self, evaluation: Evaluation, objective: Objective, measure: Measure) -> None:
        self.running.append(evaluation)
        for name, number in Counter(e.objective for e in self.running).items():
            self.most[name] = max(self.most[name], number)

    def is_busy(self) -> bool:
        return bool(self.running)

    def finished(self, wait: float | None = None) -> list[Outcome]:
        done, self.running = self.running, []
        return [Outcome(e, {e.objective: e.design["x"]}, PRICE, timed=False) for e in done]

    def close(self) -> None:
        self.running.clear()


NAMED = {"a": lambda design: 0.0, "b": lambda design: 0.0}  # the executor has values of its own


def test_an_executor_with_many_workers_keeps_the_budget() -> None:
    executor, study = Together(), worker(n_initial=10)
    study.run(NAMED, executor=executor)
    assert study.spent == 2 * PRICE
    assert set(executor.most.values()) == {1}
    assert study.stop_kind is StopKind.BUDGET


def test_what_may_be_spent_on_confirming_is_kept_where_no_cost_is_known() -> None:
    study = worker(budget=None, n_initial=1)
    for i in range(6):
        study.add({"x": i / 6, "k": 1}, {"a": float(i)})
    for i in range(6):
        study.enqueue({"x": i / 6, "k": 1}, ["b"])
    executor = Together()
    study.confirm(NAMED, executor=executor, budget=100.0)
    assert executor.most == {"b": 1}
    assert study.spent == PRICE
