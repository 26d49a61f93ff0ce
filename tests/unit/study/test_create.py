"""A study is created once; whoever opens it later, or at the same time, gets the stored one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.study.small_studies import asked, line, opened

from flexibo import Study
from flexibo.errors import InvalidValueError, SettingsDifferError
from flexibo.history.events import Asked
from flexibo.storage import MemoryStorage


def test_callbacks_see_the_events_of_others_but_not_what_was_there_before() -> None:
    storage = MemoryStorage()
    first = opened(storage)
    seen: list[Any] = []
    second = opened(storage, callbacks=lambda study, event: seen.append(event))
    assert seen == []
    evaluation = asked(first)
    second.refresh()
    assert [type(event) for event in seen] == [Asked]
    assert seen[0].evaluation == evaluation


def test_an_origin_is_kept_with_the_study() -> None:
    storage = MemoryStorage()
    opened(storage, origin={"system": "lenet"})
    assert Study.load(storage).history.origin == {"system": "lenet"}


def test_two_that_begin_the_same_study_at_once_agree_on_what_was_left_to_chance() -> None:
    class Race(MemoryStorage):
        """Another process begins the study between this one's look and its first write."""

        looked = False

        def read(self, after: int = 0) -> list[dict[str, Any]]:
            events = super().read(after)
            if not self.looked and not events:
                self.looked = True
                others.append(opened(self, seed=None))
            return events

    others: list[Study] = []
    storage = Race()
    mine = opened(storage, seed=None)
    assert mine.settings == others[0].settings
    assert asked(mine).design == mine.settings.initial_designs[0]
    assert [event["event"] for event in storage.read()].count("created") == 1


def test_opening_a_study_does_not_take_back_a_budget_that_was_raised(caplog: pytest.LogCaptureFixture) -> None:
    storage = MemoryStorage()
    opened(storage, budget=500).budget = 1200
    assert opened(storage, budget=500).budget == 1200
    assert "larger budget of 1200" in caplog.text
    assert opened(storage, budget=1500).budget == 1500


def test_another_reference_than_the_stored_one_is_refused() -> None:
    storage = MemoryStorage()
    line(storage=storage, reference=[5.0, 5.0])
    line(storage=storage, reference=[5.0, 5.0])
    with pytest.raises(InvalidValueError, match="reference"):
        line(storage=storage, reference=[1.0, 1.0])


def test_a_reference_is_stored_when_a_study_without_one_is_opened_with_it() -> None:
    storage = MemoryStorage()
    line(storage=storage)
    line(storage=storage, reference=[5.0, 4.0])
    assert Study.load(storage).reference == {"a": 5.0, "b": 4.0}
    with pytest.raises(SettingsDifferError, match=r"'a': 5\.0.*'a': 5\.5"):
        line(storage=storage, reference=[5.5, 4.0])
