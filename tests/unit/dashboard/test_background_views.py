"""Thinking about pictures: at once what there is, one at a time, once per version, and with rests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from flexibo import Study
from flexibo.dashboard.background_views import (
    MOST_SLICES,
    VIEWS,
    BackgroundViews,
    LatestView,
    ViewRequest,
    slice_request,
)
from flexibo.dashboard.follower import Follower
from flexibo.errors import FlexiBOError, InvalidValueError

PATIENCE = 60.0


def nothing() -> None:
    """A report that nobody hears."""


@dataclass(eq=False)
class FakeRequest:
    """A request whose view is computed when it may be, and counts how often."""

    kind: str = "front"
    rank: int = 0
    may: threading.Event = field(default_factory=threading.Event)
    begun: threading.Event = field(default_factory=threading.Event)
    seen: list[int] = field(default_factory=list)
    error: Exception | None = None
    seeds: list[int] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def view(self, study: Study) -> dict[str, Any]:
        self.begun.set()
        assert self.may.wait(PATIENCE)
        self.seen.append(len(study.events))
        self.seeds.append(study.settings.seed)
        self.log.append(self.kind)
        if self.error is not None:
            raise self.error
        return {"kind": self.kind, "events": len(study.events)}


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def stored(make_study: Callable[..., Study], tmp_path: Path) -> tuple[Study, Follower]:
    url = f"sqlite:///{tmp_path}/study.db"
    study = make_study(storage=url)
    follower = Follower(url, "study", "key")
    follower.look(2, nothing)
    return study, follower


def answered(
    views: BackgroundViews, picture: Any, until: Callable[[LatestView], bool] = lambda a: a.view is not None
) -> LatestView:
    end = time.monotonic() + PATIENCE
    while not until(answer := views.latest(picture)):
        assert time.monotonic() < end
        time.sleep(0.005)
    return answer


def test_a_request_never_waits_for_a_computation(stored: tuple[Study, Follower]) -> None:
    views, picture = BackgroundViews(stored[1]), FakeRequest()
    first = views.latest(picture)  # type: ignore[arg-type]
    assert first.view is None
    assert first.again is not None
    picture.may.set()
    assert b'"events":2' in answered(views, picture).view.body.plain  # type: ignore[union-attr]


def test_a_view_is_computed_once_per_version(stored: tuple[Study, Follower]) -> None:
    study, follower = stored
    views, picture = BackgroundViews(follower), FakeRequest()
    picture.may.set()
    answered(views, picture)
    for _ in range(5):
        assert views.latest(picture).again is None  # type: ignore[arg-type]
    assert picture.seen == [2]
    study.note("something new")
    follower.look(3, nothing)
    newest = answered(views, picture, lambda a: a.again is None)
    assert newest.view is not None
    assert newest.view.version == follower.version
    assert picture.seen == [2, 3]


def test_the_older_view_is_given_while_a_newer_one_is_computed(stored: tuple[Study, Follower]) -> None:
    study, follower = stored
    views, picture = BackgroundViews(follower), FakeRequest()
    picture.may.set()
    old = answered(views, picture).view
    picture.may.clear()
    picture.begun.clear()
    study.note("something new")
    follower.look(3, nothing)
    answered(views, picture, lambda a: picture.begun.is_set())
    assert views.latest(picture).view is old  # type: ignore[arg-type]
    picture.may.set()


def test_the_follower_reads_while_a_view_is_computed(stored: tuple[Study, Follower]) -> None:
    study, follower = stored
    views, picture = BackgroundViews(follower), FakeRequest()
    views.latest(picture)  # type: ignore[arg-type]
    assert picture.begun.wait(PATIENCE)
    study.note("something new")
    follower.look(3, nothing)
    assert follower.summary("")["events"] == 3
    picture.may.set()
    answered(views, picture, lambda a: a.again is None)
    assert picture.seen == [2, 3], "the first was of the study as it was when its thinking began"


def test_quick_views_come_first_and_only_one_is_computed_at_a_time(stored: tuple[Study, Follower]) -> None:
    views = BackgroundViews(stored[1])
    log: list[str] = []
    first, slow, quick = (
        FakeRequest(kind, rank, log=log) for kind, rank in (("front", 0), ("importance", 5), ("parallel", 1))
    )
    views.latest(first)  # type: ignore[arg-type]
    assert first.begun.wait(PATIENCE)
    views.latest(slow)  # type: ignore[arg-type]
    views.latest(quick)  # type: ignore[arg-type]
    assert not slow.begun.is_set()
    assert not quick.begun.is_set()
    for picture in (slow, quick, first):
        picture.may.set()
    answered(views, slow)
    assert log == ["front", "parallel", "importance"]


def test_what_needs_no_model_does_not_wait_for_what_needs_one(stored: tuple[Study, Follower]) -> None:
    views = BackgroundViews(stored[1])
    slow, quick = FakeRequest("front"), FakeRequest("trace", 1)
    views.latest(slow)  # type: ignore[arg-type]
    assert slow.begun.wait(PATIENCE)
    quick.may.set()
    answered(views, quick)
    assert slow.seen == []
    slow.may.set()
    answered(views, slow)


def test_after_long_thinking_an_outdated_picture_rests_and_a_new_one_does_not(stored: tuple[Study, Follower]) -> None:
    study, follower = stored
    clock = Clock()
    views, picture, other = BackgroundViews(follower, clock=clock), FakeRequest(), FakeRequest("parallel", 1)
    views.latest(picture)  # type: ignore[arg-type]
    assert picture.begun.wait(PATIENCE)
    clock.now += 10.0
    picture.may.set()
    other.may.set()
    answered(views, picture)
    study.note("something new")
    follower.look(3, nothing)
    resting = views.latest(picture)  # type: ignore[arg-type]
    assert resting.again is not None
    assert resting.again > 20.0
    answered(views, other)
    assert picture.seen == [2]
    clock.now += resting.again + 100.0
    answered(views, picture, lambda a: a.again is None)
    assert picture.seen == [2, 3]


@pytest.mark.parametrize(
    ("error", "said"),
    [(InvalidValueError("No region yet."), "No region yet."), (KeyError("secret"), "KeyError")],
)
def test_a_view_that_fails_is_an_error_message(stored: tuple[Study, Follower], error: Exception, said: str) -> None:
    views, picture = BackgroundViews(stored[1]), FakeRequest(error=error)
    picture.may.set()
    plain = answered(views, picture).view.body.plain  # type: ignore[union-attr]
    assert said.encode() in plain
    assert b"secret" not in plain


def test_nothing_is_computed_for_a_study_that_is_still_being_read(stored: tuple[Study, Follower]) -> None:
    unread = Follower(stored[1].url, "study", "key")
    picture = FakeRequest()
    assert BackgroundViews(unread).latest(picture).view is None  # type: ignore[arg-type]
    assert not picture.begun.wait(0.05)


def test_the_views_of_a_replaced_study_are_computed_again(
    make_study: Callable[..., Study], stored: tuple[Study, Follower], tmp_path: Path
) -> None:
    _, follower = stored
    views, picture = BackgroundViews(follower), FakeRequest()
    picture.may.set()
    answered(views, picture)
    for file in tmp_path.glob("study.db*"):
        file.unlink()
    other = make_study(storage=follower.url, seed=5)
    other.note("one")
    follower.look(3, nothing)
    answered(views, picture, lambda a: a.again is None)
    assert picture.seen == [2, 3]
    assert picture.seeds == [0, 5]


def test_the_number_of_kept_slices_is_limited(stored: tuple[Study, Follower]) -> None:
    views = BackgroundViews(stored[1])
    pictures = [FakeRequest("slice", -1) for _ in range(MOST_SLICES + 3)]
    for picture in pictures:
        picture.may.set()
        answered(views, picture)
    assert len(views._computed) == MOST_SLICES


def test_every_view_of_a_real_study_can_be_computed(
    make_study: Callable[..., Study], functions: dict[str, Callable[..., object]], tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    make_study(storage=url, budget=60, n_initial=5, candidates=30).run(functions)
    follower = Follower(url, "study", "key")
    follower.look(1, nothing)
    views = BackgroundViews(follower)
    for kind in VIEWS:
        plain = answered(views, ViewRequest(kind)).view.body.plain  # type: ignore[union-attr]
        assert plain.startswith(f'{{"kind":"{kind}"'.encode()), plain[:200]
        assert b'"empty"' not in plain


def test_slices_of_unknown_names_are_refused() -> None:
    good = {"objective": "error", "x": "cores", "y": "kernel"}
    assert slice_request(good, ["error"], ["cores", "kernel"]) == ViewRequest("slice", "error", "cores", "kernel")
    for change in ({"objective": "eror"}, {"x": "corse"}, {"y": "x" * 500}, {"x": ""}, {"y": "cores"}):
        with pytest.raises(FlexiBOError) as refused:
            slice_request(good | change, ["error"], ["cores", "kernel"])
        assert len(str(refused.value)) < 250
