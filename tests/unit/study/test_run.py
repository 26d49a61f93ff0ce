"""The loop of a running study: filling slots, waiting for others, storing what was paid for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from flexibo import Objective, Study
from flexibo.errors import InvalidTypeError, MachineError
from flexibo.executors import Measure, Outcome, measured
from flexibo.history.events import Evaluation, Released, Told
from flexibo.optimizer import StopKind
from flexibo.storage import MemoryStorage, StorageError
from flexibo.study._run import RunLoop

FUNCTIONS: dict[str, Any] = {"a": lambda d: (d["x"], 5.0), "b": lambda d: (1.0 - d["x"], 1.0)}


class Slots:
    """Runs what was submitted when it is asked for what is finished; the last submitted comes back first."""

    def __init__(self, **slots: int) -> None:
        self.slots = slots
        self.running: list[tuple[Evaluation, Objective, Measure]] = []
        self.most: dict[str, int] = dict.fromkeys(slots, 0)
        self.waits: list[float | None] = []

    def has_room(self, objective: Objective) -> bool:
        return sum(o.name == objective.name for _, o, _ in self.running) < self.slots[objective.name]

    def submit(self, evaluation: Evaluation, objective: Objective, measure: Measure) -> None:
        assert self.has_room(objective)
        self.running.append((evaluation, objective, measure))
        for name in self.most:
            self.most[name] = max(self.most[name], sum(o.name == name for _, o, _ in self.running))

    def is_busy(self) -> bool:
        return bool(self.running)

    def finished(self, wait: float | None = None) -> Iterable[Outcome]:
        self.waits.append(wait)
        evaluation, objective, measure = self.running.pop()
        return [measured(evaluation, objective, measure)]

    def close(self) -> None:
        self.running.clear()


def patient(monkeypatch: pytest.MonkeyPatch, **defaults: Any) -> None:
    """Let the loop of a study wait by another clock."""
    assert RunLoop.__init__.__kwdefaults__ is not None
    for name, value in defaults.items():
        monkeypatch.setitem(RunLoop.__init__.__kwdefaults__, name, value)


def line(**settings: Any) -> Study:
    """A small study of random questions: the loop does not depend on the method."""
    default = {"seed": 0, "n_initial": 3, "candidates": 60, "method": "random"}
    return Study({"x": (0.0, 1.0)}, ["a", "b"], **(default | settings))


def test_every_slot_is_kept_full_and_objectives_mix() -> None:
    executor = Slots(a=1, b=2)
    study = line(budget=30, method="flexibo")
    study.run(FUNCTIONS, executor=executor)
    assert executor.most == {"a": 1, "b": 2}
    assert 24 < study.spent <= 30
    assert study.pending == ()


def test_one_who_is_alone_waits_as_long_as_it_takes() -> None:
    executor = Slots(a=1, b=1)
    line(budget=30).run(FUNCTIONS, executor=executor)
    assert set(executor.waits) == {None}


def test_parallel_workers_overdraw_a_budget_by_no_more_than_they_mispredict() -> None:
    study = line(budget=100)
    study.run(FUNCTIONS, executor=Slots(a=2, b=2))
    assert study.spent <= 100


def test_a_fault_of_the_machine_gives_back_all_that_was_submitted() -> None:
    study = line(budget=60)

    def broken(design: Any) -> float:
        raise MachineError("No meter.")

    with pytest.raises(MachineError, match="No meter"):
        study.run({"a": FUNCTIONS["a"], "b": broken}, executor=Slots(a=2, b=2))
    assert study.pending == ()
    released = [event for event in study.events if isinstance(event, Released)]
    assert len(released) >= 2
    assert {event.reason for event in released} == {"No meter."}


class Refusing(MemoryStorage):
    """Refuses this many answers, as a full disk does."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def commit(self, after: int, decide: Any) -> None:
        def decided(new: Any) -> Any:
            events = decide(new)
            if self.times and any(event["event"] == "told" for event in events):
                self.times -= 1
                raise StorageError("The disk is full. Nothing was changed.")
            return events

        super().commit(after, decided)


def test_what_was_measured_is_stored_as_soon_as_there_is_room_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.study._run.STORE_AGAIN_SECONDS", (0.0, 0.0, 0.0))
    calls: list[Any] = []
    study = line(budget=20, storage=Refusing(3))
    study.run({"a": lambda d: (calls.append(d), FUNCTIONS["a"](d))[1], "b": FUNCTIONS["b"]})
    assert study.spent <= 20
    assert len(calls) == sum(isinstance(e, Told) and "a" in e.values for e in study.events)


def test_what_cannot_be_stored_is_written_out_for_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.study._run.STORE_AGAIN_SECONDS", (0.0,))
    study = line(budget=20, storage=Refusing(99))
    with pytest.raises(StorageError, match=r"Evaluation 0.*\{'a': 0\.6369.*'x': 0\.6369.*cost of 5\b.*disk is full"):
        study.run(FUNCTIONS)
    assert study.pending == ()


def test_it_waits_for_what_others_measure_and_then_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    naps: list[float] = []
    storage = MemoryStorage()
    mine, other = line(storage=storage, budget=30), line(storage=storage, budget=30)
    held = other.ask(6)

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            for evaluation in held:
                value, cost = FUNCTIONS[evaluation.objective](evaluation.design)
                other.tell(evaluation, value, cost=cost)

    patient(monkeypatch, sleep=nap)
    mine.shared = True
    mine.run(FUNCTIONS)
    assert len(naps) == 3
    assert mine.spent > 25


def test_it_does_not_wait_longer_than_it_may_be_idle_and_says_once_what_it_waits_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "flexibo.study.waiting")
    now = [0.0]
    patient(monkeypatch, clock=lambda: now[0], sleep=lambda s: now.__setitem__(0, now[0] + s))
    storage = MemoryStorage()
    mine, other = line(storage=storage), line(storage=storage)
    assert len(other.ask(6)) == 6
    mine.shared = True
    mine.run(FUNCTIONS, idle=10)
    assert mine.stop_kind is StopKind.IDLE
    assert "10 s" in mine.stopped
    assert now[0] == pytest.approx(10)
    (said,) = (record.getMessage() for record in caplog.records if record.name == "flexibo.study.waiting")
    assert said.partition(": ")[2] == mine.stopped.partition(": ")[2] != ""


def test_functions_of_some_objectives_are_enough_where_others_can_help(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidTypeError, match="has no function"):
        line().run({"b": FUNCTIONS["b"]})
    storage = MemoryStorage()
    board, trainer = line(storage=storage, budget=60), line(storage=storage, budget=60)

    def others_work(seconds: float) -> None:
        evaluation = trainer.ask(only=["a"])
        if evaluation is not None:
            trainer.tell(evaluation, *FUNCTIONS["a"](evaluation.design)[:1], cost=5.0)

    patient(monkeypatch, sleep=others_work)
    board.shared = True
    with pytest.raises(InvalidTypeError, match="given no function"):
        board.run({})
    board.run({"b": FUNCTIONS["b"]})
    assert board.history.count(0) >= 3
    assert board.history.count(1) > 3
    assert board.spent <= 60


def test_what_was_fetched_before_an_interrupt_is_stored() -> None:
    class AllAtOnce(Slots):
        measures_elsewhere = True

        def finished(self, wait: float | None = None) -> list[Outcome]:
            done = [measured(*job) for job in self.running]
            self.running.clear()
            return done

    calls: list[Any] = []

    def interrupt(study: Study, event: object) -> None:
        if isinstance(event, Told) and event.number == 2:
            raise KeyboardInterrupt

    study = line(budget=200, callbacks=interrupt)
    executor = AllAtOnce(a=2, b=2)
    study.run({"a": lambda d: (calls.append(d), FUNCTIONS["a"](d))[1], "b": FUNCTIONS["b"]}, executor=executor)
    assert study.stop_kind is StopKind.INTERRUPTED
    assert len(calls) == study.history.count(0)
    assert not any(isinstance(event, Released) for event in study.events)
