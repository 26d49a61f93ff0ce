"""Connections: their maximum number, the time limit for a request, and the refusal of malformed requests."""

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

MOST = 256  # the maximum number of connections at a time, fewer if the process may open only few files
SPARE = 16  # this many more connections get an error message; further ones are closed
BACKLOG = 16  # the number of connections that the system accepts before the limit is checked
REQUEST_SECONDS = 10.0  # the time limit for a complete request
REFUSED_REQUEST_SECONDS = 2.0  # and for one on a connection beyond the maximum
LINGER_SECONDS, LINGER_BYTES = 5.0, 4 * 2**20  # a refused client is still read from, or it might not be told
MALFORMED = "This is not a valid HTTP request."
TOO_LATE = "The request was not complete in time."
TOO_MANY = "Too many connections are open to this dashboard; try again in a moment."
OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
REPEAT_SECONDS = 60.0  # seconds between two log lines about the same problem

logger = logging.getLogger(__name__)


@cache
def most_connections() -> int:
    """The maximum number of connections at a time: at most half of the files that the process may open."""
    try:
        import resource
    except ImportError:  # not on Windows
        return MOST
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST if soft == resource.RLIM_INFINITY else max(4, min(MOST, soft // 2))


class LimitedProtocol(H11Protocol):
    """HTTP with a limit on connections and on the time of a request; refusals have the headers of all responses."""

    _deadline: asyncio.TimerHandle | None = None
    _seconds = REQUEST_SECONDS
    _after_refusal = -1  # the number of bytes received after a refusal; -1 before one

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it too
        """Accept a connection, unless there are too many."""
        super().connection_made(transport)
        beyond = len(self.connections) - most_connections()
        if beyond > SPARE:
            transport.abort()
            return
        if beyond > 0:
            self.app, self._seconds = _too_many, REFUSED_REQUEST_SECONDS
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request."""
        if self._after_refusal < 0:
            super().data_received(data)
            return
        self._after_refusal += len(data)
        if self._after_refusal > LINGER_BYTES:
            self.transport.abort()

    def handle_events(self) -> None:
        """Handle what has arrived, and restart or stop the time limit."""
        super().handle_events()
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Close the connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse a malformed request."""
        self._refuse(400, b"Bad Request", MALFORMED)

    def _start_timer(self) -> None:
        """Limit the time for a complete request; a part that arrives does not extend it."""
        if self._after_refusal >= 0:
            return
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_timer()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self._seconds, self._on_timeout)

    def _stop_timer(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _on_timeout(self) -> None:
        self._deadline = None
        if self.transport.is_closing():
            return
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
        elif self.conn.trailing_data[0] or self.conn.their_state is h11.SEND_BODY:
            self._refuse(408, b"Request Timeout", TOO_LATE)
        else:
            self.transport.close()  # no request was begun

    def _refuse(self, status: int, reason: bytes, message: str) -> None:
        """Send an error message, and close the connection when the client has read it."""
        body = json_bytes({"error": message})
        own = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
        headers = [(name.encode(), value.encode()) for name, value in {**HEADERS, **own}.items()]
        for event in (
            h11.Response(status_code=status, headers=headers, reason=reason),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self._stop_timer()
        self._after_refusal = 0
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._deadline = self.loop.call_later(LINGER_SECONDS, self.transport.abort)


async def _too_many(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers every request on a connection beyond the maximum."""
    if scope["type"] == "http":
        await refuse(with_headers(send), 503, TOO_MANY, {"connection": "close", "retry-after": "5"})


class LoopErrors:
    """Logs unexpected errors of an event loop: all of them, but a lack of files only once a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._logged = float("-inf")

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error."""
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in OUT_OF_FILES):
            loop.default_exception_handler(context)
        elif self._clock() - self._logged >= REPEAT_SECONDS:
            self._logged = self._clock()
            logger.warning("The dashboard cannot accept more connections for now (%s).", error.strerror)
