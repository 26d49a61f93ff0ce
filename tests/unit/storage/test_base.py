"""Events and heartbeats in memory, shared by the threads of a process."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from flexibo.storage import MemoryStorage, Sign
from flexibo.storage.base import parsed_object


def test_a_thread_that_decides_has_the_storage_for_itself() -> None:
    storage = MemoryStorage()
    deciding, waited = threading.Event(), threading.Event()
    given: list[Any] = []

    def slow(new: list[dict[str, Any]]) -> list[dict[str, Any]]:
        deciding.set()
        assert not waited.wait(0.02), "the other one waits"
        return [{"n": 0}]

    def other() -> None:
        assert deciding.wait(30)
        storage.commit(0, lambda new: given.extend(new) or [{"n": 1}])
        waited.set()

    thread = threading.Thread(target=other)
    thread.start()
    storage.commit(0, slow)
    thread.join(30)
    assert given == [{"n": 0}]
    assert storage.read() == [{"n": 0}, {"n": 1}]


def test_what_was_handed_out_does_not_change_with_the_storage() -> None:
    storage = MemoryStorage()
    storage.sign("ada", Sign(1, 0.0, 60.0))
    workers, events = storage.workers(), storage.read()
    storage.sign("bob", Sign(1, 0.0, 60.0))
    storage.commit(0, lambda _: [{"n": 0}])
    assert list(workers) == ["ada"]
    assert events == []


def test_an_event_that_is_changed_after_it_was_added_stays_as_it_was() -> None:
    storage, event = MemoryStorage(), {"n": 0}
    storage.commit(0, lambda _: [event])
    event["n"] = 7
    assert storage.read() == [{"n": 0}]


@pytest.mark.parametrize("text", ["", "{", "[1]", "7", None, b"\xff", "[" * 100_000])
def test_what_is_no_stored_object_is_recognised(text: object) -> None:
    assert parsed_object(text) is None
    assert parsed_object('{"n": [1, null]}') == {"n": [1, None]}
