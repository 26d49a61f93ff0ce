"""Details of a study: their limits, and the queue."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from flexibo import Study
from flexibo.dashboard.app import LONGEST, SHOWN, StudyDetails
from flexibo.dashboard.follower import Follower
from flexibo.transfer import study_copy
from flexibo.views import spending_view


def nothing() -> None:
    """A report that nobody hears."""


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/study.db"


def follower_of(url: str, name: str = "study", **more: object) -> Follower:
    return Follower(url, name, "key", **more)  # type: ignore[arg-type]


def test_what_runs_is_expected_to_cost_the_same_wherever_it_is_said(make_study: Callable[..., Study], url: str) -> None:
    with make_study(storage=url, budget=1000) as study:
        for cost in (1.0, 2.0, 1.5, 2.5):
            study.tell(study.ask(), cost, cost=cost)
        waiting = study.ask(2)
        study.tell(study.ask(), 1.0, cost=100.0)
        study.tell(study.ask(), 1.0, cost=100.0)
        follower = follower_of(url)
        follower.look(1, nothing)
        copy = study_copy(url)
    said = StudyDetails(follower, "here").to_dict()["reserved"]
    assert said == spending_view(copy.study).reserved
    assert said == pytest.approx(sum(evaluation.cost for evaluation in waiting))


def test_details_are_limited_and_count_what_they_leave_out(make_study: Callable[..., Study], url: str) -> None:
    study = make_study(storage=url)
    for i in range(SHOWN + 5):
        study.note(f"note {i}")
    study.note("x" * (LONGEST + 100))
    study.fail(study.ask(), "board on fire", cost=2.0)
    follower = follower_of(url)
    follower.look(1, nothing)
    facts = StudyDetails(follower, "here").to_dict()
    assert (len(facts["notes"]), facts["notes_in_all"]) == (SHOWN, SHOWN + 6)
    assert len(facts["notes"][0]["text"]) == LONGEST + 1
    assert [row["reason"] for row in facts["failures"]] == ["board on fire"]
    assert facts["overview"]["spent"] == 2.0
    assert facts["state"] in ("waiting", "silent")


def test_only_the_last_failures_are_sent(
    make_study: Callable[..., Study], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flexibo.dashboard.app.SHOWN", 2)
    study = make_study(storage=url)
    for i in range(4):
        study.fail(study.ask(), f"failure {i}", cost=1.0)
    follower = follower_of(url)
    follower.look(1, nothing)
    facts = StudyDetails(follower, "here").to_dict()
    assert [row["reason"] for row in facts["failures"]] == ["failure 3", "failure 2"]
    assert facts["failures_in_all"] == 4


def test_the_queue_says_who_measures_since_when_and_under_which_lease(
    make_study: Callable[..., Study], url: str
) -> None:
    with make_study(storage=url, lease=45) as study:
        evaluation = study.ask()
        follower = follower_of(url)
        follower.look(1, nothing)
        (row,) = StudyDetails(follower, "here").to_dict()["queue"]
    assert (row["number"], row["objective"]) == (evaluation.number, evaluation.objective)
    assert row["worker"]["pid"] == os.getpid()
    assert (row["worker"]["state"], row["worker"]["lease"]) == ("alive", 45)
    assert row["seconds"] >= 0
    assert follower.state() == "running"


def test_what_is_queued_is_shown_and_only_the_first_of_many(
    make_study: Callable[..., Study], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flexibo.dashboard.app.SHOWN", 1)
    with make_study(storage=url) as study:
        for design in study.space.sample(2, np.random.default_rng(0)):
            study.enqueue(design, why="w" * 5000)
    follower = follower_of(url)
    follower.look(1, nothing)
    facts = StudyDetails(follower, "here").to_dict()
    (row,) = facts["queued"]
    assert (row["number"], facts["queued_in_all"]) == (0, 2)
    assert len(row["why"]) < 5000
