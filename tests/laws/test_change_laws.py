"""Laws of studies that are changed: what is stored decides, whenever and however often they change."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.effort import examples

from flexibo import Study
from flexibo.errors import InvalidValueError
from flexibo.history import History
from flexibo.history.events import Changed
from flexibo.history.state import packed, restore
from flexibo.objectives import Objective
from flexibo.space import Integer, Real, Space
from flexibo.space.changes import present_space
from flexibo.storage import MemoryStorage

BOUNDS = st.tuples(st.floats(0, 0.5), st.floats(0.55, 1)).map(lambda pair: Real(*pair))
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "x": BOUNDS,
        "n": st.tuples(st.integers(1, 3), st.integers(4, 9)).map(lambda pair: Integer(*pair)),
        "k": st.lists(st.sampled_from("pqrs"), min_size=1, max_size=4, unique=True),
        "w": st.lists(st.sampled_from([1, 2, 4, 8, 16]), min_size=1, max_size=5, unique=True),
    },
)
WISHES = st.fixed_dictionaries(
    {},
    optional={
        "options": OPTIONS,
        "limits": st.dictionaries(st.sampled_from("ab"), st.one_of(st.none(), st.floats(0, 2)), max_size=2),
        "objectives": st.sampled_from([[Objective("c")], [Objective("c", at_most=1.0)], [Objective("a", retries=2)]]),
        "method": st.sampled_from(["random", "sobol"]),
        "budget": st.integers(5, 30),
    },
)
STEPS = st.lists(st.one_of(st.integers(1, 3), WISHES, st.just("enqueue"), st.just("fail")), min_size=1, max_size=7)
START: Mapping[str, Any] = {"x": (0.0, 1.0), "n": (1, 6), "k": ["p", "q"], "w": [1, 2, 4]}


def lived(steps: list[Any], storage: MemoryStorage) -> tuple[Study, Study]:
    """A study after these steps, and another worker's, which is told of them when they are over."""
    study = Study(START, ["a", "b"], budget=12, seed=0, n_initial=3, method="random", storage=storage)
    other = Study.load(storage)
    for step in steps:
        if isinstance(step, dict):
            wish = {"defaults": {}, **step}
            study.change(**wish)
        elif step == "enqueue":
            design = study.space.sample(1, np.random.default_rng(len(study.events)))[0]
            with contextlib.suppress(InvalidValueError):  # nothing may be missing of it
                study.enqueue(design)
        else:
            for _ in range(step if isinstance(step, int) else 1):
                if (evaluation := study.ask()) is None:
                    break
                if step == "fail":
                    study.fail(evaluation, "broken", cost=0.5)
                else:
                    values = {name: float(evaluation.design["x"] + len(name)) for name in evaluation.yields}
                    study.tell(evaluation, values, cost=1.0)
    return study, other


def state(history: History) -> dict[str, Any]:
    """All that follows from the events."""
    return {
        "settings": history.settings,
        "spent": history.spent,
        "budget": history.budget,
        "reference": history.reference,
        "designs": [dict(design) for design in history.designs],
        "known": [dict(design) for design in history.known_designs],
        "data": [history.data(j)[1].tolist() for j in range(len(history.names))],
        "closed": [sorted(history.closed(p).tolist()) for p in range(len(history.purchases))],
        "costs": [history.costs(p)[1].tolist() for p in range(len(history.purchases))],
        "pending": sorted(history.pending),
        "queue": [(one.number, dict(one.design), one.objectives) for one in history.queue],
        "follow_ups": [(dict(one.design), one.objectives) for one in history.follow_ups],
        "counts": (history.chosen, history.changes, history.scored, history.enqueued),
        "failures": (dict(history.failed_attempts), dict(history.failed_in_a_row), dict(history.told)),
    }


@settings(max_examples=examples(25), deadline=None)
@given(STEPS)
def test_a_study_that_is_opened_again_is_the_one_that_was_changed(steps: list[Any]) -> None:
    storage = MemoryStorage()
    study, other = lived(steps, storage)
    expected = state(study.history)
    other.refresh()
    assert state(other.history) == expected, "another worker"
    again = Study.load(storage)
    assert state(again.history) == expected, "opened again"
    first, second = study.ask(), again.ask()
    if first is not None:
        assert second is None or second.number == first.number + 1
    for design in [one.design for one in (first, second) if one is not None]:
        assert design in study.space


@settings(max_examples=examples(25), deadline=None)
@given(STEPS)
def test_a_snapshot_of_a_changed_study_is_its_replay(steps: list[Any]) -> None:
    study, _ = lived(steps, MemoryStorage())
    events = list(study.history.events)
    begun = History(Space(START), [Objective("a"), Objective("b")])
    begun.begin_as(events[0].settings)  # type: ignore[union-attr]  # it is the first event
    restore(begun, packed(study.history), events=len(events), load=lambda start, stop: events[start:stop])
    assert state(begun) == state(study.history)
    assert list(begun.events) == events


@settings(max_examples=examples(15), deadline=None)
@given(STEPS, WISHES)
def test_a_change_again_is_no_change_and_what_was_measured_stays(steps: list[Any], wish: dict[str, Any]) -> None:
    study, _ = lived(steps, MemoryStorage())
    before = [study.history.data(j)[1].tolist() for j in range(len(study.history.names))]
    spent = study.spent
    study.change(**wish)
    events = len(study.events)
    assert not study.change(**wish)
    assert len(study.events) == events
    assert [study.history.data(j)[1].tolist() for j in range(len(before))] == before
    assert study.spent == spent
    legal = study.space.legal(study.history.known_designs)
    assert len(study.history.designs) == int(legal.sum())


def test_a_study_none_of_whose_designs_is_left_has_an_empty_front() -> None:
    study, _ = lived([3, 3], MemoryStorage())
    study.change(options={"k": ["s"]})
    assert len(study.history.designs) == 0
    assert len(study.history.known_designs) > 0
    assert len(study.front()) == 0
    assert len(study.promising()) == 0
    assert str(study.summary())
    assert study.certificate()
    assert study.region()
    assert len(study.trace()) > 0
    evaluation = study.ask()
    assert evaluation is not None
    assert evaluation.design["k"] == "s"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_changes_of_two_workers_are_both_stored_in_their_order(order: tuple[int, int]) -> None:
    storage = MemoryStorage()
    workers = [Study(START, ["a", "b"], budget=12, seed=0, n_initial=3, storage=storage) for _ in range(2)]
    wishes: list[dict[str, Any]] = [{"options": {"n": (2, 8)}}, {"limits": {"a": 1.0}, "method": "random"}]
    for place in order:
        workers[place].change(**wishes[place])
    for worker in workers:
        worker.refresh()
        assert len([event for event in worker.events if isinstance(event, Changed)]) == 2
        assert present_space(worker.space).options["n"] == Integer(2, 8)
        assert (worker.objectives[0].at_most, worker.method.name) == (1.0, "random")
