"""The state of a history: whoever begins with it goes on as if it had replayed the events."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from flexibo import Objective, Study
from flexibo.errors import InvalidValueError
from flexibo.history import Event, History
from flexibo.history.state import BYTES_BESIDE, packed, restore
from flexibo.optimizer import Stop


@cache
def busy_study() -> Study:
    """A study in which everything that a history records has happened; no test changes it."""
    objectives = [Objective("a", options=["x"]), Objective("b", noisy=True), Objective("c", retries=2)]
    study = Study({"x": (0.0, 1.0), "k": ["p", "q"]}, objectives, budget=1000, seed=0, n_initial=3)
    study.add({"x": 0.5, "k": "q"}, {"a": 1.0, "b": 2.0}, cost={"a": 1.0, "b": 2.0})
    study.add({"x": 0.25, "k": "q"}, failed={"c": "no such board"})
    for turn in range(14):
        evaluation = study.ask()
        assert evaluation is not None
        if turn == 4:
            study.fail(evaluation, "no memory", cost=1.5)
        elif turn == 6:
            study.release(evaluation)
        elif turn not in (8, 12):  # two stay pending
            study.tell(evaluation, 0.1 * turn + float(evaluation.design["x"]), cost=1.0 + turn)
    study.enqueue({"x": 0.125, "k": "p"}, readings=2, why="a guess")
    study.note("fan replaced")
    study.stop = {"max_evaluations": 90}
    return study


def begun(history: History, after: int | None = None) -> History:
    """A history that begins with the state of another, and the events that it loads on the way."""
    events: Sequence[Event] = list(history.events)
    first = History(history.space, history.objectives)
    first.extend(events[:after])
    again = History(history.space, history.objectives)
    restore(again, packed(first), events=len(first.events), load=lambda start, stop: events[start:stop])
    again.extend(events[len(first.events) :])
    return again


PARTS = [
    "events",
    "asked",
    "measurements",
    "charges",
    "pending",
    "assignments",
    "answered",
    "spent",
    "budget",
    "reference",
    "is_reference_found",
    "reissues",
    "failed_attempts",
    "failed_in_a_row",
    "told",
    "free_in_a_row",
    "last_reason",
    "follow_ups",
    "queue",
    "enqueued",
    "timed",
    "stop",
    "stopped",
    "chosen",
    "scored",
    "initial",
]


def assert_same(found: History, wanted: History) -> None:
    for name in PARTS:
        assert getattr(found, name) == getattr(wanted, name), name
    assert np.array_equal(found.designs.codes, wanted.designs.codes)
    for p in range(len(wanted.purchases)):
        for of in (History.closed, History.hopeless, History.failed, History.measured):
            assert set(of(found, p).tolist()) == set(of(wanted, p).tolist())
        assert np.array_equal(found.costs(p)[1], wanted.costs(p)[1])
        assert np.array_equal(found.costs(p)[0].codes, wanted.costs(p)[0].codes)
        assert np.array_equal(found.failure_costs(p), wanted.failure_costs(p))
    for j in range(len(wanted.objectives)):
        assert np.array_equal(found.data(j)[1], wanted.data(j)[1])
        assert np.array_equal(found.data(j)[0].codes, wanted.data(j)[0].codes)
        assert (found.known(j), found.first(j)) == (wanted.known(j), wanted.first(j))
    for evaluation in wanted.asked:
        assert found.tokens(evaluation.number) == wanted.tokens(evaluation.number)


def test_a_history_begins_with_a_state_and_goes_on_as_if_it_had_replayed_all_events() -> None:
    study = busy_study()
    assert_same(begun(study.history), study.history)
    for after in range(2, len(study.history.events), 3):
        assert_same(begun(study.history, after), study.history)


def test_the_readings_of_each_design_are_restored() -> None:
    history = busy_study().history
    for found, wanted in zip(begun(history)._objective_records, history._objective_records, strict=True):
        assert (found.counts, found.first, found.latest) == (wanted.counts, wanted.first, wanted.latest)
        assert sum(found.counts.values()) > 0


def test_the_next_question_is_the_same() -> None:
    study = busy_study()
    asked = study._mind.optimizer.ask(study.history)
    assert not isinstance(asked, Stop)
    again = study._mind.optimizer.ask(begun(study.history))
    assert again == asked


@pytest.mark.parametrize("what", ["events", "size", "places", "designs"])
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(what: str) -> None:
    study = busy_study()
    history, state = study.history, packed(study.history)
    events = len(history.events)
    if what == "events":
        events += 1
    elif what == "size":
        state = too_large()
    else:
        with np.load(io.BytesIO(state)) as stored:
            arrays = dict(stored)
        if what == "places":
            arrays["losses-0-places"] = arrays["losses-0-places"] + 1000
        else:
            arrays["codes"] = arrays["codes"][:, :1]
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        state = buffer.getvalue()
    again = History(history.space, history.objectives)
    with pytest.raises(InvalidValueError):
        restore(again, state, events=events, load=lambda start, stop: history.events[start:stop])
    assert (len(again.events), len(again.asked), again.spent) == (0, 0, 0.0)


def too_large() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("facts.npy", b"\0" * (2 * BYTES_BESIDE))
    return buffer.getvalue()
