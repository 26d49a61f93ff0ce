"""Tests of results that are brought along."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from flexibo import Objective, Study
from flexibo.errors import FlexiBOError
from flexibo.history.events import Added
from flexibo.storage import MemoryStorage
from flexibo.storage.base import Decide
from flexibo.transfer import learn_from

OPTIONS = {"x": (0.0, 1.0)}


def earlier(storage: str | None = None) -> Study:
    study = Study(OPTIONS, ["a", "b"], budget=8, seed=0, method="random", storage=storage, name="first")
    for place in range(8):
        evaluation = study.ask()
        if evaluation is None:
            break
        if place == 3:
            study.fail(evaluation, "broken", cost=1.0, impossible=True)
        else:
            study.tell(evaluation, evaluation.design["x"], cost=1.0)
    return study


def test_results_failures_and_costs_are_learned_once_and_cost_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/first.db"
    old = earlier(url)
    for source in (old, url, tmp_path / "first.db", str(tmp_path / "first.db")):
        study = Study(OPTIONS, ["a", "b"], budget=5, seed=1)
        found = learn_from(study, source)
        assert len(found.results) == 8
        assert study.spent == 0
        assert [study.history.count(j) for j in (0, 1)] == [old.history.count(j) for j in (0, 1)]
        assert sum(len(study.history.failed(p)) for p in (0, 1)) == 1
        assert len(study.history.costs(0)[1]) > 0
        assert not learn_from(study, source).results


def test_what_does_not_fit_is_refused_as_a_whole(tmp_path: Path) -> None:
    table = tmp_path / "old.csv"
    table.write_text("x,a\n0.5,1\n7,1\n")
    study = Study(OPTIONS, ["a", "b"], seed=1)
    for source in (table, tmp_path / "none.csv", tmp_path / "none.db", "none\0.csv"):
        with pytest.raises(FlexiBOError):
            learn_from(study, source)
    assert len(study.events) == 2


class Crossed(MemoryStorage):
    """Another process writes between the last look of a writer and its lock."""

    crossing: Callable[[], object] | None = None

    def commit(self, after: int, decide: Decide) -> None:
        crossing, self.crossing = self.crossing, None
        if crossing is not None:
            crossing()
        super().commit(after, decide)


def test_two_processes_that_bring_the_same_along_at_once_add_it_once() -> None:
    storage, old = Crossed(), earlier()
    noisy = [Objective("a", noisy=True), Objective("b")]
    one, other = (Study(OPTIONS, noisy, budget=5, seed=1, storage=storage) for _ in range(2))
    storage.crossing = partial(learn_from, other, old)
    learn_from(one, old)
    assert sum(isinstance(event, Added) for event in one.events) == 8
    assert one.history.count(0) == old.history.count(0)


def test_what_is_brought_along_while_the_study_is_changed_is_checked_again() -> None:
    storage, old = Crossed(), earlier()
    one, other = (Study(OPTIONS, ["a", "b"], budget=5, seed=1, storage=storage) for _ in range(2))
    storage.crossing = partial(other.change, options={"x": (0.0, 0.01)})
    with pytest.raises(FlexiBOError, match="'x'"):
        learn_from(one, old)
    assert not any(isinstance(event, Added) for event in one.events)
    other.change(options={"x": (0.0, 1.0)})
    storage.crossing = partial(other.change, options={"x": (0.0, 2.0)})
    learn_from(one, old)
    assert sum(isinstance(event, Added) for event in one.events) == 8


def test_a_device_is_refused_before_it_is_read() -> None:
    study = Study(OPTIONS, ["a", "b"], budget=5, seed=1)
    with pytest.raises(FlexiBOError, match="/dev/zero is a device"):
        learn_from(study, "/dev/zero")
