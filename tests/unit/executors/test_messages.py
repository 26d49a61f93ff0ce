"""Evaluations on their way to workers, and what is said about them on the way back."""

from __future__ import annotations

import pickle
import platform
import re
import threading

import pytest
from tests.unit.executors.questions import ERROR, TRAINED, one, question

from flexibo import Design, Objective
from flexibo.errors import InvalidTypeError
from flexibo.executors import Outcome
from flexibo.executors._messages import (
    HERE,
    LOAD_SECONDS,
    ClusterTask,
    Fault,
    Loaded,
    MeasuringBegan,
    MessageReader,
    Recent,
    WorkerAnswer,
    encoded,
    loaded,
    overdue,
    packed,
    task_of,
)
from flexibo.history.events import FailureKind


def test_frames_come_together_byte_by_byte() -> None:
    sent = encoded(MeasuringBegan(1.0)) + encoded(Fault("x" * 1000))
    frames = MessageReader()
    assert [message for byte in sent for message in frames.feed(bytes([byte]))] == [
        MeasuringBegan(1.0),
        Fault("x" * 1000),
    ]


def test_parent_and_worker_forget_the_same_functions() -> None:
    recent: Recent[int] = Recent(2)
    for number, name in enumerate("abac"):
        recent.use(name, number)
    assert [recent.get(name) for name in "abc"] == [2, None, 3]


def test_the_timeout_counts_from_when_the_measuring_began() -> None:
    job = packed(question(), Objective("error", timeout=10), one)
    job.since = 100.0
    assert job.ends_at(grace=2.0) == 112.0 + LOAD_SECONDS
    reason, kind = overdue(job)
    assert kind is FailureKind.LOST
    assert f"{LOAD_SECONDS:g} s" in reason
    job.has_begun = True
    assert job.ends_at(grace=2.0) == 112.0
    reason, kind = overdue(job)
    assert kind is FailureKind.TIMEOUT
    assert "10 s" in reason


def test_without_a_timeout_an_evaluation_may_run_for_ever() -> None:
    assert packed(question(), ERROR, one).ends_at(grace=2.0) is None


def test_a_task_brings_its_function_once() -> None:
    calls: list[int] = []

    def measure(design: Design) -> float:
        calls.append(1)
        return float(len(calls))

    job = packed(question(3), TRAINED, measure)
    assert loaded(task_of("3-a", job, with_function=False)) is None
    first = loaded(pickle.loads(pickle.dumps(task_of("3-a", job, with_function=True))))
    again = loaded(task_of("3-b", job, with_function=False))
    assert isinstance(first, Loaded)
    assert isinstance(again, Loaded)
    assert (first.evaluation, first.objective) == (job.evaluation, TRAINED)
    assert [first.measure(Design({})), again.measure(Design({}))] == [1.0, 2.0]  # the same function, with its memory


def test_another_python_and_what_cannot_be_loaded_are_told_in_a_sentence() -> None:
    other = ClusterTask("0-a", "error", (HERE[0], HERE[1] + 1), "other", b"junk", b"junk")
    reply = loaded(other)
    assert isinstance(reply, Fault)
    assert re.search(rf"Python {HERE[0]}\.{HERE[1]}, .*study {HERE[0]}\.{HERE[1] + 1};", reply.reason)
    reply = loaded(ClusterTask("0-a", "error", HERE, "junk", b"cnowhere\nf\n.", b""))
    assert isinstance(reply, Fault)
    assert re.search(f"'error' .*{platform.node()} .*ModuleNotFoundError.*'nowhere'", reply.reason)


def test_a_function_is_packed_anew_every_time_because_what_it_uses_may_have_changed() -> None:
    offset = [1.0]

    def measure(design: Design) -> float:
        return offset[0]

    first = packed(question(), ERROR, measure)
    assert packed(question(1), ERROR, measure).digest == first.digest
    offset[0] = 2.0
    again = packed(question(), ERROR, measure)
    assert again.digest != first.digest
    assert [pickle.loads(job.function)(Design({})) for job in (first, again)] == [1.0, 2.0]


def test_what_cannot_be_packed_is_named_with_the_reason() -> None:
    lock = threading.Lock()
    with pytest.raises(InvalidTypeError, match=r"'energy' .*\(.*lock.*\)"):
        packed(question(objective="energy"), Objective("energy"), lambda design: lock)


def test_an_answer_is_an_outcome_without_its_evaluation() -> None:
    outcome = Outcome(question(4), None, 2.5, "It is too hot.", timed=False, impossible=True)
    assert WorkerAnswer.of(outcome).outcome(question(4)) == outcome
    assert not hasattr(WorkerAnswer.of(outcome), "evaluation")
