"""Where the dashboard listens, and its token."""

from __future__ import annotations

import re
import socket

import pytest

from flexibo.dashboard.server import SHORTEST_TOKEN, bound_address, chosen_token
from flexibo.errors import InvalidValueError


def test_any_free_port_can_be_taken() -> None:
    place = bound_address("127.0.0.1", 0)
    with place.listening:
        assert place.port > 0
        assert place.is_loopback
        assert place.url(None) == f"http://127.0.0.1:{place.port}/"
        assert place.url("secret") == f"http://127.0.0.1:{place.port}/?token=secret"


def test_a_port_in_use_is_one_sentence_that_names_a_free_one() -> None:
    with bound_address("127.0.0.1", 0).listening as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidValueError) as refused:
            bound_address("127.0.0.1", port)
    message = str(refused.value)
    assert f"Port {port} of 127.0.0.1" in message
    assert "--port 0" in message
    named = re.search(r"--port \((\d+) ", message)
    assert named is None or int(named[1]) > port


@pytest.mark.parametrize(
    ("host", "port"), [("127.0.0.1", -1), ("127.0.0.1", 70000), ("a..b", 0), ("", -5), ("203.0.113.9", 0)]
)
def test_a_place_that_cannot_be_had_is_one_sentence(host: str, port: int) -> None:
    with pytest.raises(InvalidValueError) as refused:
        bound_address(host, port)
    assert str(refused.value).endswith(".")


def test_only_loopback_needs_no_token() -> None:
    for host, loopback in (("127.0.0.1", True), ("localhost", True), ("0.0.0.0", False)):
        with (place := bound_address(host, 0)).listening:
            assert place.is_loopback is loopback
    with (place := bound_address("0.0.0.0", 0)).listening:
        assert socket.gethostname() in place.url("t")
    assert chosen_token("", needed=False) is None
    made = {chosen_token("", needed=True) for _ in range(3)}
    assert len(made) == 3
    assert all(len(token or "") >= SHORTEST_TOKEN for token in made)


@pytest.mark.parametrize(
    "token", ["short", "with a-space-in-the-middle", "ümlaut-ümlaut-ümlaut", "a" * 15, "semi;colon;semi;colon"]
)
def test_a_token_that_could_be_guessed_or_misread_is_refused(token: str) -> None:
    with pytest.raises(InvalidValueError) as refused:
        chosen_token(token, needed=False)
    assert token not in str(refused.value)
    assert chosen_token("x" * SHORTEST_TOKEN, needed=False) == "x" * SHORTEST_TOKEN
