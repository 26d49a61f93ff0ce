"""An outbox sends in the background, and a tracker that does not answer is one warning."""

from __future__ import annotations

import logging
import socket
import sys
import threading

import pytest

from flexibo.integrations._outbox import PAUSES, Outbox, check_answers, is_misuse


def test_everything_is_sent_in_order_and_connecting_is_done_once() -> None:
    sent: list[int] = []
    connected = []
    outbox = Outbox(lambda: connected.append(1) or sent, "here")
    for n in range(100):
        outbox.put(lambda session, n=n: session.append(n))  # type: ignore[misc]
    assert outbox.flush(10.0) == 0
    assert sent == list(range(100))
    assert connected == [1]


def test_putting_never_waits_and_a_flush_waits_only_so_long(caplog: pytest.LogCaptureFixture) -> None:
    go = threading.Event()
    sent: list[int] = []
    outbox = Outbox(lambda: sent, "here")
    outbox.put(lambda session: go.wait(10.0) and session.append(1))
    assert outbox.flush(0.01) == 1
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    outbox.put(lambda session: session.append(2))
    assert outbox.flush(1000.0) == 2  # a wait in vain is not repeated
    go.set()
    while outbox.flush(10.0):
        pass
    assert sent == [1, 2]
    assert len(caplog.records) == 1


def test_what_is_away_is_tried_again_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    pauses: list[float] = []
    tries = []
    sent: list[int] = []

    def connect() -> list[int]:
        tries.append(1)
        if len(tries) <= len(PAUSES) + 2:
            raise ConnectionError("nobody\x1b[2J answers")
        return sent

    outbox = Outbox(connect, "here", wait=pauses.append)
    outbox.put(lambda session: session.append(1))
    while outbox.flush(10.0):  # returns at once while nobody answers
        pass
    assert sent == [1]
    assert pauses == [*PAUSES, PAUSES[-1], PAUSES[-1]]
    assert len(caplog.records) == 1
    assert "\x1b" not in caplog.text
    assert not outbox.is_away


def test_what_is_refused_is_dropped_and_the_rest_is_sent(caplog: pytest.LogCaptureFixture) -> None:
    sent: list[int] = []
    outbox = Outbox(lambda: sent, "here", is_refusal=lambda error: isinstance(error, ZeroDivisionError))
    for n in (0, 1, 0, 2):
        outbox.put(lambda session, n=n: session.append(4 // n))  # type: ignore[misc]
    assert outbox.flush(10.0) == 0
    assert sent == [4, 2]
    assert len(caplog.records) == 1


def test_a_library_that_exits_is_a_refusal_and_the_rest_is_sent(caplog: pytest.LogCaptureFixture) -> None:
    sent: list[int] = []
    outbox = Outbox(lambda: sent, "here")
    outbox.put(lambda session: sys.exit(3))
    outbox.put(lambda session: session.append(1))
    assert outbox.flush(10.0) == 0
    assert sent == [1]
    assert len(caplog.records) == 1


def test_a_server_is_asked_whether_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.integrations._outbox.getproxies", dict)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(OSError, match="refused"):
            check_answers(uri)
        monkeypatch.setattr("flexibo.integrations._outbox.getproxies", lambda: {"http": "proxy"})
        check_answers(uri)
        monkeypatch.setattr("flexibo.integrations._outbox.getproxies", dict)
        server.listen()
        check_answers(uri)
    check_answers("sqlite:///mlflow.db")


@pytest.mark.parametrize(("error", "is_wrong"), [(TypeError(), True), (KeyError(), True), (OSError(), False)])
def test_errors_of_calls_are_no_outage(error: Exception, is_wrong: bool) -> None:
    assert is_misuse(error) is is_wrong
