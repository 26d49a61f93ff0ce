"""Why a study stopped: a kind for programs and a sentence for people, stored when a run ends."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from flexibo import Study
from flexibo._internal.interrupts import Terminated
from flexibo.errors import MachineError
from flexibo.history.events import Stopped
from flexibo.optimizer import Stop, StopKind
from flexibo.storage import MemoryStorage, StorageError

FUNCTIONS: dict[str, Any] = {"a": lambda design: (design["x"], 1.0), "b": lambda design: (1.0 - design["x"], 1.0)}


def opened(storage: Any = None, **settings: Any) -> Study:
    defaults = {"method": "random", "seed": 0, "n_initial": 2, "budget": 10}
    return Study({"x": (0.0, 1.0)}, ["a", "b"], storage=storage, **(defaults | settings))


def stops(study: Study) -> list[Stopped]:
    return [event for event in study.events if isinstance(event, Stopped)]


def test_a_study_that_has_not_run_has_no_stop() -> None:
    study = opened()
    assert (study.stopped, study.stop_kind) == ("", None)
    summary = study.summary()
    assert (summary.stopped, summary.stop_kind) == ("", None)


def test_the_stop_of_a_run_is_stored_and_read_by_who_opens_the_study_later() -> None:
    storage = MemoryStorage()
    study = opened(storage)
    study.run(FUNCTIONS)
    assert study.stop_kind is StopKind.BUDGET
    assert stops(study) == [Stopped("budget", study.stopped)]
    again = Study.load(storage)
    assert (again.stop_kind, again.stopped) == (StopKind.BUDGET, study.stopped)
    summary = again.summary()
    assert (summary.stop_kind, summary.stopped) == (StopKind.BUDGET, study.stopped)
    assert study.stopped in str(summary)


def test_the_same_stop_is_stored_once() -> None:
    storage = MemoryStorage()
    opened(storage).run(FUNCTIONS)
    again = opened(storage)
    again.run(FUNCTIONS)
    assert len(stops(again)) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda study: setattr(study, "budget", 20),
        lambda study: setattr(study, "stop", {"max_evaluations": 50}),
        lambda study: study.add({"x": 0.5}, {"a": 0.5}),
    ],
)
def test_a_stored_stop_holds_until_something_else_happens(change: Callable[[Study], object]) -> None:
    storage = MemoryStorage()
    opened(storage).run(FUNCTIONS)
    study = Study.load(storage)
    study.note("A note changes nothing.")
    assert study.stop_kind is StopKind.BUDGET
    change(study)
    assert study.stop_kind is None
    study.budget = 12
    study.run(FUNCTIONS)
    assert len(stops(study)) == 2


def test_a_stop_decides_no_question() -> None:
    plain, stopped = opened(method="flexibo", candidates=50), opened(method="flexibo", candidates=50)
    for _ in range(8):
        for study in (plain, stopped):
            evaluation = study.ask()
            assert evaluation is not None
            study.tell(evaluation, FUNCTIONS[evaluation.objective](evaluation.design)[0], cost=1.0)
        stopped.record_stop(StopKind.RULE, f"after {len(stopped.events)} events")
    assert len(stops(stopped)) == 8
    assert plain.history.asked == stopped.history.asked


@pytest.mark.parametrize(
    ("error", "kind"), [(KeyboardInterrupt, StopKind.INTERRUPTED), (Terminated, StopKind.TERMINATED)]
)
def test_an_interrupt_has_a_kind(error: type[BaseException], kind: StopKind) -> None:
    def interrupted(design: Any) -> float:
        raise error

    study = opened()
    study.run({"a": interrupted, "b": interrupted}, progress=False)
    assert study.stop_kind is kind
    assert [stop.kind for stop in stops(study)] == [kind.value]


def test_an_error_that_ends_a_run_is_no_stop() -> None:
    def broken(design: Any) -> float:
        raise MachineError("The meter is gone.")

    study = opened()
    with pytest.raises(MachineError):
        study.run({"a": broken, "b": broken})
    assert stops(study) == []


@pytest.mark.parametrize(
    ("stop", "kind"), [({"max_evaluations": 3}, StopKind.RULE), (lambda study: "enough", StopKind.RULE)]
)
def test_a_stop_rule_has_a_kind(stop: Any, kind: StopKind) -> None:
    study = opened(stop=stop)
    study.run(FUNCTIONS)
    assert study.stop_kind is kind


def test_ask_says_why_there_is_nothing_to_ask_and_stores_nothing() -> None:
    study = opened(stop={"max_evaluations": 1})
    assert study.ask() is not None
    assert study.stop_kind is None
    assert study.ask() is None
    assert study.stop_kind is StopKind.RULE
    assert isinstance(study.ask_or_stop(), Stop)
    assert stops(study) == []


def test_a_storage_that_cannot_store_the_stop_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    class Full(MemoryStorage):
        def commit(self, known: int, decide: Any) -> None:
            def refusing(new: Any) -> Any:
                events = decide(new)
                if any(event["event"] == "stopped" for event in events):
                    raise StorageError("Disk full.")
                return events

            super().commit(known, refusing)

    study = opened(Full())
    study.run(FUNCTIONS)
    assert study.stop_kind is StopKind.BUDGET
    assert stops(study) == []
    assert "Disk full." in caplog.text


def test_a_stop_of_an_unknown_kind_is_refused() -> None:
    storage = MemoryStorage()
    opened(storage)
    storage.commit(2, lambda _: [{"event": "stopped", "kind": "weary", "reason": "It was late."}])
    with pytest.raises(StorageError, match="'weary'"):
        Study.load(storage)


@pytest.mark.parametrize("rule", [None, {"max_evaluations": 6}, lambda study: len(study.events) > 20])
def test_a_forgotten_study_is_collected_at_once(rule: Any) -> None:
    gc.disable()
    try:
        study = opened(stop=rule, callbacks=lambda study, event: None)
        study.run(FUNCTIONS)
        forgotten = weakref.ref(study)
        del study
        assert forgotten() is None
    finally:
        gc.enable()


def test_a_stop_ends_in_the_study_that_ran_too_when_something_happens() -> None:
    study = opened(MemoryStorage())
    study.run(FUNCTIONS)
    study.budget = 20
    assert (study.stop_kind, study.stopped) == (None, "")


def test_a_study_takes_the_later_stop_of_another_process() -> None:
    storage = MemoryStorage()
    study = opened(storage)
    study.run(FUNCTIONS)
    other = Study.load(storage)
    other.budget = 20
    other.run(FUNCTIONS)
    study.refresh()
    assert study.stopped == other.stopped != ""


def test_a_reason_whose_text_varies_is_stored_once() -> None:
    study = opened(MemoryStorage())
    for seconds in range(4):
        study.record_stop(StopKind.RULE, f"{seconds} s have passed.")
    assert [stop.reason for stop in stops(study)] == ["0 s have passed."]
    assert study.stopped == "3 s have passed."


@pytest.mark.parametrize("kind", [StopKind.IDLE, StopKind.WAITING])
def test_what_only_concerns_one_process_is_not_stored(kind: StopKind) -> None:
    storage = MemoryStorage()
    study = opened(storage)
    study.record_stop(kind, "There was nothing to do.")
    assert study.stop_kind is kind
    assert Study.load(storage).stop_kind is None


def test_callbacks_must_be_callable() -> None:
    with pytest.raises(TypeError, match="callbacks is 5"):
        opened(callbacks=5)
