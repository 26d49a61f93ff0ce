"""Connections: how many there are, how long each may take to ask, and how what is no request is refused."""

from __future__ import annotations

import asyncio
import errno
import logging
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from flexibo.dashboard.access import HEADERS, refuse, with_headers
from flexibo.dashboard.responses import json_bytes

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

MOST = 256
"""So many connections are kept at a time, fewer where the system lets a process open few files."""
SPARE = 16
"""So many more are told that there are too many; others are cut."""
BACKLOG = 16
"""So many connections are taken at once, before those that are too many can be cut."""
SECONDS_TO_ASK, SECONDS_TO_ASK_IN_VAIN = 10.0, 2.0
"""Until a request must be complete, and where it will only hear that there are too many."""
LINGER, LINGERING_BYTES = 5.0, 4 * 2**20
"""Seconds and bytes for which who was refused is still heard: who hangs up on one who talks is not heard himself."""
MALFORMED = "This is no HTTP request that can be understood."
TOO_LATE = "The request was not complete in time."
TOO_MANY = "Too many connections are open to this dashboard; try again in a moment."
OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
QUIET = 60.0
"""Seconds between two lines that say the same."""

logger = logging.getLogger(__name__)


@cache
def most_connections() -> int:
    """How many connections are kept at a time: half of the files that the process may open; the rest is for others."""
    try:
        import resource
    except ImportError:  # not on Windows
        return MOST
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST if soft == resource.RLIM_INFINITY else max(4, min(MOST, soft // 2))


class Protocol(H11Protocol):
    """HTTP of which one connection is neither too slow nor one too many, and whose refusals are those of the guard."""

    _deadline: asyncio.TimerHandle | None = None
    _seconds = SECONDS_TO_ASK
    _after_refusal = -1
    """Bytes that were heard after a refusal; -1 before one."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it too
        """Begin, unless there are too many."""
        super().connection_made(transport)
        beyond = len(self.connections) - most_connections()
        if beyond > SPARE:
            transport.abort()
            return
        if beyond > 0:
            self.app, self._seconds = _too_many, SECONDS_TO_ASK_IN_VAIN
        self._watch_the_clock()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        if self._after_refusal < 0:
            super().data_received(data)
            return
        self._after_refusal += len(data)
        if self._after_refusal > LINGERING_BYTES:
            self.transport.abort()

    def handle_events(self) -> None:
        """Answer what has arrived, and wait no longer than is fair for what has not."""
        super().handle_events()
        self._watch_the_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._stop_the_clock()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request."""
        self._refuse(400, b"Bad Request", MALFORMED)

    def _watch_the_clock(self) -> None:
        """Have a request that is not complete end in time; parts of it that arrive give it no more time."""
        if self._after_refusal >= 0:
            return
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_the_clock()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self._seconds, self._end_of_patience)

    def _stop_the_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end_of_patience(self) -> None:
        self._deadline = None
        if self.transport.is_closing():
            return
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
        elif self.conn.trailing_data[0] or self.conn.their_state is h11.SEND_BODY:
            self._refuse(408, b"Request Timeout", TOO_LATE)
        else:
            self.transport.close()  # nothing was asked

    def _refuse(self, status: int, reason: bytes, sentence: str) -> None:
        """Say why, and hang up as soon as that was heard."""
        body = json_bytes({"error": sentence})
        own = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
        headers = [(name.encode(), value.encode()) for name, value in {**HEADERS, **own}.items()]
        for event in (
            h11.Response(status_code=status, headers=headers, reason=reason),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self._stop_the_clock()
        self._after_refusal = 0
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._deadline = self.loop.call_later(LINGER, self.transport.abort)


async def _too_many(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers every request of a connection that is one too many."""
    if scope["type"] == "http":
        await refuse(with_headers(send), 503, TOO_MANY, {"connection": "close", "retry-after": "5"})


class Complaints:
    """What an event loop says of errors that nobody expected: all of them, but of too few files one line a minute.

    Args:
        clock: Gives seconds and never goes back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said = float("-inf")

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Take an error."""
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in OUT_OF_FILES):
            loop.default_exception_handler(context)
        elif self._clock() - self._said >= QUIET:
            self._said = self._clock()
            logger.warning("The dashboard cannot take more connections for now (%s).", error.strerror)
