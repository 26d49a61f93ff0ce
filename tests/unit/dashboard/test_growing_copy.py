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
