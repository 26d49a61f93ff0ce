"""The live feed: how many pages may follow, and what they are sent."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.dashboard.asgi_client import Client

from flexibo import Study
from flexibo.dashboard.access import LOOPBACK_NAMES, Access
from flexibo.dashboard.app import dashboard_app
from flexibo.dashboard.live_feed import LiveFeed


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/study.db"


def test_so_many_pages_follow_at_a_time_and_no_more(url: str, make_study: Callable[..., Study]) -> None:
    make_study(storage=url)
    app, dashboard = dashboard_app([url], Access(None, LOOPBACK_NAMES), most_pages=1)
    client = Client(app)
    assert dashboard.feed.admit(), "a page that is open"
    refused = client.get("/api/live")
    assert refused.status_code == 503
    assert refused.json()["error"].endswith(".")
    dashboard.feed.leave()
    dashboard.feed.close()  # a stream that ends at once
    assert [client.get("/api/live").status_code for _ in range(3)] == [200, 200, 200], "each gives its place back"
    dashboard.watcher.close()


class FakeWatcher:
    """A watcher of one storage, whose report changes when it is told to."""

    def __init__(self) -> None:
        self.reports = self.summaries = self.attended = 0
        self.studies: list[str] = []
        self.listeners: list[Callable[[], None]] = []
        self.storages = [SimpleNamespace(looked=1.0, problem="", summary=lambda: {"seconds_since_read": 0.5})]

    def attend(self) -> None:
        self.attended += 1

    def listen(self, tell: Callable[[], None]) -> Callable[[], None]:
        self.listeners.append(tell)
        return lambda: self.listeners.remove(tell)

    def summary(self) -> dict[str, Any]:
        self.summaries += 1
        return {"studies": list(self.studies), "storages": [{"seconds_since_read": self.summaries}]}

    def report(self, *studies: str) -> None:
        self.reports += 1
        self.studies += studies
        for tell in self.listeners:
            tell()


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.dashboard.live_feed.PAUSE", 0.0)


async def next_of(stream: Any) -> tuple[str, Any]:
    """The name and the content of the next event."""
    text = (await asyncio.wait_for(anext(stream), 60)).decode()
    name, data = text.removesuffix("\n\n").split("\n")
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def test_a_page_gets_all_studies_at_first_and_again_when_one_has_changed() -> None:
    async def follow() -> None:
        watcher = FakeWatcher()
        watcher.report("net")
        stream = LiveFeed(watcher).stream()  # type: ignore[arg-type]
        assert [(await next_of(stream))[1]["studies"]] == [["net"]]
        assert watcher.attended
        watcher.report("other")
        name, content = await next_of(stream)
        assert (name, content["studies"]) == ("studies", ["net", "other"])
        await stream.aclose()  # type: ignore[attr-defined]
        assert watcher.listeners == [], "who has left is not told any more"

    asyncio.run(follow())


def test_a_report_that_changed_nothing_but_ages_is_a_pulse(monkeypatch: pytest.MonkeyPatch) -> None:
    async def follow() -> None:
        watcher = FakeWatcher()
        stream = LiveFeed(watcher).stream()  # type: ignore[arg-type]
        assert (await next_of(stream))[0] == "studies"
        watcher.report()
        assert await next_of(stream) == ("pulse", {"storages": [{"seconds_since_read": 0.5}]})
        monkeypatch.setattr("flexibo.dashboard.live_feed.PULSE", 0.0)
        assert (await next_of(stream))[0] == "pulse"
        await stream.aclose()  # type: ignore[attr-defined]

    asyncio.run(follow())


def test_a_report_is_made_once_for_all_pages() -> None:
    async def follow() -> None:
        watcher = FakeWatcher()
        feed = LiveFeed(watcher)  # type: ignore[arg-type]
        streams = [feed.stream() for _ in range(3)]
        assert {(await next_of(stream))[0] for stream in streams} == {"studies"}
        assert watcher.summaries == 1
        for stream in streams:
            await stream.aclose()  # type: ignore[attr-defined]

    asyncio.run(follow())


def test_a_feed_that_is_closed_ends_its_streams() -> None:
    async def follow() -> list[tuple[str, Any]]:
        feed = LiveFeed(FakeWatcher())  # type: ignore[arg-type]
        stream = feed.stream()
        events = [await next_of(stream)]
        feed.close()
        with pytest.raises(StopAsyncIteration):
            await next_of(stream)
        return events

    assert len(asyncio.run(follow())) == 1


@pytest.mark.parametrize(("looked", "problem"), [(1.0, ""), (None, "no file")])
def test_the_first_request_does_not_wait_for_a_storage_that_was_read_or_cannot_be(
    looked: float | None, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = FakeWatcher()
    watcher.storages[0].looked, watcher.storages[0].problem = looked, problem
    monkeypatch.setattr("asyncio.sleep", pytest.fail)
    asyncio.run(LiveFeed(watcher).first_look())  # type: ignore[arg-type]
    assert watcher.attended == 1


def test_the_first_request_waits_for_a_slow_storage_but_not_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.dashboard.live_feed.FIRST_LOOK", 0.05)
    watcher = FakeWatcher()
    watcher.storages[0].looked = None
    begin = time.monotonic()
    asyncio.run(LiveFeed(watcher).first_look())  # type: ignore[arg-type]
    assert 0.05 <= time.monotonic() - begin < 30
