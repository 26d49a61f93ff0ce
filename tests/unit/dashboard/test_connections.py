"""Connections to the dashboard: how many there may be, and what is logged when there are too many."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from flexibo.dashboard.access import HEADERS
from flexibo.dashboard.connections import (
    LINGER_BYTES,
    LINGER_SECONDS,
    MOST,
    REFUSED_REQUEST_SECONDS,
    REQUEST_SECONDS,
    SPARE,
    LimitedProtocol,
    LoopErrors,
    most_connections,
)


def test_connections_leave_half_of_the_files_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    for soft, most in ((150, 75), (100_000, MOST), (resource.RLIM_INFINITY, MOST)):
        monkeypatch.setattr("resource.getrlimit", lambda _, soft=soft: (soft, soft))
        assert most_connections.__wrapped__() == most


def test_too_few_files_are_one_line_a_minute_and_other_errors_are_not_hidden(caplog: pytest.LogCaptureFixture) -> None:
    passed_on: list[dict[str, Any]] = []
    loop: Any = SimpleNamespace(default_exception_handler=passed_on.append)
    seconds = [0.0]
    complaints = LoopErrors(lambda: seconds[0])
    for now in (0.0, 0.1, 59.0, 60.0, 60.1):
        seconds[0] = now
        complaints(loop, {"exception": OSError(errno.EMFILE, os.strerror(errno.EMFILE))})
    assert [record.exc_info for record in caplog.records] == [None, None]
    assert os.strerror(errno.EMFILE) in caplog.text
    assert passed_on == []
    other = {"exception": ValueError("odd")}
    complaints(loop, other)
    assert passed_on == [other]


class Wire:
    """A transport that remembers what was written, and how it ended."""

    def __init__(self) -> None:
        self.sent, self.end = b"", ""

    def get_extra_info(self, name: str) -> Any:
        return None

    def is_closing(self) -> bool:
        return bool(self.end)

    def can_write_eof(self) -> bool:
        return True

    def write(self, data: bytes) -> None:
        self.sent += data

    def write_eof(self) -> None:
        self.end = self.end or "told"

    def close(self) -> None:
        self.end = "closed"

    def abort(self) -> None:
        self.end = "aborted"

    def pause_reading(self) -> None:
        """Nothing more is read."""

    def resume_reading(self) -> None:
        """Reading goes on."""


class Timers:
    """A loop that knows its timers only."""

    def __init__(self) -> None:
        self.set: list[tuple[float, Callable[[], None]]] = []

    def call_later(self, seconds: float, action: Callable[[], None]) -> Any:
        entry = (seconds, action)
        self.set.append(entry)
        return SimpleNamespace(cancel=lambda: self.set.remove(entry))

    def elapse(self) -> float:
        """Let the next timer run; how long it waited."""
        seconds, action = self.set.pop(0)
        action()
        return seconds


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers nothing."""


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[LimitedProtocol, Wire, Timers]]:
    """Opens a connection beside this many others, where 10 are allowed."""
    monkeypatch.setattr("flexibo.dashboard.connections.most_connections", lambda: 10)

    def make(others: int = 0) -> tuple[LimitedProtocol, Wire, Timers]:
        config = Config(nothing, log_config=None, lifespan="off", http=LimitedProtocol, ws="none")
        state, timers, wire = ServerState(), Timers(), Wire()
        state.connections = {object() for _ in range(others)}  # type: ignore[assignment]
        protocol = LimitedProtocol(config, state, {}, timers)  # type: ignore[arg-type]
        protocol.connection_made(wire)  # type: ignore[arg-type]
        return protocol, wire, timers

    return make


Connected = Callable[..., tuple[LimitedProtocol, Wire, Timers]]


def test_a_connection_without_a_request_is_closed_in_time(connected: Connected) -> None:
    _, wire, timers = connected()
    assert timers.elapse() == REQUEST_SECONDS
    assert (wire.end, wire.sent) == ("closed", b"")


def test_a_request_that_is_not_complete_in_time_is_refused(connected: Connected) -> None:
    protocol, wire, timers = connected()
    protocol.data_received(b"GET / HTTP/1.1\r\n")
    protocol.data_received(b"Host: localhost\r\n")
    assert len(timers.set) == 1, "a part that arrives gives no more time"
    timers.elapse()
    assert wire.sent.startswith(b"HTTP/1.1 408 ")
    assert timers.elapse() == LINGER_SECONDS
    assert wire.end == "aborted"


def test_what_is_no_request_is_refused_with_the_headers_of_all_answers(connected: Connected) -> None:
    protocol, wire, _ = connected()
    protocol.data_received(b"nonsense\r\n\r\n")
    head, _, body = wire.sent.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    for name, value in HEADERS.items():
        assert f"{name}: {value}".encode().lower() in head.lower()
    assert list(json.loads(body)) == ["error"]
    protocol.data_received(b"x" * LINGER_BYTES)
    assert wire.end == "told"
    protocol.data_received(b"x")
    assert wire.end == "aborted", "nobody may send for ever after a refusal"


def test_a_few_connections_too_many_get_less_time_and_more_are_closed(connected: Connected) -> None:
    _, wire, timers = connected(others=9)
    assert (timers.set[0][0], wire.end) == (REQUEST_SECONDS, "")
    _, wire, timers = connected(others=10)
    assert (timers.set[0][0], wire.end) == (REFUSED_REQUEST_SECONDS, "")
    _, wire, timers = connected(others=10 + SPARE)
    assert (timers.set, wire.end) == ([], "aborted")


def test_a_connection_that_is_gone_leaves_no_timer(connected: Connected) -> None:
    protocol, _, timers = connected()
    protocol.connection_lost(None)
    assert timers.set == []
