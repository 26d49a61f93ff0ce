"""Hands: workers that are no process, whose evaluations stay out until they are told or their lease is over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flexibo import Study
from flexibo.errors import InvalidValueError
from flexibo.storage import MemoryStorage, Sign, StorageError, open_storage
from flexibo.storage.heartbeat import (
    Heartbeat,
    about_detached,
    is_detached,
    is_lease_over,
    new_detached_worker,
)
from flexibo.storage.processes import ProcessState, process_state

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc on this machine")
HOUR = 3600.0


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def hand(storage: MemoryStorage, clock: Clock, lease: float = HOUR) -> Heartbeat:
    heartbeat = Heartbeat(storage, lease=lease, detached_worker=new_detached_worker(), clock=clock)
    heartbeat.begin()
    return heartbeat


def elsewhere(storage: MemoryStorage, heartbeat: Heartbeat) -> None:
    """The same hand, as another machine sees it."""
    sign = storage.workers()[heartbeat.worker]
    storage.sign(heartbeat.worker, Sign(sign.beat, sign.seconds, sign.lease, {"host": "far"}))


def test_no_process_stands_behind_a_hand(clock: Clock) -> None:
    storage = MemoryStorage()
    heartbeat = hand(storage, clock)
    sign = storage.workers()[heartbeat.worker]
    assert is_detached(heartbeat.worker)
    assert (sign.beat, sign.lease) == (0, HOUR)
    assert "pid" not in sign.about
    assert process_state(sign.about) is ProcessState.UNKNOWN


def test_a_hand_that_holds_something_stays_when_it_leaves(clock: Clock) -> None:
    storage = MemoryStorage()
    heartbeat = hand(storage, clock)
    heartbeat.leave(holds=True)
    assert Heartbeat(storage, clock=clock).gone([heartbeat.worker]) == {}
    heartbeat.leave()
    assert storage.workers() == {}


@needs_proc
def test_on_its_machine_everybody_sees_at_once_that_its_lease_is_over(clock: Clock) -> None:
    storage = MemoryStorage()
    heartbeat = hand(storage, clock)
    clock.now += HOUR
    assert Heartbeat(storage, clock=clock).gone([heartbeat.worker]) == {}
    clock.now += 1
    assert Heartbeat(storage, clock=clock).gone([heartbeat.worker]) == {heartbeat.worker: 0.0}


def test_elsewhere_the_lease_counts_from_the_first_look(clock: Clock) -> None:
    storage, far = MemoryStorage(), Clock()
    heartbeat = hand(storage, clock)
    elsewhere(storage, heartbeat)
    watcher = Heartbeat(storage, clock=far)
    far.now += 10 * HOUR
    assert watcher.gone([heartbeat.worker]) == {}
    far.now += HOUR
    assert watcher.gone([heartbeat.worker]) == {}
    far.now += 1
    assert watcher.gone([heartbeat.worker]) == {heartbeat.worker: 0.0}


@pytest.mark.parametrize("asked", [None, "yesterday", True, [1], float("nan")])
def test_a_sign_that_says_nothing_sensible_ends_nothing(asked: object, clock: Clock) -> None:
    about = {**about_detached(0.0), "asked": asked}
    assert not is_lease_over(Sign(0, 0.0, 1.0, about), 1e9)


@needs_proc
def test_another_boot_or_container_decides_nothing() -> None:
    about = about_detached(0.0)
    assert is_lease_over(Sign(0, 0.0, 1.0, about), 2.0)
    for change in ({"boot": "another"}, {"pids": "another"}):
        assert not is_lease_over(Sign(0, 0.0, 1.0, about | change), 2.0)


def test_without_proc_the_first_look_counts(tmp_path: Path) -> None:
    about = about_detached(0.0, tmp_path)
    assert set(about) == {"host"}
    assert not is_lease_over(Sign(0, 0.0, 1.0, about_detached(0.0)), 1e9, tmp_path)


def test_only_names_of_hands_are_taken() -> None:
    with pytest.raises(InvalidValueError, match="new_detached_worker"):
        Heartbeat(MemoryStorage(), detached_worker="me")


def test_a_storage_that_fails_when_a_hand_leaves_is_no_error(clock: Clock) -> None:
    class Broken(MemoryStorage):
        def workers(self) -> dict[str, Sign]:
            raise StorageError("The disk is full.")

    hand(Broken(), clock).leave()


class TestInAStudy:
    @pytest.fixture
    def url(self, tmp_path: Path) -> Iterator[str]:
        url = f"sqlite:///{tmp_path / 'study.db'}"
        with Study({"x": [1, 2, 3]}, ["a", "b"], n_initial=3, seed=0, storage=url):
            yield url

    def test_what_it_was_asked_stays_out_when_its_study_is_closed(self, url: str) -> None:
        with Study.load(url, detached_worker=new_detached_worker(), lease=HOUR) as mine:
            evaluation = mine.ask()
        assert evaluation is not None
        with Study.load(url) as other:
            assert [one.number for one in other.ask(5)] == [1, 2, 3, 4, 5]
            assert evaluation.number in other.history.assignments

    def test_a_hand_that_got_nothing_leaves_no_sign(self, url: str) -> None:
        with Study.load(url) as other:
            other.ask(6)
            with Study.load(url, detached_worker=new_detached_worker()) as mine:
                assert mine.ask() is None
            assert not any(map(is_detached, open_storage(url, "study").workers()))

    def test_its_sign_goes_with_its_last_answer(self, url: str) -> None:
        name = new_detached_worker()
        with Study.load(url, detached_worker=name, lease=HOUR) as mine:
            first, second = mine.ask(2)
        for evaluation, left in ((first, True), (second, False)):
            with Study.load(url, detached_worker=name) as mine:
                mine.tell(evaluation, 1.0, cost=1.0)
            assert (name in open_storage(url, "study").workers()) == left
