"""Ctrl-C and errors of the storage during `ask`: nothing stays claimed that the caller did not get."""

from __future__ import annotations

import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tests.postgres import server

from flexibo import Evaluation, Study
from flexibo.history.events import Asked, Released
from flexibo.storage import MemoryStorage, StorageError, open_storage

# Python drops an interrupt that comes while it closes a generator; the call then goes on.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
SPACE = {"x": (0.0, 1.0), "k": [1, 2, 3]}
SETTINGS: dict[str, Any] = {"seed": 3, "n_initial": 1, "candidates": 20, "method": "random"}


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "memory":
        return MemoryStorage()
    url = f"sqlite:///{tmp_path / 'study.db'}" if request.param == "sqlite" else server().new_database()
    return open_storage(url, "study")


def opened(storage: Any, **settings: Any) -> Study:
    """A study whose initial design is measured."""
    study = Study(SPACE, ["a", "b"], storage=storage, **(SETTINGS | settings))
    while (evaluation := study.ask()) is not None and evaluation.initial:
        tell(study, evaluation)
    assert evaluation is not None
    study.release(evaluation)
    return study


def tell(study: Study, evaluation: Evaluation) -> None:
    x = evaluation.design["x"]
    study.tell(evaluation, x if evaluation.objective == "a" else 1.0 - x, cost=1.0)


class Counter:
    """Counts the places where Python looks for signals: a function begins, or one written in C returns."""

    def __init__(self, at: float) -> None:
        self.at, self.count = at, 0

    def __call__(self, _frame: FrameType, event: str, _argument: object) -> None:
        if event in ("call", "c_return"):
            self.count += 1
            if self.count == self.at:
                signal.raise_signal(signal.SIGINT)


@contextmanager
def interrupted(at: float) -> Iterator[Counter]:
    """Ctrl-C at one of these places."""
    counter = Counter(at)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.setprofile(counter)
    try:
        yield counter
    finally:
        sys.setprofile(None)
        signal.signal(signal.SIGINT, before)


def places(study: Study, most: int) -> list[int]:
    """Places for an interrupt all over an `ask`, drawn at random."""
    with interrupted(float("inf")) as counter:
        evaluation = study.ask()
    assert evaluation is not None
    study.release(evaluation)
    # The first call may load modules, and so do more than the others.
    return sorted(random.Random(0).sample(range(1, counter.count), min(most, counter.count - 1)))


def held(storage: Any) -> list[int]:
    """What is pending, as another process sees it."""
    study = Study.load(storage)
    study.refresh()
    return [evaluation.number for evaluation in study.pending]


def interrupts(study: Study, storage: Any, at: list[int], ask: Callable[[], Any]) -> int:
    """How many of these interrupts came after a claim was made; nothing may stay claimed after any of them."""
    claims = 0
    for place in at:
        before, got = len(study.events), None
        try:
            with interrupted(place):
                got = ask()
        except KeyboardInterrupt:
            pass
        found = [got] if isinstance(got, Evaluation) else got or []
        assert held(storage) == [evaluation.number for evaluation in found], place
        claims += not found and any(isinstance(event, Asked) for event in study.events[before:])
        for evaluation in found:
            study.release(evaluation)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return claims


def test_an_interrupted_ask_leaves_nothing_claimed(storage: Any) -> None:
    study = opened(storage)
    claims = interrupts(study, storage, places(study, 100), study.ask)
    assert claims > 5
    evaluation = study.ask()
    assert evaluation is not None
    assert held(storage) == [evaluation.number]


def test_several_evaluations_are_all_given_back(storage: Any) -> None:
    study = opened(storage)
    interrupts(study, storage, [8 * place for place in places(study, 12)], lambda: study.ask(8))
    assert len(study.ask(8)) == 8


def test_what_was_interrupted_while_it_computed_asks_the_same_afterwards() -> None:
    storage = MemoryStorage()
    study = opened(storage, method="flexibo", n_initial=3, candidates=30)
    for place in places(study, 25):
        try:
            with interrupted(place):
                got = study.ask()
            assert got is not None
            study.release(got)
        except KeyboardInterrupt:
            pass
        fresh = Study.load(copied(storage))
        mine, other = study.ask(), fresh.ask()
        assert mine is not None
        assert mine == other
        tell(study, mine)


def copied(storage: MemoryStorage) -> MemoryStorage:
    copy = MemoryStorage()
    copy.commit(0, lambda _: storage.read())
    return copy


class Doubtful(MemoryStorage):
    """Fails after it has written, or before, when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.fails = ""

    def commit(self, after: int, decide: Any) -> None:
        fails, self.fails = self.fails, ""
        if fails == "before":
            decide(self.read(after))
            raise StorageError("The server is away.")
        super().commit(after, decide)
        if fails == "after":
            raise StorageError("The server is away; it is unknown whether the events were stored.")


@pytest.mark.parametrize("fails", ["before", "after"])
def test_a_claim_in_doubt_is_returned_by_the_next_ask(fails: str) -> None:
    storage = Doubtful()
    study = opened(storage)
    asked = len(study.history.asked)
    storage.fails = fails
    with pytest.raises(StorageError):
        study.ask()
    assert held(storage) == ([asked] if fails == "after" else [])
    evaluation, second = study.ask(), study.ask()
    assert evaluation is not None
    assert second is not None
    assert (evaluation.number, second.number) == (asked, asked + 1)
    assert not any(isinstance(event, Released) for event in study.events[-2:])


def test_a_claim_in_doubt_that_does_not_fit_the_next_ask_is_given_back() -> None:
    storage = Doubtful()
    study = opened(storage)
    storage.fails = "after"
    with pytest.raises(StorageError):
        study.ask(only=["a"])
    (doubtful,) = held(storage)
    evaluation = study.ask(only=["b"])
    assert evaluation is not None
    assert evaluation.objective == "b"
    assert held(storage) == [evaluation.number] != [doubtful]


def test_an_evaluation_of_a_lost_worker_whose_claim_is_in_doubt_can_be_answered() -> None:
    storage = Doubtful()
    gone, study = opened(storage), Study.load(storage)
    lost = gone.ask()
    assert lost is not None
    gone.close()
    storage.fails = "after"
    with pytest.raises(StorageError):
        study.ask()
    evaluation = study.ask()
    assert evaluation is not None
    assert (evaluation.number, evaluation.design) == (lost.number, lost.design)
    tell(study, evaluation)
    assert held(storage) == []
    assert study.history.answered.keys() >= {lost.number}


def test_a_claim_in_doubt_of_a_run_is_measured_by_the_next_one() -> None:
    storage = Doubtful()
    study = opened(storage, stop={"max_evaluations": 12})
    storage.fails = "after"
    functions = {"a": lambda design: (design["x"], 1.0), "b": lambda design: (1.0 - design["x"], 1.0)}
    with pytest.raises(StorageError):
        study.run(functions)
    study.run(functions)
    assert held(storage) == []
    assert len(study.history.asked) == 12
    assert study.history.answered.keys() >= set(range(3, 12))


@pytest.mark.slow
def test_real_interrupts_at_random_moments_leave_nothing_claimed(storage: Any) -> None:
    study, rng = opened(storage), random.Random(1)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    begin = time.perf_counter()
    for _ in range(10):
        evaluation = study.ask()
        assert evaluation is not None
        study.release(evaluation)
    longest = 1.5 * (time.perf_counter() - begin) / 10
    seen = 0
    try:
        for _ in range(120):
            got: Evaluation | None = None
            timer = threading.Timer(rng.uniform(0.0, longest), signal.raise_signal, [signal.SIGINT])
            try:
                timer.start()
                got = study.ask()
                timer.join()
            except KeyboardInterrupt:
                seen += got is None
            assert held(storage) == ([] if got is None else [got.number])
            if got is not None:
                study.release(got)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen > 3  # of a quick storage most come too late
