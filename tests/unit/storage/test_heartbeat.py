from __future__ import annotations

import gc
import logging
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.storage.fake_proc import FakeProc

from flexibo.storage import MemoryStorage, Sign, StorageError
from flexibo.storage.heartbeat import Heartbeat, _unsigned
from flexibo.storage.processes import about_this_process

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc on this machine")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def elsewhere(beat: int, lease: float = 60.0) -> Sign:
    return Sign(beat, 5.0 * beat, lease, {"host": "far", "pid": 1})


def test_a_worker_is_gone_when_its_beat_has_not_grown_for_its_lease() -> None:
    storage, clock = MemoryStorage(), Clock()
    mine = Heartbeat(storage, clock=clock)
    storage.sign("other", elsewhere(3))
    assert mine.gone(["other"]) == {}
    clock.now += 59
    assert mine.gone(["other"]) == {}
    clock.now += 2
    assert mine.gone(["other"]) == {"other": 15.0}


def test_every_new_beat_begins_the_lease_anew() -> None:
    storage, clock = MemoryStorage(), Clock()
    mine = Heartbeat(storage, clock=clock)
    for beat in range(10):
        storage.sign("other", elsewhere(beat))
        assert mine.gone(["other"]) == {}
        clock.now += 50
    assert mine.gone(["other"]) == {}
    clock.now += 61
    assert "other" in mine.gone(["other"])


def test_the_time_of_day_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    storage, clock = MemoryStorage(), Clock()
    mine = Heartbeat(storage, clock=clock)
    storage.sign("other", elsewhere(1))
    assert mine.gone(["other"]) == {}
    monkeypatch.setattr("time.time", lambda: 0.0)
    clock.now += 30
    assert mine.gone(["other"]) == {}
    clock.now += 31
    assert "other" in mine.gone(["other"])


def test_a_worker_that_left_or_never_signed_is_gone_at_once() -> None:
    storage = MemoryStorage()
    mine, other = Heartbeat(storage), Heartbeat(storage)
    other.begin()
    left = other.worker
    assert mine.gone([left, "unheard"]) == {"unheard": None}
    other.leave()
    assert mine.gone([left]) == {left: None}


def test_nobody_takes_itself_for_gone() -> None:
    mine = Heartbeat(MemoryStorage())
    assert mine.gone([mine.worker]) == {}


def test_a_worker_in_memory_leaves_when_it_is_forgotten_and_needs_no_thread() -> None:
    storage = MemoryStorage()
    before = threading.active_count()
    heartbeat = Heartbeat(storage)
    heartbeat.begin()
    assert threading.active_count() == before
    (sign,) = storage.workers().values()
    assert sign.lease == math.inf
    worker = heartbeat.worker
    del heartbeat
    gc.collect()
    assert Heartbeat(storage).gone([worker]) == {worker: None}
    assert storage.workers() == {}


def test_a_worker_in_memory_is_forgotten_without_waiting_for_the_lock_of_its_storage() -> None:
    storage = MemoryStorage()
    heartbeat = Heartbeat(storage)
    heartbeat.begin()
    held, done = threading.Event(), threading.Event()

    def hold(_: list[dict[str, object]]) -> list[dict[str, object]]:
        held.set()
        assert done.wait(5)
        return []

    holder = threading.Thread(target=storage.commit, args=(0, hold))
    holder.start()
    assert held.wait(5)
    start = time.monotonic()
    del heartbeat
    gc.collect()
    assert time.monotonic() - start < 4
    done.set()
    holder.join()


@needs_proc
def test_a_dead_process_of_this_machine_is_gone_at_once() -> None:
    storage, about = MemoryStorage(), about_this_process()
    storage.sign("killed", Sign(7, 21.0, 60.0, about | {"started": about["started"] - 1}))
    assert Heartbeat(storage).gone(["killed"]) == {"killed": 21.0}


@needs_proc
def test_a_process_that_is_seen_alive_is_not_gone_however_long_it_gives_no_beat() -> None:
    storage, clock = MemoryStorage(), Clock()
    mine = Heartbeat(storage, clock=clock)
    storage.sign("busy", Sign(3, 5.0, 60.0, about_this_process()))
    for _ in range(5):
        assert mine.gone(["busy"]) == {}
        clock.now += 1000


@pytest.mark.parametrize("visible", ["running", "stopped", "hidden"])
def test_where_a_process_cannot_be_judged_its_lease_decides(tmp_path: Path, visible: str) -> None:
    proc, storage, clock = FakeProc(tmp_path), MemoryStorage(), Clock()
    about = proc.add(77)
    mine = Heartbeat(storage, clock=clock, proc=tmp_path, kill=proc.kill)
    storage.sign("other", Sign(3, 5.0, 60.0, about))
    clock.now += 1000
    assert mine.gone(["other"]) == {}
    if visible == "stopped":
        proc.show(77, "T")
    elif visible == "hidden":
        proc.hide(77)
    clock.now += 59  # from the last look that saw it alive
    assert mine.gone(["other"]) == {}
    clock.now += 2
    assert mine.gone(["other"]) == ({} if visible == "running" else {"other": 5.0})


def test_signs_are_given_in_the_background_until_the_worker_leaves() -> None:
    class Told(MemoryStorage):
        def __init__(self) -> None:
            super().__init__()
            self.beats: list[int] = []
            self.twice = threading.Event()

        def sign(self, worker: str, sign: Sign | None) -> None:
            super().sign(worker, sign)
            if sign is not None:
                self.beats.append(sign.beat)
                if sign.beat >= 2:
                    self.twice.set()

    class Wrapped:
        """Told, but no MemoryStorage."""

        def __init__(self) -> None:
            self.inner = Told()

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    storage = Wrapped()
    heartbeat = Heartbeat(storage, lease=0.04)  # type: ignore[arg-type]
    heartbeat.begin()
    assert storage.inner.twice.wait(30)
    heartbeat.leave()
    assert storage.inner.beats[:3] == [0, 1, 2]
    assert storage.inner.workers() == {}


class Slow:
    """Keeps signs, after what it is told to do before each; no MemoryStorage, so a thread signs."""

    def __init__(self, before: Callable[[Sign | None], object]) -> None:
        self.before, self.kept = before, {}  # type: ignore[var-annotated]

    def sign(self, worker: str, sign: Sign | None) -> None:
        self.before(sign)
        if sign is None:
            self.kept.pop(worker, None)
        else:
            self.kept[worker] = sign

    def workers(self) -> dict[str, Sign]:
        return dict(self.kept)


def test_a_sign_off_that_the_storage_refused_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = [StorageError("The server is away.")] * 3
    monkeypatch.setattr("flexibo.storage.heartbeat.LEAST_PAUSE", 0.0)

    def refuse(sign: Sign | None) -> None:
        if sign is None and refusals:
            raise refusals.pop()

    storage = Slow(refuse)
    before = set(signs_threads())
    heartbeat = Heartbeat(storage, lease=0.04)  # type: ignore[arg-type]
    heartbeat.begin()
    (thread,) = set(signs_threads()) - before
    heartbeat.leave()
    thread.join(30)
    assert (storage.kept, refusals) == ({}, [])


@needs_proc
def test_a_worker_of_this_process_that_left_is_gone_even_if_its_storage_refuses_the_sign_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("flexibo.storage.heartbeat.LEAST_PAUSE", 0.0)
    is_lost = [True]

    def refuse(sign: Sign | None) -> None:
        if sign is None and is_lost:
            raise StorageError("The file was overwritten.")

    storage = Slow(refuse)
    before = set(signs_threads())
    first, later = (Heartbeat(storage, lease=0.04) for _ in range(2))  # type: ignore[arg-type]
    first.begin()
    (thread,) = set(signs_threads()) - before
    worker = first.worker
    assert later.gone([worker]) == {}
    first.leave()
    assert worker in storage.kept
    assert later.gone([worker]).keys() == {worker}
    is_lost.clear()
    thread.join(30)
    assert (storage.kept, _unsigned) == ({}, set())


def signs_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "flexibo-signs"]


def test_a_forgotten_worker_leaves_without_keeping_the_collector() -> None:
    free = threading.Event()
    storage = Slow(lambda sign: sign is not None or free.wait(30))
    before = set(signs_threads())
    heartbeat = Heartbeat(storage)  # type: ignore[arg-type]
    heartbeat.begin()
    (thread,) = set(signs_threads()) - before
    start = time.monotonic()
    del heartbeat
    gc.collect()
    assert time.monotonic() - start < 20  # the storage keeps it for 30
    assert len(storage.kept) == 1
    free.set()
    thread.join(30)
    assert storage.kept == {}


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_no_error_of_a_storage_ends_the_signs_or_is_printed(caplog: pytest.LogCaptureFixture) -> None:
    signed = threading.Event()

    def broken(sign: Sign | None) -> None:
        if sign is None or sign.beat == 1:
            raise RuntimeError("closed")
        if sign.beat >= 2:
            signed.set()

    heartbeat = Heartbeat(Slow(broken), lease=0.04)  # type: ignore[arg-type]
    with caplog.at_level(logging.DEBUG, logger="flexibo.storage.heartbeat"):
        heartbeat.begin()
        assert signed.wait(30)
        heartbeat.leave()
    assert {record.levelno for record in caplog.records} == {logging.DEBUG}


AT_EXIT = """
import sys
from flexibo.storage.heartbeat import Heartbeat, _unsigned
from flexibo.storage.sql import SQLStorage
kept = []
for n in range(3):
    heartbeat = Heartbeat(SQLStorage(sys.argv[1], "study"))
    heartbeat.begin()
    if n:
        kept.append(heartbeat)
assert len(SQLStorage(sys.argv[1], "study").workers()) >= 2
"""


def test_the_end_of_a_process_waits_for_the_last_signs_and_prints_nothing(tmp_path: Path) -> None:
    from flexibo.storage.sql import SQLStorage

    url = f"sqlite:///{tmp_path / 'study.db'}"
    done = subprocess.run([sys.executable, "-c", AT_EXIT, url], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert SQLStorage(url, "study").workers() == {}


def test_the_sign_of_a_vanished_worker_is_removed_once_it_is_forgotten() -> None:
    storage, clock = MemoryStorage(), Clock()
    mine = Heartbeat(storage, clock=clock)
    storage.sign("other", elsewhere(3))
    mine.gone(["other"])
    clock.now += 61
    assert "other" in mine.gone(["other"])
    mine.forget("other")
    assert storage.workers() == {}
    storage.sign("other", elsewhere(3))  # what was forgotten is watched anew
    assert mine.gone(["other"]) == {}


@needs_proc
def test_the_sign_of_a_dead_process_is_removed_once_it_is_forgotten() -> None:
    storage = MemoryStorage()
    mine = Heartbeat(storage)
    about = about_this_process()
    storage.sign("killed", Sign(7, 21.0, 60.0, about | {"started": about["started"] - 1}))
    assert mine.gone(["killed"]) == {"killed": 21.0}
    mine.forget("killed")
    assert storage.workers() == {}


def test_a_worker_that_signed_again_or_was_never_judged_keeps_its_sign() -> None:
    storage, clock = MemoryStorage(), Clock()
    mine = Heartbeat(storage, clock=clock)
    storage.sign("other", elsewhere(3))
    storage.sign("unknown", elsewhere(3))
    mine.gone(["other"])
    clock.now += 61
    assert "other" in mine.gone(["other"])
    storage.sign("other", elsewhere(4))
    mine.forget("other")
    mine.forget("unknown")
    assert set(storage.workers()) == {"other", "unknown"}


def test_a_sign_that_cannot_be_removed_is_no_error() -> None:
    def refuse(sign: Sign | None) -> None:
        if sign is None:
            raise StorageError("The disk is full.")

    storage, clock = Slow(refuse), Clock()
    mine = Heartbeat(storage, clock=clock)  # type: ignore[arg-type]
    storage.sign("other", elsewhere(3))
    mine.gone(["other"])
    mine.forget("other")
    assert set(storage.workers()) == {"other"}


def test_workers_that_left_are_not_watched_for_ever() -> None:
    storage = MemoryStorage()
    mine = Heartbeat(storage)
    for n in range(100):
        storage.sign(f"w{n}", elsewhere(n))
        mine.gone([f"w{n}"])
        storage.sign(f"w{n}", None)
    assert len(mine._watched) <= 1


FORK_PRESENCE = """
import os, sys, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from flexibo.storage.heartbeat import Heartbeat, _unsigned
from flexibo.storage.sql import SQLStorage
storage = SQLStorage(sys.argv[1], "study")
heartbeat = Heartbeat(storage, lease=0.01)  # its thread is always about to sign
heartbeat.begin()
parent = heartbeat.worker
children = []
for _ in range(5):
    if not (child := os.fork()):
        heartbeat.begin()
        assert heartbeat.worker != parent
        assert {parent, heartbeat.worker} <= set(storage.workers())
        heartbeat.leave()
        storage.close()
        sys.exit(0)
    children.append(child)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
assert codes == [0] * 5, codes
assert set(storage.workers()) == {parent}
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this machine")
def test_a_forked_process_is_a_worker_of_its_own_and_comes_to_its_end(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    done = subprocess.run([sys.executable, "-c", FORK_PRESENCE, url], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
