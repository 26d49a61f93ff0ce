"""What a call of a study claims reaches its caller, or is given back."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tests.unit.study.small_studies import answered, asked, opened, robbed

from flexibo import Study
from flexibo.history.events import Asked, Released
from flexibo.optimizer import Stop, StopKind
from flexibo.storage import MemoryStorage, StorageError


class Failing(MemoryStorage):
    """Fails after the events of these kinds were written."""

    def __init__(self) -> None:
        super().__init__()
        self.failing: set[str] = set()

    def commit(self, known: int, decide: Any) -> None:
        kinds: set[str] = set()

        def decided(new: Any) -> Any:
            events = decide(new)
            kinds.update(event["event"] for event in events)
            return events

        super().commit(known, decided)
        if kinds & self.failing:
            raise StorageError("No acknowledgement.")


def test_a_claim_of_which_the_storage_failed_is_given_back() -> None:
    storage = Failing()
    study = opened(storage)
    storage.failing = {"asked"}
    with pytest.raises(StorageError):
        study.ask()
    storage.failing = set()
    assert study.ask() is not None
    assert len(study.pending) == 1


def test_all_claims_of_a_call_for_several_are_given_back_if_the_last_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    study = opened(MemoryStorage())
    think, calls = study._mind.optimizer.ask, []

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return think(*args, **kwargs)

    monkeypatch.setattr(study._mind.optimizer, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study.ask(5)
    assert study.pending == ()
    assert [type(event) for event in study.events[-4:]] == [Asked, Asked, Released, Released]


def test_an_error_of_giving_back_is_only_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    storage = Failing()
    study = opened(storage)
    held = asked(study)
    storage.failing = {"released"}
    with caplog.at_level(logging.WARNING):
        study._claims().give_back([held.number])
    assert "No acknowledgement." in caplog.text
    study.refresh()
    assert study.pending == ()


def test_a_worker_holds_what_it_was_asked_and_others_were_not() -> None:
    storage = MemoryStorage()
    first, second = opened(storage), opened(storage)
    mine, other = asked(first), asked(second)
    first.refresh()
    assert (first._claims().held(), second._claims().held()) == ({mine.number}, {other.number})
    answered(first, mine)
    assert first._claims().held() == set()


def test_one_that_was_robbed_gives_nothing_back() -> None:
    storage = MemoryStorage()
    first, second = opened(storage), opened(storage)
    lost, again = robbed(storage, first, second)
    first._claims().give_back([lost.number])
    second.refresh()
    assert second.pending == (again,)


@pytest.mark.parametrize("k", [None, 4])
def test_the_stop_of_a_call_is_remembered(k: int | None) -> None:
    study = opened(None, stop={"max_evaluations": 2})
    found = study.ask(2)
    assert (len(found), study.stop_kind) == (2, None)
    assert study.ask(k) == (None if k is None else [])
    assert study.stop_kind is StopKind.RULE


def test_a_call_for_the_queue_alone_says_nothing_of_the_study() -> None:
    study: Study = opened(None)
    assert isinstance(study.ask_queued_or_stop(), Stop)
    assert study.stop_kind is None
