from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.effort import examples

from flexibo import Objective, Space, Study
from flexibo.history import History
from flexibo.history.event_dicts import event_from_dict, event_to_dict
from flexibo.storage import MemoryStorage

SPACE = Space({"x": (0.0, 1.0), "k": ["a", "b", "c"], "w": [1, 2, 4]})
OBJECTIVES = [Objective("f", "max", options=["x", "k"]), Objective("g"), Objective("h", measured_with="g")]


def copied(storage: MemoryStorage) -> MemoryStorage:
    """Another storage with the same events, and the signs of life of workers: what they hold is not left behind."""
    copy = MemoryStorage()
    copy.commit(0, lambda none: storage.read())
    for worker, sign in storage.workers().items():
        copy.sign(worker, sign)
    return copy


@settings(max_examples=examples(8), deadline=None)
@given(
    st.lists(
        st.sampled_from(["tell", "tell", "tell", "fail", "release", "hold", "add", "enqueue", "dequeue"]), max_size=10
    ),
    st.integers(0, 99),
)
def test_a_replayed_study_equals_the_live_one(actions: list[str], seed: int) -> None:
    storage = MemoryStorage()
    live = Study(SPACE, OBJECTIVES, n_initial=2, seed=seed, budget=50, storage=storage, candidates=30)
    for step, action in enumerate(actions):
        if action == "add":
            live.add({"x": step / 100, "k": "a", "w": 4}, {"f": float(step)}, cost=2.0)
            continue
        if action == "enqueue":
            live.enqueue({"x": step / 50, "k": "b", "w": 2}, ["h", "f"] if step % 2 else None)
            continue
        if action == "dequeue":
            live.dequeue()
            continue
        evaluation = live.ask()
        if evaluation is None:
            break
        if action == "tell":
            live.tell(evaluation, {name: 0.1 * step + len(name) for name in evaluation.yields}, cost=1.0)
        elif action == "fail":
            live.fail(evaluation, "broken", cost=0.5)
        elif action == "release":
            live.release(evaluation)
    copy = copied(storage)
    again = Study(SPACE, OBJECTIVES, n_initial=2, seed=seed, budget=50, storage=copy, candidates=30)
    assert again.events == live.events
    assert again.spent == live.spent
    assert again.pending == live.pending
    assert again.queue == live.queue
    assert again.front() == live.front()
    assert again.reference == live.reference
    assert again.ask() == live.ask()


@settings(max_examples=examples(4), deadline=None)
@given(st.lists(st.sampled_from(["tell", "tell", "tell", "fail", "release", "hold"]), max_size=9), st.integers(0, 99))
def test_a_replayed_study_with_steps_equals_the_live_one(actions: list[str], seed: int) -> None:
    objectives = [Objective("f", steps=9, options=["x", "k"]), Objective("g")]
    storage = MemoryStorage()
    live = Study(SPACE, objectives, n_initial=2, seed=seed, budget=60, storage=storage, candidates=30)
    for step, action in enumerate(["tell"] * 4 + actions):
        evaluation = live.ask()
        if evaluation is None:
            break
        start, stop = evaluation.start, evaluation.stop
        reports = [(s, 1.0 / s + step) for s in range(start + 1, stop)] if stop is not None else []
        if action == "tell":
            live.tell(evaluation, 0.1 * step + 0.2, cost=1.0 if stop is None else stop - start, reports=reports)
        elif action == "fail":
            live.fail(evaluation, "broken", cost=0.5, reports=reports[:2])
        elif action == "release":
            live.release(evaluation)
    copy = copied(storage)
    again = Study(SPACE, objectives, n_initial=2, seed=seed, budget=60, storage=copy, candidates=30)
    assert again.events == live.events
    assert again.spent == live.spent
    for evaluation in live.history.asked:
        assert again.curve(evaluation.design, "f") == live.curve(evaluation.design, "f")
    assert again.front() == live.front()
    assert again.ask() == live.ask()


@settings(max_examples=examples(3), deadline=None)
@given(st.lists(st.sampled_from(["tell", "tell", "tell", "fail", "release", "hold"]), max_size=6), st.integers(0, 99))
def test_a_replayed_study_with_a_proxy_equals_the_live_one(actions: list[str], seed: int) -> None:
    objectives = [Objective("f", proxies=["h"]), Objective("g"), Objective("h", optimise=False)]
    storage = MemoryStorage()
    live = Study(SPACE, objectives, n_initial=4, seed=seed, budget=90, storage=storage, candidates=30)
    for step, action in enumerate(["tell"] * 12 + actions):
        evaluation = live.ask()
        if evaluation is None:
            break
        if action == "tell":
            live.tell(evaluation, 0.1 * step + 0.2, cost=5.0 if evaluation.objective == "f" else 1.0)
        elif action == "fail":
            live.fail(evaluation, "broken", cost=0.5)
        elif action == "release":
            live.release(evaluation)
    copy = copied(storage)
    again = Study(SPACE, objectives, n_initial=4, seed=seed, budget=90, storage=copy, candidates=30)
    assert again.events == live.events
    assert again.front() == live.front()
    assert again.ask() == live.ask()


@settings(max_examples=examples(5), deadline=None)
@given(st.integers(0, 1000))
def test_events_survive_json(seed: int) -> None:
    study = Study(SPACE, OBJECTIVES, n_initial=2, seed=seed, budget=50, candidates=30)
    evaluation = study.ask()
    assert evaluation is not None
    while evaluation is not None and evaluation.runner_up is None:
        study.tell(evaluation, {name: evaluation.number / 3.0 + len(name) for name in evaluation.yields}, cost=0.1)
        evaluation = study.ask()
    assert evaluation is not None
    study.tell(evaluation, dict.fromkeys(evaluation.yields, 1.0 / 3.0), cost=0.1)
    study.add({"x": 0.1 + 0.2, "k": "c", "w": 2}, {"f": 1e-17})
    written = [json.dumps(event_to_dict(event), allow_nan=False) for event in study.events]
    read = [event_from_dict(json.loads(text), SPACE) for text in written]
    assert tuple(read) == study.events
    history = History(SPACE, OBJECTIVES)
    for event in read:
        history.append(event)
    assert history.spent == study.spent
