from __future__ import annotations

import gc
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flexibo.storage import MemoryStorage, Sign
from flexibo.storage.presence import Presence, about_this_process, is_dead

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
    mine = Presence(storage, clock=clock)
    storage.sign("other", elsewhere(3))
    assert mine.gone(["other"]) == {}
    clock.now += 59
    assert mine.gone(["other"]) == {}
    clock.now += 2
    assert mine.gone(["other"]) == {"other": 15.0}


def test_every_new_beat_begins_the_lease_anew() -> None:
    storage, clock = MemoryStorage(), Clock()
    mine = Presence(storage, clock=clock)
    for beat in range(10):
        storage.sign("other", elsewhere(beat))
        assert mine.gone(["other"]) == {}
        clock.now += 50
    assert mine.gone(["other"]) == {}
    clock.now += 61
    assert "other" in mine.gone(["other"])


def test_the_time_of_day_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    storage, clock = MemoryStorage(), Clock()
    mine = Presence(storage, clock=clock)
    storage.sign("other", elsewhere(1))
    assert mine.gone(["other"]) == {}
    monkeypatch.setattr("time.time", lambda: 0.0)
    clock.now += 30
    assert mine.gone(["other"]) == {}
    clock.now += 31
    assert "other" in mine.gone(["other"])


def test_a_worker_that_left_or_never_signed_is_gone_at_once() -> None:
    storage = MemoryStorage()
    mine, other = Presence(storage), Presence(storage)
    other.begin()
    left = other.worker
    assert mine.gone([left, "unheard"]) == {"unheard": None}
    other.leave()
    assert mine.gone([left]) == {left: None}


def test_nobody_takes_itself_for_gone() -> None:
    mine = Presence(MemoryStorage())
    assert mine.gone([mine.worker]) == {}


def test_a_worker_in_memory_leaves_when_it_is_forgotten_and_needs_no_thread() -> None:
    import threading

    storage = MemoryStorage()
    before = threading.active_count()
    presence = Presence(storage)
    presence.begin()
    assert threading.active_count() == before
    (sign,) = storage.workers().values()
    assert sign.lease == math.inf
    del presence
    gc.collect()
    assert storage.workers() == {}


@needs_proc
def test_a_dead_process_of_this_machine_is_seen_at_once() -> None:
    code = "import json; from flexibo.storage.presence import about_this_process as a; print(json.dumps(a()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    import json

    about = json.loads(done.stdout)
    assert is_dead(about)
    storage = MemoryStorage()
    storage.sign("killed", Sign(7, 21.0, 60.0, about))
    assert Presence(storage).gone(["killed"]) == {"killed": 21.0}


@needs_proc
def test_a_living_process_is_not_taken_for_dead() -> None:
    about = about_this_process()
    assert about["pid"] == os.getpid()
    assert not is_dead(about)


@needs_proc
def test_a_number_that_another_process_uses_now_is_a_dead_process() -> None:
    about = about_this_process()
    assert is_dead(about | {"started": about["started"] - 1})


@needs_proc
@pytest.mark.parametrize("change", [{"boot": "another machine"}, {"pids": "another container"}, {"pid": "7"}])
def test_a_process_elsewhere_is_never_called_dead(change: dict[str, str]) -> None:
    assert not is_dead(about_this_process() | {"started": 0} | change)


def test_without_proc_the_lease_decides(tmp_path: Path) -> None:
    about = about_this_process(tmp_path)
    assert set(about) == {"host", "pid"}
    assert not is_dead(about | {"boot": "x", "started": 1}, tmp_path)


def test_signs_are_given_in_the_background_until_the_worker_leaves() -> None:
    import threading

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
    presence = Presence(storage, lease=0.04)  # type: ignore[arg-type]
    presence.begin()
    assert storage.inner.twice.wait(30)
    presence.leave()
    assert storage.inner.beats[:3] == [0, 1, 2]
    assert storage.inner.workers() == {}
