"""A copy that grows with the stored study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flexibo import Study
from flexibo.dashboard.follower import GrowingCopy
from flexibo.transfer import records, study_copy

Functions = dict[str, Callable[..., object]]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/study.db"


def test_a_copy_that_grows_is_the_copy_that_is_made_at_once(
    make_study: Callable[..., Study], functions: Functions, url: str
) -> None:
    make_study(storage=url, budget=60).run(functions)
    whole = study_copy(url)
    growing = GrowingCopy(dict(whole.contents[0]), "study")
    for i in range(1, len(whole.contents), 7):
        growing.learn(whole.contents[i : i + 7])
    assert len(growing) == len(whole.contents)
    assert growing.records == records(whole.study.history, whole.times)
    assert growing.study.front() == whole.study.front()
    assert growing.study.spent == whole.study.spent
    assert growing.copy({}).times == whole.times


def test_changes_are_the_evaluations_that_are_new_or_have_another_state(
    make_study: Callable[..., Study], url: str
) -> None:
    with make_study(storage=url) as study:
        first, second = study.ask(2)
        contents = study_copy(url).contents
        growing = GrowingCopy(dict(contents[0]), "study")
        growing.learn(contents[1:])
        so_far, found = growing.changed(0, 10)
        assert {i: record.state for i, record in found.items()} == {1: "pending", 0: "pending"}
        study.tell(first, 0.5, cost=1.0)
        study.add(second.design, {"joules": 0.25})
        growing.learn(study_copy(url).contents[len(contents) :])
    later, found = growing.changed(so_far, 10)
    assert found[0].state == "measured"
    assert second.number not in found
    assert (found[-1].state, found[-1].design) == ("added", second.design)
    assert growing.changed(later, 10) == (later, {})
    assert list(growing.changed(0, 1)[1]) == list(found)[:1], "the latest ones are kept"
    assert growing.record(0) is found[0]
    assert growing.record(-1) is found[-1]
    assert growing.count_records() == 3
    assert growing.record(2) is None
    assert growing.record(-100) is None
