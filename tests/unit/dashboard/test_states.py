"""What a study is doing, as the dashboard says it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from flexibo import Objective, Space, Study
from flexibo.dashboard.follower import Heartbeats, is_spent, state_of
from flexibo.history import History
from flexibo.history.events import BudgetSet, Stopped
from flexibo.optimizer import StopKind
from flexibo.storage import Sign
from flexibo.storage.processes import about_this_process


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_study_runs_while_a_living_worker_holds_an_evaluation(make_study: Callable[..., Study]) -> None:
    study = make_study()
    study.ask()
    (holder,) = study.history.assignments.values()
    assert state_of(study.history, {holder.worker}) == "running"
    assert state_of(study.history, {"another"}) == "waiting"
    assert state_of(study.history, set()) == "silent"


def test_a_study_is_finished_when_its_budget_pays_for_nothing_more(
    make_study: Callable[..., Study], functions: dict[str, Callable[..., object]]
) -> None:
    study = make_study(budget=70.5, n_initial=6, candidates=20)
    study.run(functions)
    assert study.spent == 70.0
    assert state_of(study.history, set()) == "finished"
    queued = study.enqueue(study.space.sample(1, np.random.default_rng(0))[0], budget=400.0)
    assert state_of(study.history, set()) == "silent", "somebody must measure what is queued"
    study.dequeue(queued.number)
    study.budget = 70.5
    assert state_of(study.history, set()) == "finished"
    study.budget = 400.0
    assert state_of(study.history, set()) == "silent"


def test_a_study_without_a_budget_is_finished_by_its_rule_alone(make_study: Callable[..., Study]) -> None:
    study = make_study(budget=None, stop={"max_evaluations": 2})
    study.tell(study.ask(), 0.5, cost=1.0)
    assert not is_spent(study.history)
    study.tell(study.ask(), 0.5, cost=1.0)
    assert is_spent(study.history)


@pytest.mark.parametrize(("budget", "spent"), [(7.0, True), (8.0, False)])
def test_a_budget_that_pays_for_a_proxy_alone_is_spent(budget: float, spent: bool) -> None:
    proxy = Objective("p", optimise=False, cost=1)
    history = History(Space({"x": [1, 2]}), [Objective("a", cost=9.0, proxies=["p"]), Objective("b", cost=8.0), proxy])
    history.append(BudgetSet(budget))
    assert is_spent(history) == spent


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        (StopKind.RULE, "finished"),
        (StopKind.NO_REGION, "finished"),
        (StopKind.INTERRUPTED, "stopped"),
        (StopKind.FAILING, "stopped"),
    ],
)
def test_a_study_that_stopped_says_how(make_study: Callable[..., Study], kind: StopKind, state: str) -> None:
    study = make_study()
    study.history.append(Stopped(kind.value, "because"))
    assert state_of(study.history, set()) == state


def test_a_study_without_measurements_is_not_finished(make_study: Callable[..., Study]) -> None:
    assert state_of(make_study().history, set()) == "silent"


def test_a_worker_is_alive_while_its_signs_grow_within_its_lease() -> None:
    clock = Clock()
    beats = Heartbeats(clock)
    elsewhere = {"host": "board", "pid": 7}
    beats.note({"a": Sign(0, 0.0, 10.0, elsewhere), "b": Sign(5, 0.0, 10.0, elsewhere)})
    clock.now += 8.0
    workers = {"a": Sign(1, 8.0, 10.0, elsewhere), "b": Sign(5, 0.0, 10.0, elsewhere)}
    beats.note(workers)
    clock.now += 8.0
    assert beats.alive(workers) == {"a"}


def test_a_worker_whose_process_is_gone_is_not_alive() -> None:
    beats = Heartbeats(Clock())
    dead = Sign(0, 0.0, math.inf, {**about_this_process(), "pid": 2**22 + 1})
    here = Sign(0, 0.0, math.inf, about_this_process())
    beats.note({"dead": dead, "here": here})
    assert beats.alive({"dead": dead, "here": here}) == {"here"}


@pytest.mark.parametrize("seen", [{}, {"b": Sign(0, 0.0, 10.0)}])
def test_a_worker_that_was_never_looked_at_is_not_called_alive(seen: dict[str, Sign]) -> None:
    beats = Heartbeats(Clock())
    beats.note(seen)
    assert beats.alive({"a": Sign(0, 0.0, 10.0)}) == set()
